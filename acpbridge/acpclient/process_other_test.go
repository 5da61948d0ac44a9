// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package acpclient_test

// processMain has agents that only a Unix can have: they die by signals.
func processMain(string) {}

// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package acpproxy_test

func agentMain(string) {}

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

// completes needs a terminal, and the shells of Linux.
func (v visitor) completes(string) {}

// draws reports whether the program draws a screen on a terminal: it would need one.
func (v visitor) draws(args ...string) bool { return len(args) == 0 }

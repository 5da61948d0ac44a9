// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import "syscall"

// openNoWait keeps an open from waiting for the other end of a pipe, and from taking a terminal.
const openNoWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

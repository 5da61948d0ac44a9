// SPDX-License-Identifier: Apache-2.0

// Package acpsdk has no code, only benchmarks: the protocol's work with
// github.com/coder/acp-go-sdk.
//
// It writes on the caller's goroutine, where Ponte queues and writes on another goroutine. Its
// reader takes lines of at most 10 MiB: at a longer one the connection ends.
package acpsdk

// SPDX-License-Identifier: Apache-2.0

// Package memory is a workspace in memory: for tests, and for agents that must not touch a disk. Files, directories, symbolic links and modes
// are as on a real one. Commands are Go functions.
package memory

// SPDX-License-Identifier: Apache-2.0

// Package local is a workspace on this machine: its files, and commands that run on it.
//
// # Files
//
// Every root is opened once, as an [os.Root], and files are reached through it alone. No "..", no
// symbolic link and no race between a check and its use leads out of the roots. Links that lead to
// a place inside work, absolute ones too. Hard links and mounts are not links in this sense: a file
// that has a second name outside is the same file.
//
// Devices, pipes and sockets are not opened. A file is replaced as a whole, so a reader sees the
// old contents or the new ones.
//
// # Commands
//
// A command has no input, no terminal, and an environment of ordinary variables and those that
// [Config.PassEnv] names. It may do whatever this process may: the roots are where it begins, not
// where it must stay. A [Sandbox] keeps it from writing elsewhere.
//
// No command outlives this process, however the process ends: by returning, by a panic, by kill -9.
// What a command starts ends with it when it is closed. On Unix that is everything in the command's
// session, and descendants that left it while their parents still run. Daemons whose parents have
// exited, processes of other users (sudo), and what others do on the command's behalf (docker run
// -d) stay, except that a [Sandbox] ends daemons too. Where there is no /proc, on macOS and BSD, it
// is everything in the command's process group, and descendants whose parents still run. On Windows
// it is everything that the command started.
package local

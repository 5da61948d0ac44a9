// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package config

// lockEdits does nothing where the system has no locks that end with their process. An edit by
// another process is then found by comparing the file.
func lockEdits(string) (unlock func(), err error) { return func() {}, nil }

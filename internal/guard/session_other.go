// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package guard

// sessionEmpty reports whether nothing is left of a session but its watcher. Here that is the watcher's to find out.
func sessionEmpty(int, int) (empty, known bool) { return false, false }

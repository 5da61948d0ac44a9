// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard

// SetShell sets the shell that starts and watches commands. It is not safe for concurrent use.
func SetShell(path string) (restore func()) {
	old := shells
	shells = []string{path}
	return func() { shells = old }
}

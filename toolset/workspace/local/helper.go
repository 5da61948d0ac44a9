// SPDX-License-Identifier: Apache-2.0

package local

import "github.com/ponte-go/ponte/internal/confine"

// Helper lets [Sandbox].Optional use Landlock where bubblewrap is missing. A program calls it first
// in its main function, before it starts goroutines or reads its arguments. The workspace starts
// the program again for each command: in such a process Helper becomes the command and does not
// return. Otherwise it returns at once. Programs of package app call it.
func Helper() { confine.Helper() }

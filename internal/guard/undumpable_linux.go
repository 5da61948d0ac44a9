// SPDX-License-Identifier: Apache-2.0

package guard

import "golang.org/x/sys/unix"

// Undumpable keeps other processes of the user from reading the memory and the environment of this
// one, where the system can do that, and keeps both out of core files. The system's administrator
// can read them. A program calls it first in its main function. Commands that it starts are not
// affected.
func Undumpable() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// SPDX-License-Identifier: Apache-2.0

// Package guard starts programs that do not outlive the program that started them, however it ends: by returning, by a
// panic, or by kill -9.
//
// Between the two stands a guard: the same executable, started once more with [Subcommand] as its first argument. The
// guard leads a process group, starts the program in it, and reads from a pipe whose only other end is in the hands of
// the process that called [Start]. When that end is closed, by [Process.Close] or because its owner is gone, the guard
// kills the group: itself, the program, and what the program has started. That the guard is the group's leader means
// that the group's id cannot be taken by others in the meantime.
//
// So a program's main must call [Main] before it does anything else.
//
// What a program starts in a group or session of its own, as daemons do, is out of reach. On Windows there is no guard:
// a program is killed with its tree by Kill and Close, and survives if its owner is killed.
package guard

// SPDX-License-Identifier: Apache-2.0

// Package guard starts commands that do not outlive the process that starts them, their owner. The
// owner needs no code for it in its main function, and may end in any way: by returning, by a
// panic, by os.Exit or by kill -9.
//
// # Unix
//
// A command becomes the leader of a new session, without a terminal. Beside it, in the same
// session, waits a watcher: a small /bin/sh that reads from a pipe whose other end only the owner
// holds. When that end is closed, by [Process.Close] or because the owner is gone, the watcher
// sends SIGTERM to everything in the session, waits for [Command.Grace], and sends SIGKILL to what
// is left. The watcher is started before the command, and finds the pipe closed if the owner is
// gone by then.
//
// The shell that starts the watcher replaces itself with the command. The command is therefore a
// child of its owner, with an exact exit status. The watcher is not a child of the command.
//
// If the watcher dies, the owner kills the session, and [Exit.Lost] is set.
//
// The promise covers the command and everything in its session: children, separate process groups
// (timeout, shells with job control), background jobs, programs that ignore SIGTERM. It also covers
// descendants that started a new session, as long as their chain of parents leads to the session.
// It does not cover
//
//   - daemons: processes that started a new session and whose parent has exited,
//   - processes that run as another user, which we may not signal (sudo),
//   - work done by other programs on the command's behalf (docker run -d, systemd-run, at),
//   - a command that kills its watcher in the moment in which its owner dies.
//
// Where there is no /proc (macOS, BSD), the processes come from ps, which does not tell sessions:
// there the promise covers the command's process group and all descendants whose chain of parents
// leads to it. A separate process group whose parent has exited also stays.
//
// # Windows
//
// A command runs in a job object that ends all its processes when the last handle to it is closed.
// The owner holds the only one, so the job ends with the owner. The command is started suspended
// and resumed once it is in the job. Windows has no equivalent of SIGTERM: Stop and Close end the
// job at once.
//
// # Elsewhere
//
// [Start] returns an error that wraps [errors.ErrUnsupported].
package guard

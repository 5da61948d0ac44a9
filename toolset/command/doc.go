// SPDX-License-Identifier: Apache-2.0

// Package command determines which commands an answer "always allow" covers.
//
// [ScopeOf] returns the scope of a command, of which there are two kinds. A named scope such as "go
// test" covers a program and its subcommand with ordinary options and with paths in the directories
// of a [Place]. Ordinary options are listed in an allow-list, [Table]. They neither run a program
// of the caller's choice nor write to a file of the caller's choice. Every other command has an
// exact scope: the same arguments, in the same directory, with the same changes to the environment.
//
// A line that runs several commands has named scopes only if each of the commands has one. The line is allowed if each of them is (see
// [toolset.Approval.Parts]).
//
// # Trust
//
// Scopes are computed from the command line. These things can make a command do more than its line says, and are trusted:
//
//   - The programs themselves, as PATH finds them, and the environment that they inherit.
//   - The user's configuration of a program, and the project's: git hooks and drivers for diffs and filters, npm scripts, Makefiles,
//     build scripts, plugins of test runners. Whoever allows "go test" allows the project's tests.
//   - The file system between the check and the run. A symbolic link that is changed in that time leads elsewhere.
//
// On Windows every scope is exact, because cmd.exe looks for programs in the working directory first and has its own syntax.
package command

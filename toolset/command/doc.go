// SPDX-License-Identifier: Apache-2.0

// Package command says what "always allow" covers for a command.
//
// [ScopeOf] gives a command line, or a program with its arguments, one of two kinds of scope. A named scope such as "go test" covers
// a program and its subcommand with ordinary options: those of an allow-list, [Table], that neither run a program of the caller's
// choice nor write where the caller chooses, and paths in the directories of a [Place]. Everything else is exact: the same
// arguments, in the same directory, with the same changes to the environment.
//
// A line that runs several commands has a named scope only if each of them does. Then its parts are the scopes of all of them, and a
// permission for the line needs a permission for each (see [toolset.Approval.Parts]).
//
// # What is trusted
//
// Rules are about what a command line says. These can make an allowed command do more than its line says, and are trusted:
//
//   - The programs themselves, as PATH finds them, and the environment that they inherit.
//   - The user's configuration of a program, and the project's: git hooks and drivers for diffs and filters, npm scripts, Makefiles,
//     build scripts, plugins of test runners. Whoever allows "go test" allows the project's tests.
//   - The file system between the check and the run. A symbolic link that is changed in that time leads elsewhere.
//
// On Windows every scope is exact, because cmd.exe looks for programs in the working directory first and splits lines in its own way.
package command

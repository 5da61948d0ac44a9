// SPDX-License-Identifier: Apache-2.0

// Package workspace gives agents the files and commands of a project. A [Workspace] is where they
// are: on this machine, in memory or in a user's editor. The tools of this package are written
// once, on that interface, and tell the model the same on each.
//
// A backend lists what it can do in its [Features], and only tools that it supports are offered.
//
// # Paths
//
// All backends read paths in the same way:
//
//   - A relative path begins at the first root. An absolute path must lie in one of the roots, and a relative one must not leave
//     them. Everything else is [ErrOutside]. If a root is a symbolic link, what it leads to is another name for it, where the workspace
//     knows that ([Linked]).
//   - "." and ".." are removed first, without looking at files: in a/link/../b the link plays no part. Symbolic links are followed
//     after that. A link counts by what it leads to: a path that leaves the roots through a link is outside, also where the target
//     does not exist.
//   - A path that begins with "file:" is a URI as in RFC 8089. It is absolute, its host is empty or "localhost", and
//     percent-encoding is removed. Encoded separators and NUL bytes, queries and fragments are refused: [ParseLink] takes links to
//     lines and headings apart, and the tools that read, edit, list and search files do so. Other paths are not decoded:
//     a%20b is a file of that name.
//   - If the first root is a Windows path (a drive, or a server and a share), all paths are: both slashes separate names, case does not
//     matter, `\\?\` prefixes are removed, and a URI with a host is a server and its first name a share. Names that Windows would
//     change or that mean devices are refused: NUL, COM1.txt, "a.", "a ", "a:b", `\\.\pipe\x`, C:a.
//   - The empty path, NUL bytes, and paths longer than 4096 bytes are refused.
//
// Malformed paths are [ErrPath]. [Style] has these rules for backends. Which file a path means is
// decided by the backend at the moment it opens the file, so that what was checked is what is used.
//
// # In memory
//
// [NewMemory] makes a workspace in memory: for tests, and for agents that must not touch a disk.
// Files, directories, symbolic links and modes are as on a real one. Commands are Go functions.
package workspace

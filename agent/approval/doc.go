// SPDX-License-Identifier: Apache-2.0

// Package approval remembers decisions about tool calls: by tool, and by a scope that the tool computes, such as a path or the
// beginning of a command. A [Policy] belongs to a session or a user and is kept as JSON. [Remember] puts it before an asker, so
// that a person is asked only about what the policy does not know.
//
// Everything in it is safe for concurrent use.
package approval

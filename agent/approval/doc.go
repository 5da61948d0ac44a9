// SPDX-License-Identifier: Apache-2.0

// Package approval decides about tool calls that need approval before anybody is asked, and writes what a person is asked about as text.
//
// A [Policy] remembers decisions by tool and by a scope that the tool computes, such as a path or a command. It belongs to a session or
// a user and is kept as JSON. [Remember] puts it before an asker, so that a person is asked only about what the policy does not know.
// [Layered] puts other layers before both: what the program forbids, what the user's configuration says (a [Config]), and modes such as
// [ReadOnly]. [Logged] logs the decisions. [Text] writes an approval as text.
//
// Everything in it is safe for concurrent use.
package approval

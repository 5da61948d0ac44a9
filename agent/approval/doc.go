// SPDX-License-Identifier: Apache-2.0

// Package approval decides about tool calls that need approval without asking a person where rules
// allow it, and renders questions as text.
//
// A [Policy] remembers decisions by tool and by a scope that the tool computes, such as a path or a
// command. It belongs to a session or a user and is kept as JSON. [Remember] puts it before an
// asker, so a person is asked only when the policy has no rule. [Layered] puts other layers before
// both: what the program forbids, what the user's configuration says (a [Config]), and modes such
// as [ReadOnly]. [Logged] logs the decisions. [Text] writes an approval as text.
//
// Everything in it is safe for concurrent use.
package approval

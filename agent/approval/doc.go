// Package approval remembers what has been decided about tools: by tool, and by a scope that the tool computes, such as a
// path or the beginning of a command. A [Policy] belongs to a session or a user and is kept as JSON. It serves the approver of
// an agent as well as the permission prompts of an IDE.
//
// Everything in it is safe for concurrent use.
package approval

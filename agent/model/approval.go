// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"strings"
)

// Approval says what a tool call that needs approval would do. Histories record it while the call is pending, so its JSON form is
// stable. Package toolset has the same type under the same name.
type Approval struct {
	// Title names the action for people, in a few words. Empty means the tool's title.
	Title string `json:"title,omitempty"`
	// Reason explains to a person why approval is needed.
	Reason string `json:"reason,omitempty"`
	// Scope is what an "always" decision covers besides the tool: a path, the beginning of a command. Empty covers every
	// call of the tool.
	Scope string `json:"scope,omitempty"`
	// ScopeTitle names the scope to people, as in "Always allow …". Empty means the scope or, without one, the tool's title.
	ScopeTitle string `json:"scope_title,omitempty"`
	// Covers lists further scopes that the call lies in, such as directories. A remembered decision about one of them applies.
	Covers []string `json:"covers,omitempty"`
	// Parts has the scopes of the things that the call does, if it does several. A call whose parts are all allowed is allowed,
	// and one with a part that is denied is denied. Allowing the call always allows each part always; denying it always denies
	// Scope.
	Parts []string `json:"parts,omitempty"`
	// Preview shows what the call would do, in order.
	Preview []Preview `json:"preview,omitempty"`
	// Basis identifies the state that Preview was made from, for example a file's version or hash. If it is not empty, the
	// tool's Approval function is called again just before an approved call runs. If that gives another basis, the person
	// is asked again, with the new preview.
	Basis string `json:"basis,omitempty"`
	// Meta is the application's own.
	Meta json.RawMessage `json:"meta,omitzero"`
}

// Preview is one piece of what a call would do. Exactly one field is set.
type Preview struct {
	// Diff is a change of a file.
	Diff *Diff `json:"diff,omitempty"`
	// Command is a command that would run.
	Command *CommandLine `json:"command,omitempty"`
	// Text is anything else, as plain text.
	Text string `json:"text,omitempty"`
}

// Diff is a change of a file, by its whole contents.
type Diff struct {
	// Path is the file, as the tool names it.
	Path string `json:"path"`
	// Old is what the file has now, or nil if the file is new. New is what it would have, or nil if it would be deleted.
	Old *string `json:"old,omitempty"`
	New *string `json:"new,omitempty"`
}

// CommandLine is a command that would run: either Line or Args is set.
type CommandLine struct {
	// Line is a command line for a shell.
	Line string `json:"line,omitempty"`
	// Args are the program and its arguments, for a command that no shell reads.
	Args []string `json:"args,omitempty"`
	// Dir is the working directory.
	Dir string `json:"dir,omitempty"`
	// Env are the environment variables that are set for the command in addition to those it inherits, each as "KEY=value".
	Env []string `json:"env,omitempty"`
}

// Verdict is the outcome of a [Decision].
type Verdict string

const (
	// VerdictAllow lets a call run.
	VerdictAllow Verdict = "allow"
	// VerdictDeny refuses a call. The model is told.
	VerdictDeny Verdict = "deny"
	// VerdictDefer leaves the decision to somebody else: to the next layer of a policy, or to a later run.
	VerdictDefer Verdict = "defer"
)

// Decision is a verdict about a tool call, with its details. The zero value is not valid. Package toolset has the same type
// under the same name.
type Decision struct {
	// Verdict is what was decided.
	Verdict Verdict `json:"verdict"`
	// Args replace the arguments of a call that is allowed, if they are not empty. They are checked as the model's are.
	Args json.RawMessage `json:"args,omitempty"`
	// Reason is what the model is told when a call is denied.
	Reason string `json:"reason,omitempty"`
	// Always makes the verdict hold for all calls of the tool in the call's scope, where somebody remembers decisions. See
	// package agent/approval.
	Always bool `json:"always,omitempty"`
	// By says who decided: a user's id, the name of a policy. Empty means unknown.
	By string `json:"by,omitempty"`
	// Meta is the application's own. It is kept with the result in the history and never sent to a model.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// PendingCall is a tool call that waits for somebody outside of the run. It can be stored as JSON.
type PendingCall struct {
	// ID is the call's id and Tool the tool's name.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Path is set for a call of an agent that runs inside a tool call. It has the ids of the calls around it, the outermost
	// first, and then its own.
	Path []string `json:"path,omitempty"`
	// Agent is the name of the agent that made the call, if Path is set.
	Agent string `json:"agent,omitempty"`
	// External says that the tool never runs in the process: without Approval the call can be given a result, or be denied.
	External bool `json:"external,omitempty"`
	// Args are the arguments that the tool would get. They are valid for the tool.
	Args json.RawMessage `json:"args"`
	// Approval says what is to be approved. It is nil if a result is wanted instead.
	Approval *Approval `json:"approval,omitempty"`
	// Meta comes from a tool that deferred the call itself.
	Meta json.RawMessage `json:"meta,omitempty"`
	// Invalid says what was wrong with the arguments of the last decision, which therefore had no effect.
	Invalid string `json:"invalid,omitempty"`
	// Changed says that Args are not the model's: they come from an earlier decision.
	Changed bool `json:"changed,omitempty"`
	// Decision is what allowed the call, if it was approved and waits for a result now.
	Decision *Decision `json:"decision,omitempty"`
}

// Key identifies a pending call among all that a run waits for: answers are given by it. It is the id of a call of the run
// itself. For a call with a Path it is the ids of the path, each after a slash, with "~0" for "~" and "~1" for "/" inside an id
// (the form of a JSON pointer, RFC 6901). The id of a call of the run itself that begins with a slash is written in the same way.
func (c PendingCall) Key() string {
	if len(c.Path) < 2 && !strings.HasPrefix(c.ID, "/") {
		return c.ID
	}
	path := c.Path
	if len(path) == 0 {
		path = []string{c.ID}
	}
	var key strings.Builder
	for _, id := range path {
		key.WriteByte('/')
		key.WriteString(keyEscaper.Replace(id))
	}
	return key.String()
}

var keyEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// SuspendedCall is a tool call that has begun and waits for calls inside it.
type SuspendedCall struct {
	// ID is the call's id and Tool the tool's name.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Args are the arguments that the tool got; Changed says that they are not the model's.
	Args    json.RawMessage `json:"args"`
	Changed bool            `json:"changed,omitempty"`
	// Approved says that the call was approved; Approval is what was shown, and Decision what allowed it.
	Approved bool      `json:"approved,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	// State is what the tool needs to go on.
	State json.RawMessage `json:"state,omitempty"`
}

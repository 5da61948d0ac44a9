// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"strings"
)

// Approval describes what a tool call that needs approval would do. Histories record it while the call is pending, so its
// JSON form is stable. Package toolset defines an alias with the same name.
type Approval struct {
	// Title names the action to people, in a few words. If empty, the tool's title is used.
	Title string `json:"title,omitempty"`
	// Reason tells the person why approval is needed.
	Reason string `json:"reason,omitempty"`
	// Scope limits what an "always" decision covers, for example a path or the beginning of a command. If empty, it
	// covers every call of the tool.
	Scope string `json:"scope,omitempty"`
	// Source says whose tool it is if it is not the program's own, such as an MCP server or another agent. An "always" decision
	// about a tool of one source never covers a tool of another one, whatever their names.
	Source string `json:"source,omitempty"`
	// ScopeTitle names the scope to people, as in "Always allow …". If empty, the scope is used or, without one, the
	// tool's title.
	ScopeTitle string `json:"scope_title,omitempty"`
	// Covers lists further scopes that contain the call, such as directories. A remembered decision about any of them
	// applies.
	Covers []string `json:"covers,omitempty"`
	// Parts has the scopes of the things that the call does, if it does several. A call whose parts are all allowed is allowed,
	// and one with a part that is denied is denied. Allowing the call always allows each part always; denying it always denies
	// Scope.
	Parts []string `json:"parts,omitempty"`
	// Wider are further scopes that contain the call and that "always" may be about instead: see
	// Decision.Scope.
	Wider []WiderScope `json:"wider,omitempty"`
	// Preview shows what the call would do, in order.
	Preview []Preview `json:"preview,omitempty"`
	// Effects are what the call does, for rules. Without them, rules go by Preview.
	Effects []Effect `json:"effects,omitempty"`
	// Basis identifies the state that Preview is based on, for example a file's version or hash. If it is not empty, the
	// tool's Approval function is called again just before an approved call runs. If the basis has changed, the person is
	// asked again, with the new preview.
	Basis string `json:"basis,omitempty"`
	// Once requires a person to be asked, every time: no rule, mode or judge may allow the call.
	// They may deny it.
	Once bool `json:"once,omitempty"`
	// Meta is for the application's use.
	Meta json.RawMessage `json:"meta,omitzero"`
}

// WiderScope is a scope that contains the call, and is offered beside Approval.Scope.
type WiderScope struct {
	// Scope is the scope. Title names it to people.
	Scope string `json:"scope"`
	Title string `json:"title"`
}

// Preview is one part of the description of what a call would do. Exactly one field is set.
type Preview struct {
	// Diff is a change to a file.
	Diff *Diff `json:"diff,omitempty"`
	// Command is a command that would run.
	Command *CommandLine `json:"command,omitempty"`
	// Text describes anything else, as plain text.
	Text string `json:"text,omitempty"`
}

// Diff is a change to a file, given by its whole contents.
type Diff struct {
	// Path names the file, as the tool does.
	Path string `json:"path"`
	// Old is the current content, or nil if the file is new. New is the content after the change, or nil if the file
	// would be deleted.
	Old *string `json:"old,omitempty"`
	New *string `json:"new,omitempty"`
}

// CommandLine is a command that would run. Either Line or Args is set.
type CommandLine struct {
	// Line is a command line for a shell.
	Line string `json:"line,omitempty"`
	// Args holds the program and its arguments, for a command that runs without a shell.
	Args []string `json:"args,omitempty"`
	// Dir is the working directory.
	Dir string `json:"dir,omitempty"`
	// Env lists the environment variables set for the command in addition to the inherited ones, each as "KEY=value".
	Env []string `json:"env,omitempty"`
	// Sandbox says how the command runs where commands run in a sandbox. Empty means in it.
	// [SandboxNetwork] means in it, but with the network. [SandboxNone] means outside of it.
	Sandbox string `json:"sandbox,omitempty"`
}

// Values of [CommandLine].Sandbox.
const (
	SandboxNetwork = "network"
	SandboxNone    = "none"
)

// Verdict is the outcome of a [Decision].
type Verdict string

const (
	// VerdictAllow lets a call run.
	VerdictAllow Verdict = "allow"
	// VerdictDeny denies a call. The model is told.
	VerdictDeny Verdict = "deny"
	// VerdictDefer leaves the decision to someone else: the next layer of a policy, or a later run.
	VerdictDefer Verdict = "defer"
)

// Decision is a verdict about a tool call, with its details. The zero value is not valid. Package toolset defines an
// alias with the same name.
type Decision struct {
	// Verdict is the outcome.
	Verdict Verdict `json:"verdict"`
	// Args replaces the arguments of an allowed call if it is not empty. The new arguments are checked like the model's.
	Args json.RawMessage `json:"args,omitempty"`
	// Reason is given to the model when a call is denied.
	Reason string `json:"reason,omitempty"`
	// Always extends the verdict to all calls of the tool within the call's scope, if decisions are remembered. See
	// package agent/approval.
	Always bool `json:"always,omitempty"`
	// Scope, with Always, is the one of Approval.Wider that is meant instead of Approval.Scope.
	Scope string `json:"scope,omitempty"`
	// Lasting, with Always, extends the verdict beyond the session, to later ones in the same
	// project, if such decisions are kept.
	Lasting bool `json:"lasting,omitempty"`
	// By identifies who decided, for example a user id or the name of a policy. Empty means unknown.
	By string `json:"by,omitempty"`
	// Meta is for the application's use. It is stored with the result in the history and never sent to a model.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// PendingCall is a tool call that waits for an answer from outside the run. It can be stored as JSON.
type PendingCall struct {
	// ID is the call's id. Tool is the tool's name.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Path is set for a call of an agent that runs inside a tool call. It holds the ids of the enclosing calls, outermost
	// first, followed by the call's own id.
	Path []string `json:"path,omitempty"`
	// Agent is the name of the agent that made the call if Path is set.
	Agent string `json:"agent,omitempty"`
	// External marks a tool that does not run in this process. If Approval is nil, the call can be given a result or
	// denied.
	External bool `json:"external,omitempty"`
	// Args holds the arguments the tool would get. They have been validated. Arguments that the tool accepts although they are
	// not valid JSON are a JSON string here.
	Args json.RawMessage `json:"args"`
	// Approval describes the pending action. It is nil if the call waits for a result instead.
	Approval *Approval `json:"approval,omitempty"`
	// Meta is set by a tool that deferred the call itself.
	Meta json.RawMessage `json:"meta,omitempty"`
	// Invalid describes what was wrong with the arguments of the previous decision, which had no effect.
	Invalid string `json:"invalid,omitempty"`
	// Changed reports that Args come from an earlier decision, not from the model.
	Changed bool `json:"changed,omitempty"`
	// Decision is the decision that allowed the call, if it was approved and now waits for a result or may have run.
	Decision *Decision `json:"decision,omitempty"`
	// MayHaveRun reports that Decision allowed the call, and that the process ended before a result was recorded: it is not
	// known whether the call had any effect. Allowing it runs it again, with the same idempotency key. The model is told if it is
	// denied, or not answered.
	MayHaveRun bool `json:"may_have_run,omitempty"`
}

// Key identifies a pending call among all calls that a run waits for. Answers refer to calls by key. For a call of the
// run itself, the key is the call id. For a call with a Path, it is the ids of the path, each after a slash, with "~0"
// for "~" and "~1" for "/" inside an id (the form of a JSON pointer, RFC 6901). The id of a call of the run itself is
// written in the same way if it starts with a slash.
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

// EscapeID returns a call id as it appears in keys and ids that are joined with slashes: with "~0"
// for "~" and "~1" for "/". Most ids have neither and stay unchanged.
func EscapeID(id string) string { return keyEscaper.Replace(id) }

var keyEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// SuspendedCall is a tool call that has started and waits for calls inside it.
type SuspendedCall struct {
	// ID is the call's id. Tool is the tool's name.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Args holds the arguments the tool got. Changed reports that they are not the model's.
	Args    json.RawMessage `json:"args"`
	Changed bool            `json:"changed,omitempty"`
	// Approved reports that the call was approved. Approval is the approval as it was shown, and
	// Decision is the decision that allowed it.
	Approved bool      `json:"approved,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	// State is the tool's own state, needed to resume.
	State json.RawMessage `json:"state,omitempty"`
	// Told is the text for the user from an agent that the run was handed over to. It becomes part
	// of the history when the call has ended.
	Told []*Message `json:"told,omitempty"`
}

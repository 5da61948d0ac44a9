// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// What is asked about a tool call and what is answered. Histories record both, so the types are defined in package model.
type (
	// Approval says what a tool call that needs approval would do.
	Approval = model.Approval
	// Preview is one piece of what a call would do.
	Preview = model.Preview
	// Diff is a change of a file.
	Diff = model.Diff
	// CommandLine is a command that would run.
	CommandLine = model.CommandLine
	// Verdict is the outcome of a [Decision].
	Verdict = model.Verdict
	// Decision is a verdict about a tool call, with its details.
	Decision = model.Decision
)

// The verdicts.
const (
	// VerdictAllow lets a call run.
	VerdictAllow = model.VerdictAllow
	// VerdictDeny refuses a call. The model is told.
	VerdictDeny = model.VerdictDeny
	// VerdictDefer leaves the decision to somebody else: to the next layer of a policy, or to a later run.
	VerdictDefer = model.VerdictDefer
)

// Allow returns the decision to let a call run.
func Allow() Decision { return Decision{Verdict: VerdictAllow} }

// AllowWith returns the decision to let a call run with other arguments.
func AllowWith(args json.RawMessage) Decision { return Decision{Verdict: VerdictAllow, Args: args} }

// Deny returns the decision to refuse a call. The model is told the reason. An empty reason says only that the call was not
// permitted.
func Deny(reason string) Decision { return Decision{Verdict: VerdictDeny, Reason: reason} }

// Defer returns the decision to decide later. The call stays pending.
func Defer() Decision { return Decision{Verdict: VerdictDefer} }

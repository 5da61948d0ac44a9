// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// The types of approval requests and decisions. They are defined in package model because histories record them.
type (
	// Approval describes what a tool call that needs approval would do.
	Approval = model.Approval
	// Preview is one part of the description of what a call would do.
	Preview = model.Preview
	// WiderScope is a scope that contains a call, and is offered beside its own.
	WiderScope = model.WiderScope
	// Diff is a change to a file.
	Diff = model.Diff
	// CommandLine is a command that would run.
	CommandLine = model.CommandLine
	// Effect is one thing that a call does to the world outside of the run.
	Effect = model.Effect
	// Verdict is the outcome of a [Decision].
	Verdict = model.Verdict
	// Decision is a verdict about a tool call, with its details.
	Decision = model.Decision
)

// Verdicts of a [Decision].
const (
	// VerdictAllow lets a call run.
	VerdictAllow = model.VerdictAllow
	// VerdictDeny denies a call. The model is told.
	VerdictDeny = model.VerdictDeny
	// VerdictDefer leaves the decision to someone else: the next layer of a policy, or a later run.
	VerdictDefer = model.VerdictDefer
)

// Allow returns a decision that lets a call run.
func Allow() Decision { return Decision{Verdict: VerdictAllow} }

// AllowWith returns a decision that lets a call run with other arguments.
func AllowWith(args json.RawMessage) Decision { return Decision{Verdict: VerdictAllow, Args: args} }

// Deny returns a decision that denies a call. The model is told the reason. If the reason is empty, the model is told
// only that the call was denied.
func Deny(reason string) Decision { return Decision{Verdict: VerdictDeny, Reason: reason} }

// Defer returns a decision to decide later. The call stays pending.
func Defer() Decision { return Decision{Verdict: VerdictDefer} }

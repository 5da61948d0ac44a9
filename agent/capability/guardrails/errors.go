// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/show"
)

// ErrBlocked is wrapped by every [*BlockedError].
var ErrBlocked = errors.New("blocked by a guardrail")

// BlockedError ends a run that a guard has blocked.
type BlockedError struct {
	// Guard is the name of the guard, Stage what it has blocked.
	Guard string
	Stage Stage
	// Tool and CallID identify the call, if it was about one.
	Tool, CallID string
	// Reason is the reason that the guard gave.
	Reason string
	// Err is the error of a failed check, or [toolset.ErrNobody] if there was no one to ask. It is
	// nil if the guard decided.
	Err error
}

// Error implements error.
func (e *BlockedError) Error() string {
	what := e.Stage.String()
	if e.Tool != "" {
		what = fmt.Sprintf("%s of tool %q", what, e.Tool)
	}
	text := fmt.Sprintf("guardrails: %s blocked by %q", what, e.Guard)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Err != nil {
		text += fmt.Sprintf(": %v", e.Err)
	}
	return show.ReceivedText(text)
}

// Refused tells the user what was blocked, in a sentence. Hosts show it.
func (e *BlockedError) Refused() string {
	text := fmt.Sprintf("The %s was blocked by the guardrail %q", e.Stage, e.Guard)
	if e.Reason != "" {
		text += ": " + strings.TrimSuffix(e.Reason, ".")
	}
	return text + "."
}

// Unwrap returns [ErrBlocked] and Err. A blocked input is an [agent.ErrContentFilter], too, so that
// hosts keep the prompt out of the history, as they do when a provider refuses one.
func (e *BlockedError) Unwrap() []error {
	wrapped := []error{ErrBlocked}
	if e.Err != nil {
		wrapped = append(wrapped, e.Err)
	}
	if e.Stage == Input {
		wrapped = append(wrapped, agent.ErrContentFilter)
	}
	return wrapped
}

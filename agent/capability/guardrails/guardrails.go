// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Stage is a place in a run at which text is checked. Stages can be combined: Input|Output.
type Stage uint8

const (
	// Input is the user's prompt, or a message that is steered into the run.
	Input Stage = 1 << iota
	// Output is the text of a response, its thinking, or the arguments of the call that gives the
	// run's output.
	Output
	// Call is the arguments of a tool call, before the call runs.
	Call
	// Result is the result of a tool call, before the model sees it.
	Result

	all = Input | Output | Call | Result
)

// String returns the name of the stage.
func (s Stage) String() string {
	var names []string
	for i, name := range []string{"input", "output", "call", "result"} {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 || s&^all != 0 {
		return fmt.Sprintf("Stage(%d)", uint8(s))
	}
	return strings.Join(names, "|")
}

// Subject is a text to check.
type Subject struct {
	// Stage is the kind of text.
	Stage Stage
	// Text is the text of the prompt, of the response or of the result, joined if it has several
	// parts, or the arguments of a call. A JSON object or list in a response, a result or arguments
	// is decoded and written again without spaces and needless escapes, and with one spelling for
	// equal numbers: 1000 for 1000.0 and 1e3. [Subject.All] and [Subject.At] have its values. If an
	// earlier guard has replaced the subject, it is the replacement.
	Text string
	// Media are the parts of the prompt or of the result that are not text. They are shared and
	// must not be changed.
	Media []model.Part
	// Tool and CallID identify the call, for arguments, results, and outputs that are tool calls.
	Tool, CallID string
	// Thinking is set if the text is the model's reasoning.
	Thinking bool
	// Partial is set while the response is still being written: Text is the part so far. A text
	// that may become a JSON document is checked only when it is complete.
	Partial bool

	// data says that the text is JSON, whatever it looks like. final says of a call that no Call
	// hook wraps it.
	data, final bool
	// doc returns the decoded text. It is nil if there is none. It is a function, because a printed
	// function shows no content.
	doc func() *document
}

// Action determines what happens to a subject.
type Action uint8

const (
	// ActionPass lets it pass.
	ActionPass Action = iota
	// ActionReplace puts another text in its place.
	ActionReplace
	// ActionAsk asks the person that the run belongs to.
	ActionAsk
	// ActionDeny denies a tool call, and tells the model why. At other stages it is ActionBlock.
	ActionDeny
	// ActionBlock ends the run with a [*BlockedError].
	ActionBlock
)

// Verdict is the outcome of a check. The zero value passes.
type Verdict struct {
	// Action determines what happens to the subject.
	Action Action
	// Text is the replacement, unless Values is set.
	Text string
	// Values are replacements by the paths of the values: see [Subject.All].
	Values map[string]any
	// Reason is for people and for errors. A model is told it if a call is denied. It should not
	// quote what it is about.
	Reason string
}

// Pass lets the subject pass.
func Pass() Verdict { return Verdict{} }

// Replace puts a text in the place of the subject's. Arguments of a call must still be JSON. In the
// place of a JSON document in a response or a result, a text that is not JSON becomes a JSON
// string. [Subject.Rewrite] replaces values one by one.
func Replace(text, reason string) Verdict {
	return Verdict{Action: ActionReplace, Text: text, Reason: reason}
}

// ReplaceValues puts other values in the place of those at some paths ([Subject.All]), such as
// strings or nil. The rest of the document stays. If there is no value at a path, or one cannot be
// encoded, the subject is blocked.
func ReplaceValues(values map[string]any, reason string) Verdict {
	return Verdict{Action: ActionReplace, Values: values, Reason: reason}
}

// Ask asks the person that the run belongs to. A tool call becomes a call that needs approval,
// which may stay pending. At other stages the run waits for the answer; without an asker, the
// subject is blocked.
func Ask(reason string) Verdict { return Verdict{Action: ActionAsk, Reason: reason} }

// Deny denies a tool call, and tells the model why. At other stages it blocks.
func Deny(reason string) Verdict { return Verdict{Action: ActionDeny, Reason: reason} }

// Block ends the run with a [*BlockedError].
func Block(reason string) Verdict { return Verdict{Action: ActionBlock, Reason: reason} }

// Check checks a subject. An error means that it could not be checked. It is called by several
// goroutines at once.
type Check[D any] func(ctx context.Context, run *toolset.RunContext[D], s *Subject) (Verdict, error)

// Guard is a check and when it is made. Name, On and Check are required.
type Guard[D any] struct {
	// Name identifies the guard in errors and to people. It must be unique within a capability.
	Name string
	// On are the stages at which the check is made.
	On Stage
	// Check makes the check.
	Check Check[D]

	// Tools are the names of the tools whose calls and results are checked, in which "*" matches
	// any characters. Empty means all.
	Tools []string
	// Parallel has the input checked while the model already works on its first response. Nothing
	// of the response is shown, recorded or executed before the check has passed. If the check does
	// not pass, the request is cancelled. The prompt has then been recorded and sent, so it cannot
	// be replaced: a replacement blocks.
	Parallel bool
	// Stream shows text while it is written: Check is called with the growing text, with Partial
	// set, and with the complete text. The last Stream bytes are held back, so Check finds anything
	// up to that length before any of it is shown. It must give the same verdict as before for text
	// that it has passed or replaced, or block. 0 holds all text back until the response is
	// complete.
	Stream int
	// SkipThinking leaves the model's reasoning unchecked.
	SkipThinking bool
	// Open lets the subject pass if the check fails. By default a failure blocks.
	Open bool
	// Timeout bounds a check. A check that takes longer has failed. 0 means no bound.
	Timeout time.Duration
}

// New returns the capability "guardrails", which is the policy of that name with the guards.
func New[D any](guards ...Guard[D]) agent.Capability[D] {
	const name = "guardrails"
	return agent.Capability[D]{Name: name, Policies: []*agent.Policy{Policy(name, guards...)}}
}

// Policy returns a policy with guards, which are asked in order: each sees what the ones before it
// have left. The strictest verdict counts; a block ends the checks. agent.New reports guards that
// are not valid. Guards for dependencies of type any fit all agents.
func Policy[D any](name string, guards ...Guard[D]) *agent.Policy {
	g := &guardrails[D]{guards: slices.Clone(guards)}
	c := agent.PolicyConfig[D]{Name: name, Check: g.check}
	on := Stage(0)
	for i := range guards {
		on |= guards[i].On
	}
	if on&(Output|Call) != 0 {
		c.Doors.Run = g.run
	}
	if on&Input != 0 {
		c.Doors.Input = g.input
	}
	if on&(Input|Output|Call) != 0 {
		c.Doors.Request = g.request
	}
	if on&Call != 0 {
		c.Doors.Approval = g.approval
	}
	if on&(Call|Result) != 0 {
		c.Doors.Call = g.call
	}
	if on&Output != 0 {
		c.Output = g.output
	}
	if on&(Output|Call) != 0 {
		c.Made = g.made
	}
	return agent.NewPolicy(c)
}

// guardrails applies guards. It is stateless.
type guardrails[D any] struct{ guards []Guard[D] }

func (g *guardrails[D]) check() error {
	var errs []error
	seen := map[string]bool{}
	for i := range g.guards {
		c := &g.guards[i]
		if c.Name == "" {
			errs = append(errs, fmt.Errorf("guardrails: guard %d has no name", i))
		}
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("guardrails: %q: "+format, append([]any{c.Name}, args...)...))
		}
		if seen[c.Name] {
			wrong("there are two guards of this name")
		}
		seen[c.Name] = true
		if c.Check == nil {
			wrong("Check is nil")
		}
		if c.On == 0 || c.On&^all != 0 {
			wrong("On is %v; use Input, Output, Call and Result", c.On)
		}
		if c.Parallel && c.On&Input == 0 {
			wrong("Parallel needs On to have Input")
		}
		if c.Stream < 0 || c.Stream > 0 && c.On&Output == 0 {
			wrong("Stream is %d; it must not be negative, and needs On to have Output", c.Stream)
		}
		if c.Timeout < 0 {
			wrong("Timeout is %v; it must not be negative", c.Timeout)
		}
		for _, pattern := range c.Tools {
			if _, err := path.Match(pattern, ""); err != nil {
				wrong("%q is not a pattern for names of tools", pattern)
			}
		}
	}
	return errors.Join(errs...)
}

// applies reports whether a guard is asked about a subject.
func (c *Guard[D]) applies(s *Subject) bool {
	if c.On&s.Stage == 0 || s.Thinking && c.SkipThinking {
		return false
	}
	return s.Stage&(Call|Result) == 0 || c.names(s.Tool)
}

// names reports whether a guard is for the calls and results of a tool.
func (c *Guard[D]) names(tool string) bool {
	return len(c.Tools) == 0 || slices.ContainsFunc(c.Tools, func(pattern string) bool {
		ok, _ := path.Match(pattern, tool)
		return ok
	})
}

// has reports whether there is a guard for which f holds.
func (g *guardrails[D]) has(f func(*Guard[D]) bool) bool {
	for i := range g.guards {
		if f(&g.guards[i]) {
			return true
		}
	}
	return false
}

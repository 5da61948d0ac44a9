// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Tool is a single tool. A tool must not be changed once it is part of a toolset: combinators change a copy. [Func] and
// [Plain] make tools from functions. A Tool can also be written as a literal, for example if its schema is known only at
// run time.
type Tool[D any] struct {
	// Def is the definition the model sees. Its schema must be the JSON schema of an object, at least {"type":"object"}.
	Def model.ToolDef
	Options
	// Decode checks the arguments and returns them in the form that Call takes. It returns a [*ValidationError] or
	// [*RetryError] for problems the model can fix. Any error is reported to the model as a retry. Decode must be fast
	// and free of side effects. If nil, the arguments are passed on as json.RawMessage.
	Decode func(args []byte) (any, error)
	// Call runs the tool. An error other than [*RetryError] ends the run. It may be nil if the tool is External.
	Call func(ctx context.Context, run *RunContext[D], args any) (Result, error)
	// Check, if not nil, checks decoded arguments against the state of the run. See the function [Check] for the typed
	// form.
	Check func(ctx context.Context, run *RunContext[D], args any) error
	// Approval, if not nil, decides whether a call with these arguments needs approval before it runs, and describes what
	// is to be approved. Nil means no approval is needed. It is called after the arguments have been checked. See
	// [Approve] for the typed form.
	Approval func(ctx context.Context, run *RunContext[D], args any) (*Approval, error)
	// Effects, if not nil, returns the effects of a call with these arguments, for rules. It is
	// called when the call needs approval and the Approval has no effects. See the function
	// [Effects] for the typed form.
	Effects func(ctx context.Context, run *RunContext[D], args any) ([]Effect, error)
	// Yield is set if the name was not chosen by the program but, for example, by an MCP server. If
	// another tool has the name, or if it is longer than 64 bytes, [Combine] offers this tool under
	// the name that Yield returns for it, and leaves it out if that name is empty or taken as well.
	// It must return the same name each time, and may note that it was called.
	Yield func(name string) string

	err error
	// sound is the schema if it is known to describe an object.
	sound json.RawMessage
}

// Options holds the properties of a tool that do not depend on its types.
type Options struct {
	// Sequential makes the tool a barrier: it starts when all calls before it in the response have ended, runs alone, and
	// then the calls after it start.
	Sequential bool
	// Timeout limits the duration of a call. 0 means the agent's timeout. When it expires, ctx is cancelled and the model
	// is told. It must not be negative.
	Timeout time.Duration
	// Retries is the number of times the model may retry a call to this tool. Nil means the default. It must not be
	// negative.
	Retries *int
	// Kind classifies the tool for user interfaces.
	Kind Kind
	// Title is the tool's display name. If empty, the name is used.
	Title string
	// Idempotent marks a tool for which a repeated call with the same idempotency key has no
	// further effect. If the process ends during an allowed call, such a call may be repeated
	// without asking again. See [RunContext.IdempotencyKey].
	Idempotent bool
	// External marks a tool that does not run in this process. A call leaves the run pending until its result is
	// supplied. See agent.PendingError.
	External bool
	// InMemory says what the tool keeps in memory for later calls, such as "commands in the
	// background". Engines that may execute those in another process refuse the tool: see
	// [Stateless]. State that each call finds again, in the history or in a store, is not meant.
	InMemory string

	// typed holds the functions of [Approve], [Check] and [Effects] until the tool's types are
	// known.
	typed *typedFuncs
}

// Kind classifies tools for user interfaces. The values come from the Agent Client Protocol.
type Kind string

// Kinds of tools. The zero value counts as [KindOther].
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindDelete  Kind = "delete"
	KindMove    Kind = "move"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindThink   Kind = "think"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"
)

// Option sets an option of a tool.
type Option func(*Options)

// Sequential makes the tool a barrier. See [Options].
func Sequential() Option { return func(o *Options) { o.Sequential = true } }

// Idempotent marks a tool whose calls may be repeated. See [Options].
func Idempotent() Option { return func(o *Options) { o.Idempotent = true } }

// InMemory marks a tool that keeps something in memory for later calls. See [Options].
func InMemory(what string) Option { return func(o *Options) { o.InMemory = what } }

// Timeout limits the duration of each call of the tool.
func Timeout(d time.Duration) Option { return func(o *Options) { o.Timeout = d } }

// Retries sets the number of times the model may retry a call to the tool.
func Retries(n int) Option { return func(o *Options) { o.Retries = &n } }

// OfKind sets the kind of the tool and its title in user interfaces.
func OfKind(kind Kind, title string) Option {
	return func(o *Options) { o.Kind, o.Title = kind, title }
}

// Err reports an invalid definition: a name that providers do not accept, an argument type without a JSON schema, a
// schema that is not that of an object, a negative timeout or number of retries.
func (t *Tool[D]) Err() error {
	err := errors.Join(checkName(t.Def.Name), t.err, t.Options.check(t.Def.Name))
	if sameBytes(t.Def.Schema, t.sound) || t.err != nil && len(t.Def.Schema) == 0 {
		return err
	}
	if wrong := checkSchema(t.Def.Schema); wrong != nil {
		err = errors.Join(err, fmt.Errorf("tool %q: %w", t.Def.Name, wrong))
	}
	return err
}

// check finds values that are out of range.
func (o *Options) check(tool string) error {
	var errs []error
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("tool %q: timeout %v must not be negative; 0 means the agent's timeout", tool, o.Timeout))
	}
	if o.Retries != nil && *o.Retries < 0 {
		errs = append(errs, fmt.Errorf("tool %q: retries %d must not be negative", tool, *o.Retries))
	}
	return errors.Join(errs...)
}

// sameBytes reports whether two slices share the same memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// checkSchema checks that a schema can describe a tool's arguments. Providers return an error for any schema that is not
// that of an object.
func checkSchema(schema json.RawMessage) error {
	var s any
	if len(schema) == 0 {
		return errors.New(`schema is missing; set the JSON schema of an object, at least {"type":"object"}`)
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return fmt.Errorf("schema is not valid JSON: %w", err)
	}
	object, ok := s.(map[string]any)
	if !ok {
		return fmt.Errorf("schema must be a JSON object, not %s", kindOf(s))
	}
	switch typ, given := object["type"]; {
	case !given:
		return errors.New(`schema has no type, must have "type": "object"`)
	case typ != "object":
		return fmt.Errorf(`schema must have "type": "object", not %v`, typ)
	}
	if properties, given := object["properties"]; given {
		if _, ok := properties.(map[string]any); !ok {
			return fmt.Errorf("schema: properties must be a JSON object, not %s", kindOf(properties))
		}
	}
	return nil
}

// kindOf names the kind of a decoded JSON value that is not an object.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	}
	return "an array"
}

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

// Tool is one tool. Tools are immutable once they are part of a toolset: a combinator that changes one makes a copy.
// [Func] and [Plain] make tools of functions; a Tool can also be written out, for example for tools whose schema is
// only known at run time.
type Tool[D any] struct {
	// Def is what the model sees. Schema must be the JSON schema of an object, {"type":"object"} at least.
	Def model.ToolDef
	Options
	// Decode checks the arguments and returns them in the form that Call takes. It returns a [*ValidationError] or
	// [*RetryError] for what the model can mend; any error of it is reported to the model as a retry. It must be quick
	// and without side effects. Nil passes the arguments on as json.RawMessage.
	Decode func(args []byte) (any, error)
	// Call runs the tool. An error other than [*RetryError] ends the run. It may be nil if the tool is External.
	Call func(ctx context.Context, run *RunContext[D], args any) (Result, error)
	// Check, if not nil, checks decoded arguments with what the run knows. See [Check], which makes one of a typed function.
	Check func(ctx context.Context, run *RunContext[D], args any) error
	// Approval, if not nil, says whether a call with these arguments must be approved before it runs, and why; nil means
	// that it need not. It is asked after the arguments have been checked. See [Approve], which makes one of a typed function.
	Approval func(ctx context.Context, run *RunContext[D], args any) (*Approval, error)

	err error
	// sound is the schema if it is known to be one of an object.
	sound json.RawMessage
}

// Options are the properties of a tool that do not depend on its types.
type Options struct {
	// Sequential makes the tool a barrier: all calls before it in a response have ended when it starts, it runs
	// alone, and then the calls behind it start.
	Sequential bool
	// Timeout bounds one call; 0 means the agent's timeout. When it is over, ctx ends, and the model is told. It must not
	// be negative.
	Timeout time.Duration
	// Retries is how often the model may correct a call of this tool, if not nil. It must not be negative.
	Retries *int
	// Kind says for user interfaces what the tool does.
	Kind Kind
	// Title is the tool's name for people; empty means the name.
	Title string
	// External marks a tool that never runs in this process: a run ends with the call pending, and somebody else supplies
	// the result. See agent.PendingError.
	External bool

	// typed are the functions of [Approve] and [Check] until the tool's types are known.
	typed *typedFuncs
}

// Kind classifies tools for user interfaces. The kinds are those of the Agent Client Protocol.
type Kind string

// The kinds of tools. The zero value counts as [KindOther].
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

// Option changes a tool's options.
type Option func(*Options)

// Sequential makes the tool a barrier. See [Options].
func Sequential() Option { return func(o *Options) { o.Sequential = true } }

// Timeout bounds each call of the tool.
func Timeout(d time.Duration) Option { return func(o *Options) { o.Timeout = d } }

// Retries sets how often the model may correct a call of the tool.
func Retries(n int) Option { return func(o *Options) { o.Retries = &n } }

// OfKind says what the tool does, and how to call it in a user interface.
func OfKind(kind Kind, title string) Option {
	return func(o *Options) { o.Kind, o.Title = kind, title }
}

// Err returns what is wrong with the tool's definition: a name that providers do not accept, an argument type that has no
// JSON schema, a schema that is not one of an object, a negative timeout or number of retries.
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

// check finds numbers that are out of range.
func (o *Options) check(tool string) error {
	switch {
	case o.Timeout < 0:
		return fmt.Errorf("tool %q: the timeout is %v, must not be negative; 0 means the agent's timeout", tool, o.Timeout)
	case o.Retries != nil && *o.Retries < 0:
		return fmt.Errorf("tool %q: the number of retries is %d, must not be negative", tool, *o.Retries)
	}
	return nil
}

// sameBytes reports whether two slices are one.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// checkSchema checks that a schema is fit for a tool's arguments. Providers refuse a request over anything but the schema
// of an object.
func checkSchema(schema json.RawMessage) error {
	var s any
	if len(schema) == 0 {
		return errors.New(`schema is missing: give the JSON schema of an object, {"type":"object"} at least`)
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
		return errors.New(`schema must have "type": "object", but has no type`)
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

// kindOf names the kind of a decoded JSON value.
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
	case []any:
		return "an array"
	}
	return "an object"
}

// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Approve requires approval for the calls of a tool for which fn returns a non-nil Approval, which describes what is to
// be approved. Fn is called when the arguments have been checked and the calls before it that it must wait for have
// ended. If the Approval has a Basis, fn is called again after the approval. It should have no side effects. An error
// ends the run.
//
// D and In must be the types of the tool. [Tool.Err] reports a mismatch. Approve works with [Func], [Plain],
// [ExternalTool] and, if In is json.RawMessage, [Raw]. If it is given several times, the last one counts. [Approved] does
// the same for a whole toolset.
func Approve[D, In any](fn func(ctx context.Context, run *RunContext[D], in In) (*Approval, error)) Option {
	gives := typed[D, In]("Approve", fn == nil, func(t *Tool[D]) {
		t.Approval = func(ctx context.Context, run *RunContext[D], args any) (*Approval, error) {
			in, err := argumentsOf[In](args)
			if err != nil {
				return nil, err
			}
			return fn(ctx, run, in)
		}
	})
	return func(o *Options) { o.typed = o.typed.with(func(f *typedFuncs) { f.approve = gives }) }
}

// Check adds a check of the arguments that can use ctx, the dependencies, and the attempt in run.Call. Fn is called for
// arguments that match their schema. It is called for all calls of a response, one at a time, before any of them runs or
// is asked about, and again for arguments that a person has changed. It should be fast and must have no side effects.
//
// An error made with [Retry] is reported like invalid arguments, to the model, or to the person who changed them. An
// error made with [Failed] or [Denied] answers the call. Any other error ends the run. Several checks run in order, up to
// the first error.
//
// D and In must be the types of the tool, as for [Approve].
func Check[D, In any](fn func(ctx context.Context, run *RunContext[D], in In) error) Option {
	gives := typed[D, In]("Check", fn == nil, func(t *Tool[D]) {
		before := t.Check
		t.Check = func(ctx context.Context, run *RunContext[D], args any) error {
			if before != nil {
				if err := before(ctx, run, args); err != nil {
					return err
				}
			}
			in, err := argumentsOf[In](args)
			if err != nil {
				return err
			}
			return fn(ctx, run, in)
		}
	})
	return func(o *Options) {
		o.typed = o.typed.with(func(f *typedFuncs) { f.checks = append(f.checks, gives) })
	}
}

// Effects states the effects of a tool's calls, for the rules about calls that need approval (see
// package agent/approval). An effect that fn cannot know has the kind unknown. Fn is called after
// that of [Approve], unless the Approval has effects. It should have no side effects. An error ends
// the run. If Effects is given several times, the last one counts.
//
// D and In must be the types of the tool, as for [Approve].
func Effects[D, In any](
	fn func(ctx context.Context, run *RunContext[D], in In) ([]Effect, error),
) Option {
	gives := typed[D, In]("Effects", fn == nil, func(t *Tool[D]) {
		t.Effects = func(ctx context.Context, run *RunContext[D], args any) ([]Effect, error) {
			in, err := argumentsOf[In](args)
			if err != nil {
				return nil, err
			}
			return fn(ctx, run, in)
		}
	})
	return func(o *Options) { o.typed = o.typed.with(func(f *typedFuncs) { f.effects = gives }) }
}

// typedFuncs holds functions for tools of types that only the options know.
type typedFuncs struct {
	approve, effects typedFunc
	checks           []typedFunc
}

// typedFunc gives its function to a tool, which is a *Tool[D] for arguments of type in. It is an
// error if the function takes others; run is *RunContext[D]. Tools without such functions do not
// link what they need.
type typedFunc func(tool any, run, in reflect.Type) error

// typed returns a typedFunc that calls give, for a function that is nil or not.
func typed[D, In any](option string, isNil bool, give func(*Tool[D])) typedFunc {
	return func(tool any, run, in reflect.Type) error {
		t, ok := tool.(*Tool[D])
		if !ok || in != reflect.TypeFor[In]() {
			return fmt.Errorf("%s: the function takes %v and %v, the tool has %v and %v", option,
				reflect.TypeFor[*RunContext[D]](), reflect.TypeFor[In](), run, in)
		}
		if isNil {
			return fmt.Errorf("%s: the function is nil", option)
		}
		give(t)
		return nil
	}
}

// with returns a changed copy.
func (f *typedFuncs) with(change func(*typedFuncs)) *typedFuncs {
	made := typedFuncs{}
	if f != nil {
		made = *f
		made.checks = slices.Clip(f.checks)
	}
	change(&made)
	return &made
}

// give gives the functions to a tool.
func (f *typedFuncs) give(tool any, name string, run, in reflect.Type) error {
	var errs []error
	for _, gives := range append([]typedFunc{f.approve, f.effects}, f.checks...) {
		if gives == nil {
			continue
		}
		if err := gives(tool, run, in); err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// typedOptions applies [Approve], [Check] and [Effects] once the tool's types are known.
func typedOptions[D, In any](t *Tool[D]) error {
	given := t.Options.typed
	if given == nil {
		return nil
	}
	t.Options.typed = nil
	run, in := reflect.TypeFor[*RunContext[D]](), reflect.TypeFor[In]()
	return given.give(t, t.Def.Name, run, in)
}

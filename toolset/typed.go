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
	return func(o *Options) { o.typed = o.typed.with(func(f *typedFuncs) { f.approve = fn }) }
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
	return func(o *Options) {
		o.typed = o.typed.with(func(f *typedFuncs) { f.checks = append(f.checks, fn) })
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
	return func(o *Options) { o.typed = o.typed.with(func(f *typedFuncs) { f.effects = fn }) }
}

// typedFuncs holds functions whose types the option does not know.
type typedFuncs struct {
	approve any
	effects any
	checks  []any
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

// typedOptions resolves the functions of [Approve], [Check] and [Effects] once the tool's types are
// known.
func typedOptions[D, In any](t *Tool[D]) error {
	given := t.Options.typed
	if given == nil {
		return nil
	}
	var errs []error
	wrong := func(option string, fn any) {
		got := reflect.TypeOf(fn)
		errs = append(errs, fmt.Errorf("tool %q: %s: the function takes %v and %v, the tool has %v and %v", t.Def.Name, option,
			got.In(1), got.In(2), reflect.TypeFor[*RunContext[D]](), reflect.TypeFor[In]()))
	}
	switch fn := given.approve.(type) {
	case nil:
	case func(context.Context, *RunContext[D], In) (*Approval, error):
		if fn == nil {
			errs = append(errs, fmt.Errorf("tool %q: Approve: the function is nil", t.Def.Name))
			break
		}
		t.Approval = func(ctx context.Context, run *RunContext[D], args any) (*Approval, error) {
			in, err := argumentsOf[In](args)
			if err != nil {
				return nil, err
			}
			return fn(ctx, run, in)
		}
	default:
		wrong("Approve", fn)
	}
	switch fn := given.effects.(type) {
	case nil:
	case func(context.Context, *RunContext[D], In) ([]Effect, error):
		if fn == nil {
			errs = append(errs, fmt.Errorf("tool %q: Effects: the function is nil", t.Def.Name))
			break
		}
		t.Effects = func(ctx context.Context, run *RunContext[D], args any) ([]Effect, error) {
			in, err := argumentsOf[In](args)
			if err != nil {
				return nil, err
			}
			return fn(ctx, run, in)
		}
	default:
		wrong("Effects", fn)
	}
	var checks []func(context.Context, *RunContext[D], In) error
	for _, c := range given.checks {
		switch fn, ok := c.(func(context.Context, *RunContext[D], In) error); {
		case !ok:
			wrong("Check", c)
		case fn == nil:
			errs = append(errs, fmt.Errorf("tool %q: Check: the function is nil", t.Def.Name))
		default:
			checks = append(checks, fn)
		}
	}
	if len(checks) > 0 {
		t.Check = func(ctx context.Context, run *RunContext[D], args any) error {
			in, err := argumentsOf[In](args)
			if err != nil {
				return err
			}
			for _, check := range checks {
				if err := check(ctx, run, in); err != nil {
					return err
				}
			}
			return nil
		}
	}
	t.Options.typed = nil
	return errors.Join(errs...)
}

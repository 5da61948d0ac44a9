// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Approve makes calls of the tool need approval when fn says so: it returns what is to be approved, or nil if the call may run at
// once. It is called after the arguments have been checked and all calls before it that it must wait for have ended, and again
// after the approval if that has a Basis; it should have no effects. An error ends the run.
//
// D and In must be those of the tool, which [Tool.Err] reports otherwise. It suits [Func], [Plain], [ExternalTool] and, with
// json.RawMessage for In, [Raw]. Of several the last one counts. [Approved] does the same for a whole toolset.
func Approve[D, In any](fn func(ctx context.Context, run *RunContext[D], in In) (*Approval, error)) Option {
	return func(o *Options) { o.typed = &typedFuncs{approve: fn, checks: o.typed.all()} }
}

// Check checks the arguments of each call once they fit their schema, with what the run knows: ctx, dependencies, and
// the attempt in run.Call. It is called for all calls of a response before any of them runs or is asked about, one at a time, and
// for arguments that a person has changed. It should be quick and must have no effects.
//
// An error made with [Retry] goes to the model as invalid arguments do, or to the person who changed them. One made with
// [Failed] or [Denied] answers the call. Any other error ends the run. Several checks are made in order, up to the first error.
//
// D and In must be those of the tool, as for [Approve].
func Check[D, In any](fn func(ctx context.Context, run *RunContext[D], in In) error) Option {
	return func(o *Options) {
		made := &typedFuncs{checks: append(o.typed.all(), fn)}
		if o.typed != nil {
			made.approve = o.typed.approve
		}
		o.typed = made
	}
}

// typedFuncs are functions of types that the option does not know.
type typedFuncs struct {
	approve any
	checks  []any
}

// all returns the checks, in memory that may be appended to.
func (f *typedFuncs) all() []any {
	if f == nil {
		return nil
	}
	return slices.Clip(f.checks)
}

// typedOptions takes the functions of [Approve] and [Check], whose types are not known before.
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

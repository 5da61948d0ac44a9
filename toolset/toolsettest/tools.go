// SPDX-License-Identifier: Apache-2.0

package toolsettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/ponte-go/ponte/toolset"
)

// Rules about the tools that a toolset lists.

func (s *suite[D]) name(ctx context.Context) error {
	set := s.make()
	name := set.Name()
	if name == "" {
		return errors.New("the name is empty")
	}
	run, err := s.open(ctx, set, "run")
	if err != nil {
		return err
	}
	if again := set.Name(); again != name {
		return errors.Join(fmt.Errorf("the name was %q and is now %q", name, again), run.close(ctx))
	}
	return run.close(ctx)
}

// validName matches the names that every provider accepts.
var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (s *suite[D]) toolNames(ctx context.Context) error {
	return s.within(ctx, func(_ *session[D], l toolset.Listing[D]) error {
		var errs []error
		seen := map[string]bool{}
		for _, name := range names(l) {
			if !validName.MatchString(name) {
				errs = append(errs, fmt.Errorf("tool name %q: must be 1 to 64 letters, digits, '_' and '-'", name))
			}
			if seen[name] {
				errs = append(errs, fmt.Errorf("tool %q is listed twice", name))
			}
			seen[name] = true
		}
		return errors.Join(errs...)
	})
}

func (s *suite[D]) schemas(ctx context.Context) error {
	return s.within(ctx, func(_ *session[D], l toolset.Listing[D]) error {
		var errs []error
		for _, t := range l.Tools {
			var schema struct {
				Type string `json:"type"`
			}
			if err := json.Unmarshal(t.Def.Schema, &schema); err != nil {
				errs = append(errs, fmt.Errorf("tool %q: the schema is not a JSON object: %w", t.Def.Name, err))
			} else if schema.Type != "object" {
				errs = append(errs, fmt.Errorf("tool %q: the schema's type is %q, must be \"object\"", t.Def.Name, schema.Type))
			}
		}
		return errors.Join(errs...)
	})
}

func (s *suite[D]) callable(ctx context.Context) error {
	if checker, ok := s.make().(toolset.Checker); ok {
		if err := checker.Check(); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	return s.within(ctx, func(_ *session[D], l toolset.Listing[D]) error {
		var errs []error
		for _, t := range l.Tools {
			errs = append(errs, t.Err())
			if t.Call == nil && !t.External {
				errs = append(errs, fmt.Errorf("tool %q has no Call function and is not external", t.Def.Name))
			}
		}
		return errors.Join(errs...)
	})
}

func (s *suite[D]) order(ctx context.Context) error {
	return s.within(ctx, func(run *session[D], l toolset.Listing[D]) error {
		again, err := run.step(ctx)
		if err != nil {
			return err
		}
		return errors.Join(sameOrder("the next step", l, again), s.within(ctx, func(_ *session[D], other toolset.Listing[D]) error {
			return sameOrder("another run", l, other)
		}))
	})
}

// sameOrder compares the order of the tools that are in both listings. The set of tools may change from step to step.
func sameOrder[D any](where string, a, b toolset.Listing[D]) error {
	inA, inB := names(a), names(b)
	missing := func(from []string) func(string) bool {
		return func(name string) bool { return !slices.Contains(from, name) }
	}
	both := slices.DeleteFunc(slices.Clone(inA), missing(inB))
	if !slices.Equal(both, slices.DeleteFunc(inB, missing(inA))) {
		return fmt.Errorf("one step lists %v, %s %v", inA, where, names(b))
	}
	return nil
}

func (s *suite[D]) sameSlice(ctx context.Context) error {
	return s.within(ctx, func(run *session[D], l toolset.Listing[D]) error {
		again, err := run.step(ctx)
		if err == nil && (len(l.Tools) != len(again.Tools) || len(l.Tools) > 0 && &l.Tools[0] != &again.Tools[0]) {
			s.warn("each step returns its tools in a new slice; return the same slice if nothing has changed, to save work")
		}
		return err
	})
}

// frozen holds the comparable properties of a tool.
type frozen struct {
	name, description, schema string
	strict                    bool
	options                   toolset.Options
	decode, call, approval    uintptr
}

func freeze[D any](t *toolset.Tool[D]) frozen {
	return frozen{
		name: t.Def.Name, description: t.Def.Description, schema: string(t.Def.Schema), strict: t.Def.Strict, options: t.Options,
		decode: reflect.ValueOf(t.Decode).Pointer(), call: reflect.ValueOf(t.Call).Pointer(), approval: reflect.ValueOf(t.Approval).Pointer(),
	}
}

func (s *suite[D]) immutable(ctx context.Context) error {
	return s.within(ctx, func(run *session[D], l toolset.Listing[D]) error {
		listed := slices.Clone(l.Tools)
		before := make([]frozen, len(listed))
		for i, t := range listed {
			before[i] = freeze(t)
		}
		if _, err := run.step(ctx); err != nil {
			return err
		}
		for _, c := range s.cases {
			_ = run.call(ctx, l, c) // other rules check the result
		}
		if !slices.Equal(listed, l.Tools) {
			return errors.New("the first slice was modified later")
		}
		var errs []error
		for i, t := range listed {
			if freeze(t) != before[i] {
				errs = append(errs, fmt.Errorf("tool %q was modified after it was listed", before[i].name))
			}
		}
		return errors.Join(errs...)
	})
}

// nonsense lists invalid arguments that a model might write.
var nonsense = []string{
	"", " ", "{", "}", "[", "[]", "null", "true", "0", "-1", `"text"`, "{}", `{"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a":1}{"a":1}`,
	`{"":null}`, `{"\ud800":1}`, "{\"a\":\"\xff\"}", "\xff\xfe", "\x00", `{"a":1e999}`, `{"a":` + "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]" + `}`, "```json\n{}\n```", "<call/>",
}

func (s *suite[D]) garbage(ctx context.Context) error {
	return s.within(ctx, func(_ *session[D], l toolset.Listing[D]) error {
		var errs []error
		for _, t := range l.Tools {
			if t.Decode == nil {
				continue
			}
			for _, args := range nonsense {
				if err := decodeNonsense(t, args); err != nil {
					errs = append(errs, fmt.Errorf("tool %q: Decode of %q %w", t.Def.Name, args, err))
				}
			}
		}
		return errors.Join(errs...)
	})
}

func decodeNonsense[D any](t *toolset.Tool[D], args string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panics: %v", p)
		}
	}()
	_, err = t.Decode([]byte(args))
	var invalid *toolset.ValidationError
	var retry *toolset.RetryError
	switch {
	case err == nil || errors.As(err, &invalid) || errors.As(err, &retry):
		return nil
	default:
		return fmt.Errorf("must return a *toolset.ValidationError or *toolset.RetryError, not %T: %w", err, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// stack is a random stack of combinators and what it should offer.
type stack struct {
	rnd  *rand.Rand
	set  set
	made []string // the combinators, for messages
	// origin maps the name a tool is offered under to the name it was made with.
	origin map[string]string
	// asks reports whether calls need approval.
	asks bool
	next *int
}

// newStack makes the bottom of a stack: a few tools that no other stack has.
func newStack(rnd *rand.Rand, next *int) *stack {
	s := &stack{rnd: rnd, origin: map[string]string{}, next: next}
	var names []string
	for range 1 + rnd.IntN(4) {
		*next++
		name := fmt.Sprint("t", *next)
		names, s.origin[name] = append(names, name), name
	}
	s.set = tells(names...)
	if rnd.IntN(2) == 0 {
		s.wrap("PerRun", perRun)
	}
	return s
}

func (s *stack) wrap(name string, f func(set) set) {
	s.set, s.made = f(s.set), append(s.made, name)
}

// rename tracks a renaming.
func (s *stack) rename(f func(string) string) {
	renamed := map[string]string{}
	for offered, origin := range s.origin {
		renamed[f(offered)] = origin
	}
	s.origin = renamed
}

func (s *stack) sorted() []string {
	var names []string
	for n := range s.origin {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// grow adds a random combinator on top.
func (s *stack) grow() {
	victim := s.sorted()[s.rnd.IntN(len(s.origin))]
	all := []func(){
		func() {
			prefix := fmt.Sprintf("p%d_", s.rnd.IntN(10))
			s.wrap("Prefixed", func(in set) set { return toolset.Prefixed(in, prefix) })
			s.rename(func(n string) string { return prefix + n })
		},
		func() {
			*s.next++
			fresh := fmt.Sprint("r", *s.next)
			s.wrap("Renamed", func(in set) set { return toolset.Renamed(in, map[string]string{victim: fresh}) })
			s.rename(func(n string) string {
				if n == victim {
					return fresh
				}
				return n
			})
		},
		func() {
			if len(s.origin) > 1 {
				s.wrap("Filtered", func(in set) set {
					return toolset.Filtered(in, func(_ context.Context, _ *runContext, t *toolset.Tool[deps]) (bool, error) {
						return t.Def.Name != victim, nil
					})
				})
				delete(s.origin, victim)
			}
		},
		func() {
			if len(s.origin) > 1 {
				s.wrap("Prepared", func(in set) set {
					return toolset.Prepared(in, func(_ context.Context, _ *runContext, def model.ToolDef) (*model.ToolDef, error) {
						if def.Name == victim {
							return nil, nil
						}
						def.Description += "!"
						return &def, nil
					})
				})
				delete(s.origin, victim)
			}
		},
		func() {
			s.wrap("PreparedAll", func(in set) set {
				return toolset.PreparedAll(in, func(_ context.Context, _ *runContext, defs []model.ToolDef) ([]model.ToolDef, error) {
					slices.Reverse(defs)
					return defs, nil
				})
			})
		},
		func() {
			s.wrap("Wrapped", func(in set) set { return toolset.Wrapped(in, pass, pass) })
		},
		func() {
			s.wrap("Approved", func(in set) set { return toolset.Approved(in, nil) })
			s.asks = true
		},
		func() {
			s.wrap("PerRun", perRun)
		},
		func() {
			s.wrap("PerStep", func(in set) set { return perStep(func(int) set { return in }) })
		},
		func() {
			s.wrap("Adapt", func(in set) set {
				return toolset.Adapt(toolset.Adapt(in, func(w wider) deps { return w.deps }), func(d deps) wider { return wider{d, 1} })
			})
		},
		func() {
			s.wrap("Limited", func(in set) set { return toolset.Limited(in, 1+s.rnd.IntN(3)) })
		},
		func() {
			s.wrap("LimitedPerRun", func(in set) set { return toolset.LimitedPerRun(in, 1+s.rnd.IntN(3)) })
		},
		func() {
			s.wrap("Instructed", func(in set) set { return toolset.Instructed(in, "i") })
		},
		func() {
			s.wrap("Defaults", func(in set) set { return toolset.Defaults(in, toolset.Retries(1)) })
		},
		func() {
			s.wrap("Named", func(in set) set { return toolset.Named(in, "named") })
		},
		func() {
			other := newStack(s.rnd, s.next)
			for range s.rnd.IntN(3) {
				other.grow()
			}
			s.wrap(fmt.Sprint("Combine", other.made), func(in set) set { return toolset.Combine(in, other.set) })
			for offered, origin := range other.origin {
				s.origin[offered] = origin
			}
			s.asks = s.asks || other.asks
		},
	}
	all[s.rnd.IntN(len(all))]()
}

// allowing approves everything that a toolset asks for, as the loop does for an approved call.
func allowing(s set) set {
	return toolset.Toolset[deps](&allowed{s})
}

type allowed struct{ set }

func (a *allowed) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	in, err := a.set.Open(ctx, run)
	return &allowedInstance{Instance: in}, err
}

type allowedInstance struct{ toolset.Instance[deps] }

func (a *allowedInstance) Tools(ctx context.Context, run *runContext) (toolset.Listing[deps], error) {
	l, err := a.Instance.Tools(ctx, run)
	tools := make([]*toolset.Tool[deps], len(l.Tools))
	for i, t := range l.Tools {
		c := *t
		c.Approval = nil
		tools[i] = &c
	}
	return toolset.Listing[deps]{Tools: tools, Instructions: l.Instructions}, err
}

// Names are unique, and a call reaches the tool that was made for it, which sees its own name.
func TestRandomCombinatorsRouteCalls(t *testing.T) {
	for seed := range uint64(1000) {
		next := 0
		s := newStack(rand.New(rand.NewPCG(seed, 1)), &next)
		for range s.rnd.IntN(12) {
			s.grow()
		}
		what := fmt.Sprint("seed ", seed, ": ", s.made)
		lifecycle := record("bottom", tells("bottom"))
		names := s.sorted()
		script := modeltest.Script(say(names...), say(names...), done)
		top := s.set
		if s.asks {
			top = allowing(top)
		}
		res, err := newAgent(t, script, top, lifecycle).Run(t.Context(), deps{"Ada"}, "go")
		require.NoError(t, err, what)
		for _, r := range script.Requests() {
			require.ElementsMatch(t, append(slices.Clone(names), "bottom"), offeredBy(r), what)
		}
		for _, step := range []int{2, 4} {
			for i, name := range names {
				require.Equal(t, s.origin[name]+" for Ada", res.Messages[step].Parts[i].Text, what)
			}
		}
		require.Equal(t, 1, lifecycle.count("close"), what)

		in := open(t, toolset.Combine(s.set))
		rc := &runContext{}
		first, err := in.Tools(t.Context(), rc)
		require.NoError(t, err, what)
		again, err := in.Tools(t.Context(), rc)
		require.NoError(t, err, what)
		require.Same(t, &first.Tools[0], &again.Tools[0], what)
		require.NoError(t, in.Close(t.Context()))
	}
}

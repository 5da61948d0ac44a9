// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// scripted is a toolset that lists something else in each step.
type scripted struct {
	name  string
	steps []toolset.Listing[deps]
	errs  []error
	at    int
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Open(context.Context, *runContext) (toolset.Instance[deps], error) { return s, nil }

func (s *scripted) Tools(context.Context, *runContext) (toolset.Listing[deps], error) {
	i := s.at
	s.at++
	return s.steps[i], s.errs[i]
}

func (s *scripted) Close(context.Context) error { return nil }

// A step of which one toolset cannot list its tools fails. What others have changed in it is seen
// in the next step, also if they say the same as in the step that failed.
func TestChangesAreSeenAfterAStepThatFailed(t *testing.T) {
	listing := func(text string, names ...string) (l toolset.Listing[deps]) {
		for _, name := range names {
			l.Tools = append(l.Tools, tell(name))
		}
		l.Instructions = text
		return l
	}
	one, two, other := listing("One.", "one"), listing("Two.", "two"), listing("Other.", "other")
	a := &scripted{name: "a", steps: []toolset.Listing[deps]{one, two, two, two}, errs: make([]error, 4)}
	b := &scripted{name: "b", steps: []toolset.Listing[deps]{other, other, other, other}, errs: []error{nil, errBoom, nil, nil}}
	in, err := toolset.Combine[deps](a, b).Open(t.Context(), &runContext{})
	require.NoError(t, err)
	told := func() string {
		l, err := in.Tools(t.Context(), &runContext{})
		if err != nil {
			return err.Error()
		}
		names := ""
		for _, tool := range l.Tools {
			names += tool.Def.Name + " "
		}
		return names + fmt.Sprintf("%q", l.Instructions)
	}
	require.Equal(t, `one other "One.\n\nOther."`, told())
	require.Equal(t, `tools of toolset "b": boom`, told())
	require.Equal(t, `two other "Two.\n\nOther."`, told())
	require.Equal(t, `two other "Two.\n\nOther."`, told())
	require.NoError(t, in.Close(t.Context()))
}

// No tool may be tried again is a default like others, and a combination reports a toolset that is
// nil.
func TestNoRetriesIsADefault(t *testing.T) {
	check := func(set toolset.Toolset[deps]) error { return set.(toolset.Checker).Check() }
	require.NoError(t, check(toolset.Defaults(tells("a"), toolset.Retries(0))))
	require.ErrorContains(t, check(toolset.Defaults(tells("a"), toolset.Retries(-1))), "retries -1 must not be negative")
	in, err := toolset.Defaults(tells("a"), toolset.Retries(0)).Open(t.Context(), &runContext{})
	require.NoError(t, err)
	l, err := in.Tools(t.Context(), &runContext{})
	require.NoError(t, err)
	require.Zero(t, *l.Tools[0].Retries)
	require.NoError(t, in.Close(t.Context()))
	err = check(toolset.Combine(tells("a"), nil, tells("b")))
	require.Error(t, err)
	require.False(t, errors.Is(err, errBoom))
}

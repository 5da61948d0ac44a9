// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// counter is a toolset of "tell", which keeps something in memory.
func counter() set {
	t := toolset.Func("tell", "Tell.", func(context.Context, *runContext, struct{}) (string, error) {
		return "told", nil
	}, toolset.InMemory("a count"))
	return toolset.Of(t)
}

// TestCombinatorsKeepWhatToolsKeepInMemory: whatever is around such a tool, it is refused: before a
// run if the tools are known by then, and never offered.
func TestCombinatorsKeepWhatToolsKeepInMemory(t *testing.T) {
	for name, combine := range combinators() {
		t.Run(name, func(t *testing.T) {
			s, offered := combine(counter())
			all := toolset.Stateless(s)
			want := &toolset.InMemoryError{Tool: offered, What: "a count"}
			fixed, _ := s.(toolset.Fixed[deps])
			if fixed != nil && len(fixed.FixedTools()) > 0 {
				err := all.(toolset.Checker).Check()
				require.EqualError(t, err, want.Error())
			}
			instance, err := all.Open(t.Context(), &runContext{})
			if err == nil {
				_, err = instance.Tools(t.Context(), &runContext{})
				require.NoError(t, instance.Close(t.Context()))
			}
			found := new(toolset.InMemoryError)
			require.ErrorAs(t, err, &found)
			require.Equal(t, want, found)
		})
	}
}

// A tool that a run may only find later is refused when it is offered.
func TestStatelessLooksAtEachStep(t *testing.T) {
	quiet := tells("tell")
	s := toolset.Stateless(perStep(func(step int) set {
		if step == 1 {
			return quiet
		}
		return counter()
	}))
	require.NoError(t, s.(toolset.Checker).Check())
	tr := run(t, []set{s}, say("tell"), done)
	require.ErrorAs(t, tr.err, new(*toolset.InMemoryError))
	require.Len(t, tr.offered, 1)
}

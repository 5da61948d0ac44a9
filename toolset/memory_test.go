// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// fleeting is a toolset that offers other tools in each step, and keeps none of them.
type fleeting struct {
	made [][]weak.Pointer[toolset.Tool[deps]]
}

func (c *fleeting) Name() string                                                      { return "fleeting" }
func (c *fleeting) Open(context.Context, *runContext) (toolset.Instance[deps], error) { return c, nil }
func (c *fleeting) Close(context.Context) error                                       { return nil }

func (c *fleeting) Tools(_ context.Context, run *runContext) (toolset.Listing[deps], error) {
	var l toolset.Listing[deps]
	var made []weak.Pointer[toolset.Tool[deps]]
	for i := range 3 / run.Step {
		t := tell(fmt.Sprintf("tool%d", i))
		l.Tools, made = append(l.Tools, t), append(made, weak.Make(t))
	}
	c.made = append(c.made, made)
	return l, nil
}

func TestToolsThatAreGoneAreNotKept(t *testing.T) {
	yes := func(context.Context, *runContext, *toolset.Tool[deps]) (bool, error) { return true, nil }
	c := new(fleeting)
	in, err := toolset.Filtered(c, yes).Open(t.Context(), new(runContext))
	require.NoError(t, err)
	for step := 1; step <= 3; step++ {
		_, err := in.Tools(t.Context(), &runContext{RunInfo: toolset.RunInfo{Step: step}})
		require.NoError(t, err)
	}
	runtime.GC()
	runtime.GC()
	for step, made := range c.made[:2] {
		for i, tool := range made {
			require.Nil(t, tool.Value(), "tool %d of step %d", i, step+1)
		}
	}
	runtime.KeepAlive(in)
}

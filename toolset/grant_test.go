// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// What tasks in other processes may do together is what is left, neither more nor less.
func TestSharesAddUpToWhatIsLeft(t *testing.T) {
	for name, kind := range map[string]struct {
		limits func(n int) toolset.Limits
		take   func(m *toolset.Meter) error
	}{
		"requests": {func(n int) toolset.Limits { return toolset.Limits{Requests: n} }, (*toolset.Meter).Request},
		"tool calls": {func(n int) toolset.Limits { return toolset.Limits{ToolCalls: n} }, func(m *toolset.Meter) error {
			if err := m.CheckCalls(1); err != nil {
				return err
			}
			m.Add(toolset.Usage{ToolCalls: 1})
			return nil
		}},
	} {
		for limit := 1; limit <= 7; limit++ {
			for used := 0; used <= limit; used++ {
				for tasks := 1; tasks <= 5; tasks++ {
					m := toolset.NewMeter(kind.limits(limit))
					for range used {
						require.NoError(t, kind.take(m))
					}
					taken := 0
					for i := range tasks {
						for task := m.Grant(tasks - i).State().Meter(); kind.take(task) == nil; {
							taken++
						}
					}
					require.Equal(t, limit-used, taken, "%s: a limit of %d, of which %d are used, for %d tasks", name, limit, used, tasks)
				}
			}
		}
	}
}

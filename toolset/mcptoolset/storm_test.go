// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// A server that announces changes without end is asked for its tools a bounded number of times.
func TestStormOfChangesIsBounded(t *testing.T) {
	f := newFake(nil)
	f.tool("x", echo)
	s := serve(t, f, legacy)
	set := mcptoolset.Tools(s, mcptoolset.Options[none]{})
	run := &toolset.RunContext[none]{}
	in, err := set.Open(t.Context(), run)
	require.NoError(t, err)
	_, err = in.Tools(t.Context(), run)
	require.NoError(t, err)
	before := f.count("tools/list")
	end := time.Now().Add(2 * time.Second)
	var work sync.WaitGroup
	for range 8 { // steps of runs
		work.Go(func() {
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				_, _ = in.Tools(ctx, run)
				cancel()
			}
		})
	}
	for i := 0; time.Now().Before(end); i++ {
		f.tool(fmt.Sprint("y", i%50), echo)
		time.Sleep(100 * time.Microsecond)
	}
	work.Wait()
	require.LessOrEqual(t, f.count("tools/list")-before, 30)
	f.tool("last", echo)
	require.Eventually(t, func() bool {
		l, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
		for _, tool := range l.Tools {
			if tool.Def.Name == "s_last" {
				return true
			}
		}
		return false
	}, patience, tick, "and then has its tools listed as they are")
}

// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// What a killed command wrote is all there when Kill returns, so what is read afterwards does not
// depend on who is quicker.
func TestKillWaitsForTheScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/work"}, Commands: map[string]workspace.MemoryScript{
			"serve": func(ctx context.Context, sh *workspace.MemoryShell) int {
				fmt.Fprintln(sh, "listening")
				<-ctx.Done()
				time.Sleep(time.Second)
				fmt.Fprintln(sh, "closed")
				return 0
			},
		}})
		require.NoError(t, err)
		p, err := ws.Start(t.Context(), workspace.Command{Line: "serve"})
		require.NoError(t, err)
		require.NoError(t, p.Kill(t.Context()))
		out, err := p.Output(t.Context(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, "listening\nclosed\n", string(out.Data))
		require.Equal(t, &workspace.Exit{Code: -1, Signal: "killed"}, out.Exit)

		p, err = ws.Start(t.Context(), workspace.Command{Line: "serve"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, p.Kill(ctx), context.DeadlineExceeded, "the wait ends with the context")
		_, err = p.Wait(t.Context())
		require.NoError(t, err)
	})
}

func TestOutputIsBoundedByOneMiBUnlessSetOtherwise(t *testing.T) {
	_, err := workspace.NewMemory(workspace.MemoryConfig{OutputLimit: -1})
	require.ErrorContains(t, err, "OutputLimit must not be negative")
	for limit, want := range map[int]int{0: 1 << 20, 100: 100} {
		ws, err := workspace.NewMemory(workspace.MemoryConfig{OutputLimit: limit, Command: func(workspace.Command) workspace.MemoryScript {
			return workspace.MemoryPrint("first"+strings.Repeat("x", 1<<20)+"last", 0)
		}})
		require.NoError(t, err)
		p, err := ws.Start(t.Context(), workspace.Command{Line: "x"})
		require.NoError(t, err)
		_, err = p.Wait(t.Context())
		require.NoError(t, err)
		kept := 0
		var end []byte
		for from := int64(0); ; {
			out, err := p.Output(t.Context(), from, 0)
			require.NoError(t, err)
			if len(out.Data) == 0 {
				break
			}
			kept += len(out.Data)
			end, from = out.Data, out.From+int64(len(out.Data))
		}
		require.Equal(t, want, kept)
		require.True(t, strings.HasSuffix(string(end), "xlast"), "the beginning is dropped first")
	}
}

// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// shownOf returns what a person is shown of a command's output, of which the workspace keeps so many bytes.
func shownOf(t *testing.T, text string, keeps int) *view.Entity {
	t.Helper()
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, OutputLimit: keeps, Command: func(workspace.Command) workspace.MemoryScript {
		return func(_ context.Context, sh *workspace.MemoryShell) int {
			for len(text) > 0 { // as programs write
				n := min(len(text), 100_001)
				fmt.Fprint(sh, text[:n])
				text = text[n:]
			}
			return 7
		}
	}})
	require.NoError(t, err)
	turn, _ := work(t, &asked{kinds: []acp.PermissionOptionKind{"allow_once"}}, ws, func(a *raw) {
		var created struct{ TerminalID string }
		_ = json.Unmarshal(a.create(`"command":"go"`).Result, &created)
		params := `{"sessionId":"s","terminalId":"` + created.TerminalID + `"}`
		a.call("terminal/wait_for_exit", params)
		a.call("terminal/release", params)
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","content":[{"type":"terminal","terminalId":"` + created.TerminalID + `"}]}`)
	})
	for e := range turn.Snapshot.All() {
		if e.Kind == view.Command {
			return e
		}
	}
	require.Fail(t, "no command")
	return nil
}

func TestBeginningAndEndOfALongOutputAreShown(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "größe %d\n", i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text  string
		whole bool
		keeps int
	}{
		"short":                        {lines(10), true, 0},
		"as much as is shown":          {strings.Repeat("x", 1<<20), true, 2 << 20},
		"a byte more":                  {strings.Repeat("x", 1<<20+1), false, 4 << 20},
		"long lines":                   {strings.Repeat("é", 2<<20), false, 64 << 20},
		"many lines":                   {lines(300_000), false, 64 << 20},
		"more than the workspace has":  {lines(300_000), false, 1 << 20},
		"much more than the workspace": {lines(1_000_000), false, 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			e := shownOf(t, c.text, c.keeps)
			got := e.Text()
			require.True(t, utf8.ValidString(got))
			require.LessOrEqual(t, len(got), 1<<20+1000)
			require.Equal(t, &view.Exit{Code: 7}, e.Exit)
			if c.whole {
				require.True(t, got == c.text, "all of it")
				return
			}
			_, end, cut := strings.Cut(got, " of the output are left out here.]\n")
			require.True(t, cut)
			require.True(t, strings.HasSuffix(c.text, end), "the end")
			require.NotEmpty(t, end)
			if c.keeps < 2<<20 {
				return // what came before anybody looked is gone
			}
			beginning, _, _ := strings.Cut(got, "\n[The end of the output")
			beginning, _, _ = strings.Cut(beginning+"\n[", "\n[")
			require.True(t, strings.HasPrefix(c.text, strings.TrimRight(beginning, "\uFFFD")), "the beginning")
			require.Greater(t, len(beginning), 500_000)
			var bytes, breaks int
			i := strings.LastIndex(got[:len(got)-len(end)], "\n[")
			_, err := fmt.Sscanf(got[i:], "\n[%d bytes (%d lines) of the output", &bytes, &breaks)
			require.NoError(t, err)
			missing := c.text[len(c.text)-len(end)-bytes : len(c.text)-len(end)]
			require.Equal(t, strings.Count(missing, "\n"), breaks)
			require.InDelta(t, len(beginning), len(c.text)-len(end)-bytes, 4)
		})
	}
}

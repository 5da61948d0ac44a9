// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
)

// outputTold is what a client has been told of the output of a call.
type outputTold struct {
	grown    string // what its terminal has
	exits    []string
	infos    int
	messages int
}

func outputsOf(t *testing.T, updates []acp.SessionNotification, key string) (o outputTold) {
	t.Helper()
	piece := func(meta map[string]json.RawMessage, name string) (m struct {
		Terminal string `json:"terminal_id"`
		Data     string
		Exit     *int `json:"exit_code"`
		Signal   *string
	}, ok bool) {
		if meta[name] == nil {
			return m, false
		}
		require.NoError(t, json.Unmarshal(meta[name], &m))
		return m, true
	}
	var call acp.ToolCallID
	for i := range updates {
		if c := updates[i].Update.ToolCall; c != nil {
			if m, ok := piece(c.Meta, "terminal_info"); ok {
				require.Equal(t, string(c.ToolCallID), m.Terminal)
				call = c.ToolCallID
				o.infos++
			}
		}
		u := updates[i].Update.ToolCallUpdate
		if u == nil {
			continue
		}
		o.messages++
		if m, ok := piece(u.Meta, key); ok {
			require.Equal(t, string(call), m.Terminal, "the call was announced with its terminal")
			o.grown += m.Data
		}
		if m, ok := piece(u.Meta, "terminal_exit"); ok {
			o.exits = append(o.exits, fmt.Sprint(*m.Exit))
		}
	}
	return o
}

// The output of a command on this machine goes over the wire once, with at most half of it again while it grows: to clients with terminals that
// grow as increments, to others as the content of the call.
func TestOutputOfLocalCommandIsSentOnce(t *testing.T) {
	for name, script := range map[string]string{
		"at once":  `i=0; while [ $i -lt 280 ]; do printf '%099d\n' $i; i=$((i+1)); done; exit 3`,
		"slowly":   `i=0; while [ $i -lt 28 ]; do printf '%0499d\n%0499d\n' $i $i; i=$((i+1)); sleep 0.05; done; exit 3`,
		"in bytes": `i=0; while [ $i -lt 700 ]; do printf 'gr\303\274n\n0123456789012345678901234567890123'; i=$((i+1)); [ $((i%100)) = 0 ] && sleep 0.2; done; exit 3`,
	} {
		for _, can := range []string{"", "terminal_output", "terminal_output_delta"} {
			t.Run(name+"/"+can, func(t *testing.T) {
				t.Parallel()
				meta := map[string]json.RawMessage{can: json.RawMessage("true")}
				editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{Meta: meta}})
				c, m := worker(t, nil, []model.Part{call("1", "run_command", args{"command": script})})
				c.Local = acpbridge.LocalFallback{Commands: true}
				c.Host.Logger = slog.New(slog.DiscardHandler)
				var sent atomic.Int64
				conn := acptest.Connect(t, editor, func(ctx context.Context, r io.Reader, w io.Writer) error {
					c.In, c.Out = r, countingWriter{w.(io.WriteCloser), &sent}
					return acpbridge.Serve(ctx, c)
				})
				id, err := conn.Start(t.Context(), t.TempDir())
				require.NoError(t, err)
				before := sent.Load()
				_, err = conn.Say(t.Context(), id, "Go.")
				require.NoError(t, err)
				cost := sent.Load() - before

				output, _, _ := strings.Cut(told(m)[0], "\n[exit code 3]")
				require.GreaterOrEqual(t, len(output), 27_000)
				t.Logf("%.2f of %d bytes in %d updates", float64(cost)/float64(len(output)), len(output), len(editor.Updates()))
				require.Less(t, float64(cost), 1.5*float64(len(output)))
				last := editor.State().ToolCalls[0]
				require.Equal(t, acp.ToolCallStatusFailed, last.Status)
				o := outputsOf(t, editor.Updates(), can)
				if can == "" {
					require.Equal(t, "```text\n"+output+"\n[exit code 3]\n```", shownText(last))
					return
				}
				require.Equal(t, 1, o.infos)
				require.Equal(t, output+"\n[exit code 3]\n", o.grown)
				require.Equal(t, []string{"3"}, o.exits)
				require.NotNil(t, last.Content[len(last.Content)-1].Terminal)
				require.Less(t, float64(cost), 1.25*float64(len(output)), "nothing is sent twice")
			})
		}
	}
}

// Long output is shown by its end while it grows, and what is kept of it is bounded.
func TestLongOutputOfLocalCommandIsBounded(t *testing.T) {
	editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{Meta: map[string]json.RawMessage{"terminal_output": json.RawMessage("true")}}})
	script := `i=0; while [ $i -lt 3000 ]; do printf '%099d\n' $i; i=$((i+1)); [ $((i%600)) = 0 ] && sleep 0.22; done`
	c, m := worker(t, nil, []model.Part{call("1", "run_command", args{"command": script})})
	c.Local = acpbridge.LocalFallback{Commands: true}
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Contains(t, told(m)[0], "left out here")
	o := outputsOf(t, editor.Updates(), "terminal_output")
	lines := strings.Split(o.grown, "\n")
	for i := range 3000 {
		require.Equal(t, fmt.Sprintf("%099d", i), lines[i], "the terminal has all lines")
	}
	require.Equal(t, []string{"[exit code 0]", ""}, lines[3000:])
}

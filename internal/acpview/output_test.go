// SPDX-License-Identifier: Apache-2.0

package acpview_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// A command writes, its beginning is dropped, and the client's queue is full at times. A terminal of the client gets each byte once, in order. Other
// clients have the whole text in the end, and at most half of it again on the way.
func TestOutputArrivesOnceOverQueueThatIsFullAtTimes(t *testing.T) {
	for seed := range uint64(200) {
		for _, key := range []string{"", "terminal_output"} {
			r := rand.New(rand.NewPCG(seed, 2))
			var f view.Fold
			e, client := open(t, &f, acpview.Options{Terminal: key, Late: r.IntN(2) == 0})
			e.fails = func() bool { return r.IntN(8) == 0 }
			call := view.Entity{ID: "call:c", Kind: view.ToolCall, Class: "execute", Title: "Run", Status: view.Pending, Input: json.RawMessage(`{}`)}
			put(&f, call)
			_ = client.Show(t.Context())
			call.Status = view.Running
			all := ""
			var o acpview.Output
			for range r.IntN(30) {
				more := strings.Repeat("some output, é\n", r.IntN(40))
				all, o.Text = all+more, o.Text+more
				call.Content = []view.Content{{Kind: view.Text, Text: o.Grows("```")}}
				put(&f, call)
				if seed%3 > 0 || r.IntN(3) == 0 {
					_ = client.Show(t.Context())
				}
				// What is dropped has been shown. In seeds that are multiples of 3 the client may be behind.
				if drop := len(o.Text) / 32 * 16; r.IntN(8) == 0 && seed%3 > 0 && client.Idle() {
					o.Before, o.Text = o.Before+int64(drop), o.Text[drop:]
				}
			}
			end := acpview.Output{Before: o.Before, Text: o.Text + "[exit code 0]\n"}
			call.Status, call.Output = view.Completed, json.RawMessage(`{"exitCode":0}`)
			call.Content = []view.Content{{Kind: view.Text, Text: acpview.Closed(end.Grows("```"))}}
			put(&f, call)
			e.fails = nil
			require.NoError(t, client.ShowAll(t.Context()))

			sent, grown, opened := 0, "", false
			for _, u := range e.take() {
				sent += len(u) - 200 // which every update takes
				var told struct {
					Update string `json:"sessionUpdate"`
					Meta   struct {
						Info   *struct{} `json:"terminal_info"`
						Output struct {
							Data string `json:"data"`
						} `json:"terminal_output"`
					} `json:"_meta"`
				}
				require.NoError(t, json.Unmarshal([]byte(u), &told))
				if told.Meta.Info != nil {
					grown, opened = "", true // a client that is told of a terminal again has a new one
				}
				grown += told.Meta.Output.Data
			}
			if key != "" && opened {
				require.Equal(t, all+"[exit code 0]\n", grown, seed)
			} else {
				shown := e.fold.View().Get("call:c").Content
				require.Equal(t, call.Content[0].Text, shown[len(shown)-1].Text, seed)
				require.Less(t, sent, 4096+len(all)*16/10, seed)
			}
		}
	}
}

// The output of a command that was cut off is shown like that of one that has ended, live and loaded.
func TestOutputThatIsCutOffIsClosed(t *testing.T) {
	var f view.Fold
	e, client := open(t, &f, acpview.Options{})
	o := acpview.Output{Text: "so far"}
	call := view.Entity{ID: "call:c", Kind: view.ToolCall, Class: "execute", Title: "Run", Status: view.Running, Content: []view.Content{{Kind: view.Text, Text: o.Grows("```")}}}
	put(&f, call)
	require.NoError(t, client.Show(t.Context()))
	call.Status, call.Content = view.Failed, append(call.Content, view.Content{Kind: view.Text, Text: "Cancelled."})
	put(&f, call)
	require.NoError(t, client.Show(t.Context()))
	loaded := &editor{t: t}
	require.NoError(t, acpview.New(loaded, "s", f.Snapshot().Fold(), nil, acpview.Options{}).Show(t.Context()))
	for _, shown := range []*editor{e, loaded} {
		content := shown.fold.View().Get("call:c").Content
		require.Equal(t, "```text\nso far\n```", content[0].Text)
		require.Equal(t, "Cancelled.", content[1].Text)
	}
}

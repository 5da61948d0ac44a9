// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// countingWriter counts what the agent sends.
type countingWriter struct {
	io.WriteCloser
	sent *atomic.Int64
}

func (w countingWriter) Write(p []byte) (int, error) {
	w.sent.Add(int64(len(p)))
	return w.WriteCloser.Write(p)
}

// countingReader counts what the agent receives.
type countingReader struct {
	io.Reader
	received *atomic.Int64
}

func (r countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.received.Add(int64(n))
	return n, err
}

// An edit in a directory of this machine asks the editor for the file once, just before it writes it, and reads the result from the disk.
func TestEditAsksEditorForFileOnce(t *testing.T) {
	line := strings.Repeat("x", 107) + "\n"
	before := strings.Repeat(line, 500) + "needle\n" + strings.Repeat(line, 500)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	editor := acptest.New(acptest.Options{Files: map[string]string{filepath.Join(dir, "a"): before}, OnDisk: true})
	a, err := agent.New(agent.Config[bare, string]{
		Model:    modeltest.Script(modeltest.Say(call("1", "edit_file", editArgs("a", "needle", "pin"))), modeltest.SayText("done")),
		Toolsets: []toolset.Toolset[bare]{acpbridge.Toolset[bare]()},
	})
	require.NoError(t, err)
	var sent, received atomic.Int64
	conn := acptest.Connect(t, editor, func(ctx context.Context, r io.Reader, w io.Writer) error {
		return acpbridge.Serve(ctx, acpbridge.Config[bare, string]{
			Host: host.Config[bare, string]{
				Agent:  a,
				Logger: slog.New(slog.DiscardHandler),
			},
			Options: acpbridge.Options{
				In:  countingReader{r, &received},
				Out: countingWriter{w.(io.WriteCloser), &sent},
			},
		})
	})
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	after, _ := editor.File(filepath.Join(dir, "a"))
	require.Equal(t, strings.Replace(before, "needle", "pin", 1), after)
	var reads []string
	for _, c := range editor.Calls() {
		reads = append(reads, c.Method)
	}
	require.Equal(t, []string{"session/request_permission", "fs/read_text_file", "fs/write_text_file"}, reads)
	t.Logf("sent %.2f and received %.2f of the text", float64(sent.Load())/float64(len(after)), float64(received.Load())/float64(len(before)))
	require.Less(t, float64(sent.Load()), 1.2*float64(len(after)))
	require.Less(t, float64(received.Load()), 1.1*float64(len(before)))
}

// An edit of a line is asked about and made over a connection. The agent sends the new text once, where the client writes it, and at most
// 15 kB besides, also if the file is large.
func TestEditSendsNewTextOnce(t *testing.T) {
	for name, lines := range map[string]int{"108 kB": 1000, "5 MB": 46_500} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && lines > 1000 {
				t.Skip("edits 5 MB")
			}
			line := strings.Repeat("x", 107) + "\n"
			before := strings.Repeat(line, lines/2) + "needle\n" + strings.Repeat(line, lines/2)
			editor := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": before}})
			a, err := agent.New(agent.Config[bare, string]{
				Model:    modeltest.Script(modeltest.Say(call("1", "edit_file", editArgs("a", "needle", "pin"))), modeltest.SayText("done")),
				Toolsets: []toolset.Toolset[bare]{acpbridge.Toolset[bare]()},
			})
			require.NoError(t, err)
			var sent, received atomic.Int64
			conn := acptest.Connect(t, editor, func(ctx context.Context, r io.Reader, w io.Writer) error {
				return acpbridge.Serve(ctx, acpbridge.Config[bare, string]{
					Host: host.Config[bare, string]{
						Agent:  a,
						Logger: slog.New(slog.DiscardHandler),
					},
					Options: acpbridge.Options{
						In:  countingReader{r, &received},
						Out: countingWriter{w.(io.WriteCloser), &sent},
					},
				})
			})
			id, err := conn.Start(t.Context(), "/repo")
			require.NoError(t, err)
			_, err = conn.Say(t.Context(), id, "Go.")
			require.NoError(t, err)
			after, _ := editor.File("/repo/a")
			require.Equal(t, strings.Replace(before, "needle", "pin", 1), after)
			require.Len(t, editor.Permissions(), 1)
			encoded, err := json.Marshal(after)
			require.NoError(t, err)
			besides := sent.Load() - int64(len(encoded))
			t.Logf("%d bytes sent, %d of them the new text, %d besides", sent.Load(), len(encoded), besides)
			require.Positive(t, besides)
			require.Less(t, besides, int64(15_000))
			require.Less(t, float64(received.Load()), 2.2*float64(len(before)), "the editor is asked once before the write, and once after it")
			require.Empty(t, editor.Violations())
		})
	}
}

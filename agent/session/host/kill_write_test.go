// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// stopping calls a function before and after each change of a file.
type stopping struct {
	*workspace.Memory
	at func(moment string)
}

func (s *stopping) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	s.at("before")
	defer s.at("after")
	return s.Memory.ApplyChange(ctx, path, c)
}

// killedWrite is a process that was killed in the middle of a write, and what it has left.
type killedWrite struct {
	t     *testing.T
	files *workspace.Memory
	left  string       // of the recorder
	log   bytes.Buffer // of the store
	disk  string       // what a.txt held
}

func (k *killedWrite) config(r *checkpoint.Recorder, store session.Store, steps ...modeltest.Step) host.Config[none, string] {
	work, turns := workspace.NewSession(r), checkpoint.NewTurns(r)
	return host.Config[none, string]{
		Agent: agent.Must(agent.New(agent.Config[none, string]{
			Model: modeltest.Script(steps...), Toolsets: []toolset.Toolset[none]{
				workspace.Tools(func(none) *workspace.Session { return work }),
			},
		})),
		Store: store, Files: func(none) host.Files { return turns }, Commands: host.BuiltIns(nil),
	}
}

func (k *killedWrite) holds() string {
	data, err := k.files.Disk().ReadFile("/project/a.txt")
	require.NoError(k.t, err)
	return string(data)
}

func (k *killedWrite) put(text string) {
	require.NoError(k.t, k.files.Disk().WriteFile("/project/a.txt", []byte(text), 0o644))
}

// killInWrite plays a turn that edits a file, up to the moment before or after the file is written.
func killInWrite(t *testing.T, moment string) *killedWrite {
	t.Helper()
	files, err := workspace.NewMemory(workspace.MemoryConfig{})
	require.NoError(t, err)
	k := &killedWrite{t: t, files: files, left: filepath.Join(t.TempDir(), "left")}
	k.put("one\n")
	dir, store := t.TempDir(), durable{new(session.Memory)}
	slow := &stopping{Memory: files}
	recorder, err := checkpoint.Keep(slow, dir, checkpoint.Options{})
	require.NoError(t, err)
	edit := model.ToolCall("c", "edit_file", `{"path":"a.txt","edits":[{"old_text":"one","new_text":"two"}]}`)
	s := create(t, newHost(t, k.config(recorder, store, modeltest.Say(edit), modeltest.SayText("ok"))))
	slow.at = func(now string) {
		if now == moment {
			require.NoError(t, session.Export(t.Context(), store, &k.log, s.ID()))
			require.NoError(t, os.CopyFS(k.left, os.DirFS(dir)))
			k.disk = k.holds()
		}
	}
	p := say("Write two.")
	p.Asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Allow(), nil
	}}
	_, err = s.Prompt(t.Context(), p)
	require.NoError(t, err)
	k.put(k.disk)
	return k
}

// next opens the session in the next process.
func (k *killedWrite) next() *host.Session {
	store := durable{new(session.Memory)}
	_, err := session.Import(k.t.Context(), store, bytes.NewReader(k.log.Bytes()), session.ImportOptions{})
	require.NoError(k.t, err)
	r, err := checkpoint.Keep(k.files, k.left, checkpoint.Options{})
	require.NoError(k.t, err)
	h := newHost(k.t, k.config(r, store, modeltest.SayText("ok")))
	list, err := store.List(k.t.Context(), session.Query{})
	require.NoError(k.t, err)
	s, err := h.Open(k.t.Context(), list.Sessions[0].ID, nil)
	require.NoError(k.t, err)
	return s
}

// Nobody knows whether a file was written by a process that was killed: surfaces and exports say that, the
// call is asked about before it runs again, and an undo takes back what was written.
func TestProcessThatIsKilledInAWrite(t *testing.T) {
	const unknown = "It is not known whether the call had any effect"
	for moment, disk := range map[string]string{"before": "one\n", "after": "two\n"} {
		k := killInWrite(t, moment)
		require.Equal(t, disk, k.disk)
		s := k.next()
		require.Contains(t, shown(t, s), unknown)
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		require.Contains(t, host.Markdown(snapshot), "*Not answered yet: Edit a.txt. This call was allowed before")
		require.Contains(t, host.Markdown(snapshot), unknown)
		for e := range snapshot.All() {
			if e.Kind == view.ToolCall {
				require.NotEqual(t, view.Completed, e.Status)
				require.NotEqual(t, view.Failed, e.Status)
			}
		}
		require.Equal(t, disk, k.holds(), "nothing is done before somebody is asked")
		prompt(t, s, "/undo")
		require.Equal(t, "one\n", k.holds())
		require.Equal(t, moment == "after", strings.Contains(shown(t, s), "Files taken back: a.txt"))
	}
}

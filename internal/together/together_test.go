// SPDX-License-Identifier: Apache-2.0

// Package together tests an editor and a browser that share the sessions of one host.
package together

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

const token = "0123456789abcdef"

// shared is a program with an editor and a browser.
type shared struct {
	t      *testing.T
	dir    string
	host   *host.Host
	web    *webbridge.Handler
	places chan string // keys of the places that dependencies were made for
}

// reads is a model that reads a file for each prompt, and repeats what it is told.
func reads(_ context.Context, req *model.Request) (*model.Message, error) {
	last := req.Messages[len(req.Messages)-1]
	for _, p := range last.Parts {
		if p.Kind == model.PartToolReturn {
			return model.Response(model.Text("It says " + strings.Fields(p.Text)[0])), nil
		}
	}
	return model.Response(model.ToolCall("c", "read_file", `{"path":"a.txt"}`)), nil
}

func share(t *testing.T, m model.Model) *shared {
	s := &shared{t: t, dir: t.TempDir(), places: make(chan string, 10)}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("saved"), 0o600))
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: m, Toolsets: []toolset.Toolset[deps.ACPDeps]{acpbridge.Toolset[deps.ACPDeps]()}})
	require.NoError(t, err)
	here := acpbridge.LocalFallback{Files: true}
	s.host, err = host.New(host.Config[deps.ACPDeps, string]{
		Agent: a, Busy: host.BusyQueue, Store: new(session.Memory), Logger: slog.New(slog.DiscardHandler),
		Deps: func(_ context.Context, of *host.Session) (deps.ACPDeps, error) {
			s.places <- strings.SplitN(of.Place().Key(), ":", 2)[0]
			return acpbridge.DepsOf(of, here)
		},
	})
	require.NoError(t, err)
	s.web, err = webbridge.On(s.host, webbridge.Options{Token: token, Dirs: []string{s.dir}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.web.Shutdown(context.Background()))
		require.NoError(t, s.host.Close(context.Background()))
	})
	return s
}

func (s *shared) edit(editor *acptest.Client) *acptest.Conn {
	return acptest.Connect(s.t, editor, func(ctx context.Context, r io.Reader, w io.Writer) error {
		return acpbridge.ServeHost(ctx, s.host, acpbridge.Options{In: r, Out: w})
	})
}

// browse makes a request of a browser.
func (s *shared) browse(method, path, body string) map[string]any {
	r := httptest.NewRequest(method, "http://localhost/api/"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.web.ServeHTTP(w, r)
	require.Less(s.t, w.Code, http.StatusMultipleChoices, w.Body.String())
	var answer map[string]any
	if w.Body.Len() > 0 {
		require.NoError(s.t, json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&answer))
	}
	return answer
}

// ask sends a prompt and waits for the end of its turn.
func (s *shared) ask(id, text string) {
	s.begin(id, text)
	s.wait(id)
}

func (s *shared) begin(id, text string) {
	s.browse("POST", "sessions/"+id+"/prompts", `{"parts":[{"text":"`+text+`"}]}`)
}

// wait waits for the turns of a session: one that is cancelled comes after them.
func (s *shared) wait(id string) {
	ctx, cancel := context.WithCancel(s.t.Context())
	last, err := s.host.Session(id).AdmitWith(ctx, host.BusyQueue)
	require.NoError(s.t, err)
	cancel()
	last.Run(host.Prompt{})
}

// shows returns what a session shows people, in short.
func (s *shared) shows(id string) string {
	snapshot, _, err := s.host.Session(id).Snapshot(s.t.Context())
	require.NoError(s.t, err)
	var said []string
	for e := range snapshot.Of(view.Message) {
		said = append(said, e.Content[0].Text)
	}
	return strings.Join(said, "|")
}

// An editor begins a session. A browser goes on with it: it sees the editor's turns, its own are made with the editor's unsaved text, and the
// editor is shown them with its next prompt. When the editor leaves, the session stays open at this machine.
func TestBrowserJoinsTheSessionOfAnEditor(t *testing.T) {
	s := share(t, modeltest.Func(reads))
	editor := acptest.New(acptest.Options{Files: map[string]string{filepath.Join(s.dir, "a.txt"): "unsaved"}})
	ctx := t.Context()
	conn := s.edit(editor)
	id, err := conn.Start(ctx, s.dir)
	require.NoError(t, err)
	stop, err := conn.Say(ctx, id, "one")
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Equal(t, "editor", <-s.places)
	require.Equal(t, "one|It says unsaved", s.shows(string(id)), "the browser sees the editor's turn")

	s.ask(string(id), "two")
	require.Equal(t, "one|It says unsaved|two|It says unsaved", s.shows(string(id)), "the browser's turn is made where the session is")
	require.Equal(t, "It says unsaved", editor.State().Text, "the protocol has no updates of turns that the client has not begun")
	_, err = conn.Say(ctx, id, "three")
	require.NoError(t, err)
	require.Equal(t, "two", editor.State().User, "the editor is shown what others have said, and not its own words")
	require.Equal(t, strings.Repeat("It says unsaved", 3), editor.State().Text)
	require.Len(t, editor.State().ToolCalls, 3)

	open := s.host.Session(string(id))
	_, err = conn.CloseSession(ctx, &acp.CloseSessionRequest{SessionID: id})
	require.NoError(t, err)
	require.Same(t, open, s.host.Session(string(id)), "the browser still has the session")
	require.Equal(t, host.Local, open.Place())
	s.ask(string(id), "four")
	require.Equal(t, "local", <-s.places)
	require.True(t, strings.HasSuffix(s.shows(string(id)), "four|It says saved"), s.shows(string(id)))
	require.Empty(t, editor.Violations())
}

// A browser begins a session. An editor that loads it joins it where it is: on this machine.
func TestEditorJoinsTheSessionOfABrowser(t *testing.T) {
	s := share(t, modeltest.Func(reads))
	made := s.browse("POST", "sessions", `{"dir":"`+s.dir+`"}`)
	id := made["id"].(string)
	s.ask(id, "one")
	require.Equal(t, "local", <-s.places)

	editor := acptest.New(acptest.Options{Files: map[string]string{filepath.Join(s.dir, "a.txt"): "unsaved"}})
	conn := s.edit(editor)
	_, err := conn.Start(t.Context(), s.dir)
	require.NoError(t, err)
	require.Equal(t, "editor", <-s.places)
	_, err = conn.LoadSession(t.Context(), &acp.LoadSessionRequest{SessionID: acp.SessionID(id), Cwd: s.dir, MCPServers: []acp.MCPServer{}})
	require.NoError(t, err)
	require.Equal(t, "It says saved", editor.State().Text)
	require.Equal(t, "one", editor.State().User)
	_, err = conn.Say(t.Context(), acp.SessionID(id), "two")
	require.NoError(t, err)
	require.Equal(t, "one|It says saved|two|It says saved", s.shows(id), "others join a session at its place")
	_, err = conn.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: acp.SessionID(id)})
	require.NoError(t, err)
	require.NotNil(t, s.host.Session(id), "the browser still has it")
	require.Empty(t, editor.Violations())
}

// An editor loads a session while a turn of a browser is running. It is shown what there is, and the rest of the same message with its next
// prompt.
// The files of the session are in the directory that the browser has it open in, so an editor cannot show them as those of another one.
func TestEditorIsRefusedASessionThatIsOpenInAnotherDirectory(t *testing.T) {
	s := share(t, modeltest.Func(reads))
	id := s.browse("POST", "sessions", `{"dir":"`+s.dir+`"}`)["id"].(string)
	s.ask(id, "Read it.")
	editor := acptest.New(acptest.Options{OnDisk: true})
	conn := s.edit(editor)
	_, err := conn.Start(t.Context(), s.dir)
	require.NoError(t, err)
	load := func(dir string) error {
		_, err := conn.LoadSession(t.Context(), &acp.LoadSessionRequest{SessionID: acp.SessionID(id), Cwd: dir, MCPServers: []acp.MCPServer{}})
		return err
	}
	require.ErrorContains(t, load(t.TempDir()), "open elsewhere, in "+s.dir)
	require.Empty(t, editor.Updates(acp.SessionID(id)), "nothing of it is shown")
	s.ask(id, "Read it again.")
	require.NoError(t, load(s.dir), "it can be joined where it is")
	require.NotEmpty(t, editor.Updates(acp.SessionID(id)))
}

func TestEditorLoadsASessionInTheMiddleOfATurn(t *testing.T) {
	half, goOn := make(chan struct{}, 10), make(chan struct{})
	s := share(t, model.Func(model.Info{}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if err := sink(model.Delta{Kind: model.PartText, Text: "Half "}); err != nil {
			return nil, err
		}
		half <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := sink(model.Delta{Kind: model.PartText, Text: "and half."}); err != nil {
			return nil, err
		}
		return model.Response(model.Text("Half and half.")), nil
	}))
	id := s.browse("POST", "sessions", `{"dir":"`+s.dir+`"}`)["id"].(string)
	s.begin(id, "one")
	<-half
	editor := acptest.New(acptest.Options{})
	conn := s.edit(editor)
	_, err := conn.Start(t.Context(), s.dir)
	require.NoError(t, err)
	_, err = conn.LoadSession(t.Context(), &acp.LoadSessionRequest{SessionID: acp.SessionID(id), Cwd: s.dir, MCPServers: []acp.MCPServer{}})
	require.NoError(t, err)
	require.Equal(t, "Half ", editor.State().Text)
	close(goOn)
	s.wait(id)
	_, err = conn.Say(t.Context(), acp.SessionID(id), "two")
	require.NoError(t, err)
	require.Equal(t, "Half and half.Half and half.", editor.State().Text)
	require.Equal(t, "one", editor.State().User)
	require.Empty(t, editor.Violations())
}

// An editor leaves in the middle of a turn of a browser. The turn goes on, and the next one works on this machine.
func TestEditorLeavesInTheMiddleOfATurn(t *testing.T) {
	called, goOn := make(chan struct{}, 10), make(chan struct{})
	s := share(t, modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		for _, p := range req.Messages[len(req.Messages)-1].Parts {
			if p.Text == "wait" {
				called <- struct{}{}
				<-goOn
				return model.Response(model.Text("waited")), nil
			}
		}
		return reads(ctx, req)
	}))
	editor := acptest.New(acptest.Options{Files: map[string]string{filepath.Join(s.dir, "a.txt"): "unsaved"}})
	conn := s.edit(editor)
	id, err := conn.Start(t.Context(), s.dir)
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "one")
	require.NoError(t, err)
	s.begin(string(id), "wait")
	<-called
	_, err = conn.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: id})
	require.NoError(t, err)
	close(goOn)
	s.wait(string(id))
	require.Equal(t, "one|It says unsaved|wait|waited", s.shows(string(id)))
	s.ask(string(id), "two")
	require.Equal(t, host.Local, s.host.Session(string(id)).Place())
	require.True(t, strings.HasSuffix(s.shows(string(id)), "two|It says saved"), s.shows(string(id)))
}

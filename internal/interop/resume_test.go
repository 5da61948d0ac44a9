// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// What is done before the agent is killed, and what it is in the middle of then. It waits in a response, behind a step that has ended.
const (
	wholeTurn = `read greeting.txt, then replace grey with blue in colour.txt, then run "echo out && echo more"`
	cutTurn   = `run "echo again", then wait 60 seconds`
)

// resumable is a directory with files, and one for sessions that outlive an agent.
type resumable struct{ dir, store string }

func newResumable(t *testing.T) resumable {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"greeting.txt": "hello from disk\n", "colour.txt": "the sky is grey\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return resumable{dir, filepath.Join(t.TempDir(), "sessions")}
}

func (r resumable) command() []string { return ideagent("-store", r.store) }

// kill kills the agent, and not what stands between it and its client, with kill -9.
func (r resumable) kill(t *testing.T) {
	t.Helper()
	killed := 0
	for pid, args := range processes(t, r.store) {
		if _, args, _ := strings.Cut(args, " "); strings.HasPrefix(strings.TrimSpace(args), binary+" ") {
			killed++
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	if killed != 1 {
		t.Fatalf("%d agents were killed, want 1", killed)
	}
}

// mustBeEqual compares what a client showed when the agent was killed with what it shows after the session was loaded again. The message that
// was being written has no more than what was shown, and nothing runs on.
func mustBeEqual(t *testing.T, before, after []string) {
	t.Helper()
	whole := before[:len(before)-1]
	if !strings.Contains(before[len(before)-1], "Waiting") || len(whole) < 7 {
		t.Fatalf("the agent was killed at another place than was meant:\n%s", strings.Join(before, "\n"))
	}
	if len(after) < len(whole) || !slices.Equal(whole, after[:len(whole)]) {
		t.Fatalf("before kill -9:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	var shown view.Entity
	if err := json.Unmarshal([]byte(before[len(before)-1]), &shown); err != nil {
		t.Fatal(err)
	}
	for _, line := range after[len(whole):] {
		var e view.Entity
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		// The kill may also lose what was on its way to the client, but was stored.
		said, kept := strings.TrimSpace(shown.Text()), strings.TrimSpace(e.Text())
		if e.Kind != view.Message || e.Role != view.Assistant || !strings.HasPrefix(said, kept) && !strings.HasPrefix(kept, said) {
			t.Errorf("was not shown before: %s", line)
		}
	}
	if text := strings.Join(after, "\n"); strings.Contains(text, `"in_progress"`) || strings.Contains(text, `"pending"`) {
		t.Errorf("something runs on:\n%s", text)
	}
}

// foldUpdates folds the updates of a session, with what the user has said. Updates of turns come behind the prompts; those of a replay have
// them.
func foldUpdates(t *testing.T, wire []json.RawMessage, terminals func(string) string) []string {
	t.Helper()
	var f acpclient.Fold
	for _, raw := range wire {
		var prompt struct {
			Prompt []acp.ContentBlock `json:"prompt"`
		}
		var n acp.SessionNotification
		if err := json.Unmarshal(raw, &prompt); err == nil && prompt.Prompt != nil {
			f.Prompt(prompt.Prompt...)
			continue
		}
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		if err := f.Apply(&n.Update); err != nil {
			t.Errorf("%v: %s", err, raw)
		}
	}
	return foldedSession(f.View().Snapshot(), terminals)
}

// wireOf returns the prompts and updates of a transcript, in order, and what its terminals had written when the agent looked last.
func wireOf(t *testing.T, file string) (wire []json.RawMessage, terminals func(string) string, methods []string) {
	t.Helper()
	looks, outputs := map[string]string{}, map[string]string{}
	for _, line := range readTranscript(t, file) {
		var m wireMessage
		if json.Unmarshal(line.raw, &m) != nil {
			continue // cut off by the kill
		}
		if m.Method != "" && !line.byAgent {
			methods = append(methods, m.Method)
		}
		switch {
		case m.Method == "session/prompt", m.Method == "session/update":
			wire = append(wire, m.Params)
		case m.Method == "terminal/output":
			looks[string(m.ID)] = terminalOf(m.Params)
		case m.isAnswer() && !line.byAgent && looks[string(m.ID)] != "":
			var look struct {
				Output string `json:"output"`
			}
			_ = json.Unmarshal(m.Result, &look)
			outputs[looks[string(m.ID)]] = look.Output
		}
	}
	return wire, func(id string) string { return strings.TrimRight(outputs[id], "\n") }, methods
}

// Every client finds a session as it was when the agent has been killed in the middle of a turn.
func TestClientsResumeKilledSessions(t *testing.T) {
	t.Run("acpclient", func(t *testing.T) { t.Parallel(); acpclientResumes(t) })
	t.Run("TypeScript SDK", func(t *testing.T) { t.Parallel(); sdkResumes(t, typeScript) })
	t.Run("Python SDK", func(t *testing.T) { deepTier(t); t.Parallel(); sdkResumes(t, pythonSDK) })
	t.Run("acpx", func(t *testing.T) { deepTier(t); t.Parallel(); acpxResumes(t) })
}

func acpclientResumes(t *testing.T) {
	r := newResumable(t)
	files, err := local.Open(local.Config{Roots: []string{r.dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	first := startKillable(t, r.store, files, nil)
	s, err := first.NewSession(t.Context(), acpclient.SessionConfig{Cwd: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Say(t.Context(), wholeTurn); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.Say(t.Context(), cutTurn) // the agent is killed
	}()
	for updates := s.Cursor(nil); ; {
		if _, err := updates.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last := s.Snapshot().Last(view.Message); last != nil && strings.Contains(last.Text(), "Waiting") {
			break
		}
	}
	r.kill(t)
	<-ended
	before := foldedSession(s.Snapshot(), terminalText(s.Snapshot()))
	second := startKillable(t, r.store, files, nil)
	loaded, err := second.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	mustBeEqual(t, before, foldedSession(loaded.Snapshot(), terminalText(loaded.Snapshot())))
	turn, err := loaded.Say(t.Context(), "read colour.txt")
	if err != nil || !strings.Contains(turn.Text(), "the sky is blue") {
		t.Errorf("the turn afterwards: %v, %+v", err, turn)
	}
}

func sdkResumes(t *testing.T, dial connect) {
	r := newResumable(t)
	first, file := startEditor(t, r.command(), dial, r.dir, answer(allowOnce))
	first.initialize(everything)
	s := first.newSession()
	s.prompt(wholeTurn).mustEnd("end_turn")
	wait := s.start(cutTurn)
	first.await("the agent is at work", func() bool { return first.said(s.id, "Waiting") })
	r.kill(t)
	if cut := wait(); cut.err == nil {
		t.Error("the SDK does not tell that the agent is gone")
	}
	_, _ = first.peer.close() // with the agent's exit code
	_, terminals, _ := wireOf(t, file)
	prompts := []string{wholeTurn, cutTurn}
	var seen []json.RawMessage
	first.mu.Lock()
	said := slices.Clone(first.raw)
	first.mu.Unlock()
	for _, raw := range said { // as the SDK has passed them on, behind the prompts
		var n updateNotification
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
		if begins := n.Update.Kind == "agent_thought_chunk" && strings.Contains(n.Update.text(), "Offline"); begins && len(prompts) > 0 {
			seen = append(seen, mustMarshal(object{"prompt": []object{{"type": "text", "text": prompts[0]}}}))
			prompts = prompts[1:]
		}
		seen = append(seen, raw)
	}
	before := foldUpdates(t, seen, terminals)

	for _, method := range []string{"session/load", "session/resume"} {
		second := openEditorOf(t, r.command(), dial, everything, answer(allowOnce))
		second.dir = r.dir
		second.call(method, object{"sessionId": s.id, "cwd": r.dir, "mcpServers": []any{}}, new(object))
		updates, raw := second.replayed()
		if method == "session/load" {
			mustBeEqual(t, before, foldUpdates(t, raw, terminals))
		} else if slices.ContainsFunc(updates, func(u updateNotification) bool { return strings.HasSuffix(u.Update.Kind, "_chunk") }) {
			t.Error("session/resume replays the conversation")
		}
		again := conversation{second, s.id}
		turn := again.prompt("read colour.txt")
		turn.mustEnd("end_turn")
		turn.mustSay("the sky is blue")
		second.call("session/close", object{"sessionId": s.id}, new(object))
	}
}

// acpx keeps what it was told. It goes on with the same session by session/resume, which replays nothing, so what the session shows
// afterwards is loaded by another client.
func acpxResumes(t *testing.T) {
	r := newResumable(t)
	a := newACPXFor(t, r.command(), r.dir)
	a.run(acpxOK, "sessions", "new")
	wantText(t, a.run(acpxOK, "--ttl", "60", "--approve-all", wholeTurn), "[done] end_turn")
	busy := a.start("--ttl", "60", "--approve-all", cutTurn)
	busy.awaitOutput("Waiting")
	r.kill(t)
	<-busy.ended
	wire, terminals, _ := wireOf(t, a.transcript)
	before := foldUpdates(t, wire, terminals)
	id := sessionOf(wire[0])

	wantText(t, a.run(acpxOK, "--ttl", "60", "--approve-all", "read colour.txt"), "the sky is blue", "[done] end_turn")
	_, _, methods := wireOf(t, a.transcript)
	if !slices.Contains(methods, "session/resume") && !slices.Contains(methods, "session/load") || slices.Contains(methods, "session/new") {
		t.Errorf("acpx went on with %v", methods)
	}
	a.run(acpxOK, "sessions", "close")

	loaded := openEditorOf(t, r.command(), typeScript, everything, nobody(t))
	loaded.call("session/load", object{"sessionId": id, "cwd": r.dir, "mcpServers": []any{}}, new(object))
	_, raw := loaded.replayed()
	after := foldUpdates(t, raw, terminals)
	end := slices.IndexFunc(after, func(line string) bool { return strings.Contains(line, `"read colour.txt"`) })
	if end < 0 {
		t.Fatalf("the last prompt is missing:\n%s", strings.Join(after, "\n"))
	}
	mustBeEqual(t, before, after[:end])
}

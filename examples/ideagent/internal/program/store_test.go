// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/offline"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// agentProcess is the program as a process of an editor.
type agentProcess struct {
	*acpclient.Client
	cmd    *exec.Cmd
	stderr *paper
}

func startAgent(t *testing.T, work string, args ...string) *agentProcess {
	t.Helper()
	return startAgentWith(t, work, nil, acpclient.AllowAll, append([]string{"-model", "offline"}, args...)...)
}

func startAgentWith(t *testing.T, work string, env []string, permission acpclient.PermissionFunc, args ...string) *agentProcess {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p := &agentProcess{cmd: cmd, stderr: &paper{}}
	cmd.Stderr = p.stderr
	require.NoError(t, cmd.Start())
	files, err := local.Open(local.Config{Roots: []string{work}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	p.Client, err = acpclient.Connect(t.Context(), out, in, acpclient.Config{Workspace: files, Permission: permission})
	require.NoError(t, err, p.stderr.String())
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as the system would, and waits for its end.
func (p *agentProcess) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.Close()
		_ = p.cmd.Wait()
	}
}

// shown returns what a session shows of the conversation.
func shown(s *view.Snapshot) (all []view.Entity) {
	for e := range s.All() {
		if e.Kind == view.Message || e.Kind == view.ToolCall || e.Kind == view.Plan {
			all = append(all, *e)
		}
	}
	return all
}

func workDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func TestInitializeLeavesTheStoreAlone(t *testing.T) {
	at := filepath.Join(t.TempDir(), "state", "sessions")
	work := workDir(t)
	p := startAgent(t, work, "-store", at)
	require.NotNil(t, p.Agent().AgentCapabilities.SessionCapabilities)
	require.NoDirExists(t, filepath.Dir(at))
	_, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(at, "sessions.db"))
}

func TestKilledAgentKeepsTheSession(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	first := startAgent(t, work, "-store", at)
	s, err := first.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	turn, err := s.Say(t.Context(), `create a.txt with "one"`)
	require.NoError(t, err)
	require.EqualValues(t, "end_turn", turn.StopReason)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Say(t.Context(), "replace one with two in a.txt, then wait 60 seconds, then read a.txt")
		ended <- err
	}()
	// The turn waits in a response, after the step that changed the file.
	updates := s.Cursor(nil)
	var before []view.Entity
	for {
		before = shown(s.Snapshot())
		if last := before[len(before)-1]; last.Kind == view.Message && strings.Contains(last.Text(), "Waiting") {
			break
		}
		_, err := updates.Update(t.Context())
		require.NoError(t, err)
	}
	first.kill()
	require.Error(t, <-ended)
	recorded := before[:len(before)-1]
	changes := 0
	for _, e := range recorded {
		if e.Kind == view.ToolCall && e.Class == "edit" && e.Status == view.Completed {
			changes++
		}
	}
	require.Equal(t, 2, changes, "both files were changed in steps that are recorded")

	second := startAgent(t, work, "-store", at)
	var listed []acp.SessionInfo
	for info, err := range second.Sessions(t.Context(), work) {
		require.NoError(t, err)
		listed = append(listed, info)
	}
	require.Len(t, listed, 1)
	require.Equal(t, `create a.txt with "one"`, *listed[0].Title)
	loaded, err := second.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	after := shown(loaded.Snapshot())
	require.GreaterOrEqual(t, len(after), len(recorded))
	require.Equal(t, recorded, after[:len(recorded)])
	turn, err = loaded.Say(t.Context(), "read a.txt")
	require.NoError(t, err)
	require.Contains(t, turn.Text(), "two")

	require.NoError(t, loaded.Close(t.Context()))
	require.NoError(t, second.DeleteSession(t.Context(), s.ID()))
	for info, err := range second.Sessions(t.Context(), "") {
		require.NoError(t, err)
		require.Fail(t, "the session is still there", "%v", info)
	}
}

func TestNoStoreKeepsNothing(t *testing.T) {
	state, work := t.TempDir(), workDir(t)
	t.Setenv("XDG_STATE_HOME", state)
	p := startAgent(t, work, "-no-store")
	require.False(t, p.Agent().AgentCapabilities.LoadSession)
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	_, err = s.Say(t.Context(), "help")
	require.NoError(t, err)
	left, err := os.ReadDir(state)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDefaultStoreIsInTheStateDirectory(t *testing.T) {
	state, work := t.TempDir(), workDir(t)
	t.Setenv("XDG_STATE_HOME", state)
	p := startAgent(t, work)
	_, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(state, "ideagent", "sessions", "sessions.db"))
}

func TestBrokenStoreLeavesTheAgentWorking(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	work := workDir(t)
	p := startAgent(t, work, "-store", filepath.Join(file, "sessions"))
	for _, err := range p.Sessions(t.Context(), "") {
		require.ErrorContains(t, err, filepath.Join(file, "sessions"))
	}
	_, err := p.LoadSession(t.Context(), "s1", acpclient.SessionConfig{Cwd: work})
	require.ErrorContains(t, err, file)
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	turn, err := s.Say(t.Context(), `create a.txt with "one"`)
	require.NoError(t, err)
	require.Contains(t, turn.Text(), "Wrote `a.txt`")
	require.Contains(t, p.stderr.String(), "ideagent: this session is kept in memory and ends with the connection: session: open: ")
	stdout, stderr, code := ideagent(t, "chat", "-model", "offline", "-store", filepath.Join(file, "sessions"), "-dir", work, "say one")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout+stderr, "this session is kept in memory and ends with the connection: session: open: ", "the person is told")
}

func TestSessionsAreSharedByAgents(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	first := startAgent(t, work, "-store", at)
	s, err := first.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	_, err = s.Say(t.Context(), "help")
	require.NoError(t, err)
	second := startAgent(t, work, "-store", at)
	other, err := second.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	for _, side := range []*acpclient.Session{other, s, other} {
		turn, err := side.Say(t.Context(), "help")
		require.NoError(t, err)
		require.NotEmpty(t, turn.Text())
	}
}

func TestSlashUndoTakesFilesBack(t *testing.T) {
	e := openIDE(t, map[string]string{"a.txt": "one\n"}, nil)
	e.say("replace one with two in a.txt")
	require.Equal(t, "two\n", e.file("a.txt"))
	said, _ := e.say("/undo")
	require.Contains(t, said, "a.txt")
	require.Equal(t, "one\n", e.file("a.txt"))
	require.Empty(t, e.Violations())
}

func TestModesOfAnIDE(t *testing.T) {
	dir := workDir(t)
	path := filepath.Join(dir, "a.txt")
	client := acptest.New(acptest.Options{Files: map[string]string{path: "one\n"}, OnDisk: true})
	t.Cleanup(client.Close)
	conn := acptest.Connect(t, client, serve(offline.New(offline.Config{}), nil))
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	say := func(text string) {
		t.Helper()
		_, err := conn.Say(t.Context(), id, text)
		require.NoError(t, err)
	}
	say("/mode code")
	say("replace one with two in a.txt")
	text, _ := client.File(path)
	require.Equal(t, "two\n", text)
	require.Empty(t, client.Permissions(), "mode code does not ask about changes of files")
	say("/mode plan")
	say("replace two with three in a.txt")
	text, _ = client.File(path)
	require.Equal(t, "two\n", text, "mode plan changes nothing")
	require.Contains(t, client.State().Text, "I was not given the tool")
}

// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// TestKitsArePrintedByTheirName prints a kit, whose configuration has secrets.
func TestKitsArePrintedByTheirName(t *testing.T) {
	k, _ := kit(t, `{"mcpServers": {"a": {"command": "x", "env": {"KEY": "planted"}}}}`)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		require.Equal(t, "coding.Kit", fmt.Sprintf(verb, *k))
	}
}

// TestLanguageServersOfTheUser has a machine without any, one with a program, and mistakes in the configuration.
func TestLanguageServersOfTheUser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names there")
	}
	home(t)
	t.Setenv("PATH", t.TempDir())
	k, e := kit(t, `{}`)
	require.Nil(t, k.Code())
	require.NoError(t, e.Problem())
	program := write(t, filepath.Join(os.Getenv("PATH"), "zls"), "#!/bin/sh\n")
	require.NoError(t, os.Chmod(program, 0o700))
	const own = `{"languageServers": {"own": {"command": ["zls"], "files": {".own": "own"}}}}`
	k, e = kit(t, own)
	require.NoError(t, e.Problem())
	require.Equal(t, []string{"own"}, k.Code().Installed())
	require.NoError(t, k.Code().Close())
	user, err := config.ParseUser("f", []byte(own))
	require.NoError(t, err)
	require.Equal(t, app.Check{Name: "language servers", Found: "own"}, languages(&app.Env{Name: "ideagent", Config: user}))

	k, e = kit(t, `{"languageServers": {"own": {"comand": ["zls"]}}}`)
	require.Nil(t, k.Code())
	require.ErrorContains(t, e.Problem(), `f:1:21: languageServers: server "own": unknown`)
	_, ok := errors.AsType[*config.Problem](e.Problem())
	require.True(t, ok)
}

// TestDoctorChecksInOrder has the names of all checks, and what is not checked because the configuration is wrong.
func TestDoctorChecksInOrder(t *testing.T) {
	home(t)
	t.Setenv("PATH", t.TempDir())
	names := func(text string) (all []string) {
		user, err := config.ParseUser("f", []byte(text))
		require.NoError(t, err)
		for _, c := range Checks(t.Context(), &app.Env{Name: "ideagent", Config: user, Logger: slog.New(slog.DiscardHandler)}) {
			all = append(all, c.Name)
		}
		return all
	}
	require.Equal(t, []string{"commands", "language servers"}, names(`{"sandbox": false}`))
	require.Equal(t, []string{"commands", "MCP server a", "MCP server b", "language servers"}, names(`{"sandbox": false, "mcpServers": {"b": {"command": "none"}, "a": {"command": "none", "disabled": true}}}`))
	require.Equal(t, []string{"commands", "language servers"}, names(`{"sandbox": false, "mcpServers": {"a": {"command": "x", "args": ["${NOWHERE}"]}}}`), "that is a problem of the configuration")
	user, err := config.ParseUser("f", []byte(`{"sandbox": true}`))
	require.NoError(t, err)
	c := commands(&app.Env{Name: "ideagent", Config: user})
	require.Equal(t, "run in a sandbox", c.Found)
	require.Equal(t, `install bubblewrap, or remove "sandbox" from the configuration`, c.Mend)
	if runtime.GOOS == "linux" {
		require.Error(t, c.Err, "there is no program for it")
	}
}

// TestServersThatCannotBeChecked has an invalid one, and one that does not answer before the person gives up.
func TestServersThatCannotBeChecked(t *testing.T) {
	e := &app.Env{Name: "ideagent", Logger: slog.New(slog.DiscardHandler)}
	c := checkServer(t.Context(), e, mcptoolset.ServerConfig{Name: "a"}, time.Second)
	require.Equal(t, "MCP server a", c.Name)
	require.Error(t, c.Err)
	require.Equal(t, "correct mcpServers in the configuration", c.Mend)
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	ctx, cancel := context.WithCancelCause(t.Context())
	tired := errors.New("tired")
	cancel(tired)
	c = checkServer(ctx, e, mcptoolset.ServerConfig{Name: "silent", Transport: mcptoolset.HTTP{URL: "http://" + l.Addr().String()}}, time.Minute)
	require.ErrorIs(t, c.Err, tired)
	require.Equal(t, "it does not answer: start it again, or remove it from mcpServers", c.Mend)
}

// TestProblemsOfChangesAreToldOnce has a place for changes that breaks after a while: they are kept in memory from then on, and the
// person is told once.
func TestProblemsOfChangesAreToldOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be taken away there")
	}
	files, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	dir := t.TempDir()
	var told []string
	u := &undo{program: "ideagent", tell: func(err error) { told = append(told, err.Error()) }, dir: func(id string) string { return filepath.Join(dir, id) }}
	s := new(host.Session)
	r := u.open(s, "s", files)
	require.Empty(t, u.memory)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "s")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s"), nil, 0o600))
	for _, name := range []string{"a", "b"} {
		_, err := r.Write(t.Context(), "/repo/"+name, []byte("x"), workspace.AnyVersion)
		require.NoError(t, err)
	}
	require.Len(t, told, 1)
	require.Len(t, u.memory, 1)
	require.Len(t, u.open(s, "s", files).Log().Changes, 2, "the session wakes")
}

// TestSessionsWithoutTheirFilesDoNotBegin has a project whose configuration is wrong, and a directory that is not there.
func TestSessionsWithoutTheirFilesDoNotBegin(t *testing.T) {
	home(t)
	k, _ := kit(t, `{"sandbox": false}`)
	h, err := host.New(host.Config[Deps, string]{
		Agent: agent.Must(agent.New(agent.Config[Deps, string]{Model: modeltest.Script()})),
		Deps:  func(ctx context.Context, s *host.Session) (Deps, error) { return k.Deps(ctx, s, host.Local) },
	})
	require.NoError(t, err)
	work := t.TempDir()
	s, err := h.Create(t.Context(), session.New{Dir: work}, host.Local)
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	_, err = h.Create(t.Context(), session.New{Dir: filepath.Join(work, "none")}, host.Local)
	require.ErrorIs(t, err, os.ErrNotExist)
	write(t, filepath.Join(work, ".agents", "ideagent.json"), `{"nonsense": 1}`)
	_, err = h.Create(t.Context(), session.New{Dir: work}, host.Local)
	require.ErrorContains(t, err, filepath.Join(".agents", "ideagent.json"))
	require.NoError(t, h.Close(t.Context()))
}

// The prompts of a project are commands of its sessions.
func TestPromptsOfAProjectAreCommandsOfItsSessions(t *testing.T) {
	home(t)
	k, _ := kit(t, `{"sandbox": false}`)
	c := host.Config[Deps, string]{
		Agent: agent.Must(agent.New(agent.Config[Deps, string]{Model: modeltest.Script()})),
		Deps:  func(ctx context.Context, s *host.Session) (Deps, error) { return k.Deps(ctx, s, host.Local) },
	}
	commands := host.Config[Deps, string]{}
	Configure(k, &commands)
	h, err := host.New(c)
	require.NoError(t, err)
	for name, want := range map[string][]string{"ship": {"ship"}, "": nil} {
		work := t.TempDir()
		if name != "" {
			write(t, filepath.Join(work, ".agents", "prompts", name+".md"), "Ship it.")
		}
		s, err := h.Create(t.Context(), session.New{Dir: work}, host.Local)
		require.NoError(t, err)
		require.Equal(t, want, namesOf(commands.SessionCommands(s)))
	}
	require.NoError(t, h.Close(t.Context()))
}

// withKit returns a host whose sessions are on this machine, as those of a browser.
func withKit(t *testing.T, k *Kit, idle time.Duration) *host.Host {
	h, err := host.New(host.Config[Deps, string]{
		Agent: agent.Must(agent.New(agent.Config[Deps, string]{Model: modeltest.Auto()})),
		Deps:  func(ctx context.Context, s *host.Session) (Deps, error) { return k.Deps(ctx, s, host.Local) },
		Store: new(session.Memory), Layers: func(d Deps) []approval.Layer { return d.layers }, Idle: idle,
	})
	require.NoError(t, err)
	return h
}

// The rules of a project and what can be undone are the same when a session without an editor wakes.
func TestSessionsWakeAsTheyWere(t *testing.T) {
	home(t)
	work := t.TempDir()
	rules := filepath.Join(work, ".agents", "ideagent.json")
	write(t, rules, `{"permissions": {"rules": [{"decision": "deny", "read": "a.txt"}]}}`)
	write(t, filepath.Join(work, "a.txt"), "hidden")
	synctest.Test(t, func(t *testing.T) {
		k, _ := kit(t, `{"sandbox": false}`)
		h := withKit(t, k, time.Minute)
		s, err := h.Create(t.Context(), session.New{Dir: work}, host.Local)
		require.NoError(t, err)
		awake := func() Deps {
			out, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("Go on.")}})
			require.NoError(t, err)
			require.NoError(t, out.Err)
			d := s.Deps().(Deps)
			require.ErrorContains(t, d.Workspace.CheckRead(t.Context(), "a.txt"), "is not permitted")
			return d
		}
		_, err = awake().Changes.Write(t.Context(), filepath.Join(work, "b.txt"), []byte("x"), workspace.AnyVersion)
		require.NoError(t, err)
		require.NoError(t, os.Remove(rules))
		for range 2 {
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Nil(t, s.Deps(), "the session sleeps")
			require.Len(t, awake().Changes.Log().Changes, 1)
		}
		require.NoError(t, h.Close(t.Context()))
	})
}

// A rule about reading that is taken back counts no more, in open sessions and in new ones.
func TestRulesAboutReadingAreTakenBack(t *testing.T) {
	home(t)
	work := t.TempDir()
	u := user(t, `{"sandbox": false, "permissions": {"rules": [
		{"decision": "deny", "read": "a.txt"}, {"decision": "ask", "read": "b.txt"}, {"decision": "deny", "read": "c.txt"}]}}`)
	k := New(&app.Env{Name: "ideagent", Config: u})
	h := withKit(t, k, time.Hour)
	create := func() (*host.Session, func() []string) {
		s, err := h.Create(t.Context(), session.New{Dir: work}, host.Local)
		require.NoError(t, err)
		d := s.Deps().(Deps)
		_, reads, err := k.rules.of(s, d.Session)
		require.NoError(t, err)
		box := hiding(&local.Sandbox{}, reads)
		return s, func() (all []string) {
			for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
				if d.Workspace.CheckRead(t.Context(), name) == nil {
					require.False(t, box.Unreadable(filepath.Join(work, name)), name)
					all = append(all, name)
				}
			}
			return all
		}
	}
	s, readable := create()
	require.Empty(t, readable())
	for n, want := range [][]string{{"a.txt"}, {"a.txt", "b.txt"}} {
		all, err := s.Permissions()
		require.NoError(t, err)
		require.Len(t, all, 3-n)
		require.NoError(t, s.DropPermission(t.Context(), all[0].ID))
		require.Equal(t, want, readable())
		_, other := create()
		require.Equal(t, want, other())
	}
	require.NoError(t, h.Close(t.Context()))
}

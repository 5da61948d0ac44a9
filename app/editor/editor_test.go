// SPDX-License-Identifier: Apache-2.0

package editor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel" // a provider that needs a key
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/editor"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// ran runs a command of a program, with input, and returns its exit code and what it says.
func ran[D any](t *testing.T, c app.Config[D, string], env map[string]string, input string, args ...string) (code int, out, said string) {
	t.Helper()
	var o, e bytes.Buffer
	c.Name, c.Title, c.Version = "desk", "Desk", "1.2.3"
	code = app.Run(t.Context(), c, app.Process{
		Args: args, In: strings.NewReader(input), Out: &o, Err: &e,
		Getenv: func(name string) string { return env[name] },
	})
	return code, o.String(), e.String()
}

// silent is an agent without a word.
func silent[D any]() *agent.Agent[D, string] {
	return agent.Must(agent.New(agent.Config[D, string]{Model: modeltest.Script()}))
}

// within runs a function with the environment of a program that has the command "acp".
func within[D any](t *testing.T, c app.Config[D, string], f func(ctx context.Context, e *app.Env), args ...string) {
	t.Helper()
	called := false
	c.Surfaces = []app.Surface{editor.New(editor.Options{})}
	c.Commands = []func(*app.Env) *cobra.Command{func(e *app.Env) *cobra.Command {
		return &cobra.Command{Use: "own", RunE: func(cmd *cobra.Command, _ []string) error {
			called = true
			f(cmd.Context(), e)
			return nil
		}}
	}}
	code, _, said := ran(t, c, nil, "", append([]string{"own", "-no-store"}, args...)...)
	require.Equal(t, 0, code, said)
	require.True(t, called)
}

// TestArgumentsThatTheCommandDoesNotHave has words behind "acp". They are no prompt, and their secrets are not repeated.
func TestArgumentsThatTheCommandDoesNotHave(t *testing.T) {
	c := app.Config[any, string]{Agent: silent[any](), Surfaces: []app.Surface{editor.New(editor.Options{})}}
	for arg, want := range map[string]string{
		"hello":                 `desk: unknown argument "hello"; to ask for something, use: desk chat "hello"`,
		"postgres://ada:pw@h/d": `desk: unknown argument "postgres://…"; to ask for something, use: desk chat "postgres://…"`,
	} {
		code, out, said := ran(t, c, nil, "", "acp", arg)
		require.Equal(t, 2, code)
		require.Empty(t, out)
		require.Contains(t, said, want)
		require.NotContains(t, said, "pw@")
	}
	code, _, said := ran(t, c, nil, "", "acp", "login", "more")
	require.Equal(t, 2, code, "one word is a command that an editor has put there")
	require.Contains(t, said, `unknown argument "login"`)
}

// TestLoginBehindTheCommand has an editor put "login" and "logout" behind the arguments of the program.
func TestLoginBehindTheCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	env := map[string]string{"DESK_KEYS": file}
	c := app.Config[any, string]{Agent: silent[any](), Surfaces: []app.Surface{editor.New(editor.Options{})}}
	code, out, said := ran(t, c, env, "sk-planted\n", "acp", "login")
	require.Equal(t, 0, code, said)
	require.Contains(t, out, "The key is kept in ")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(kept), "sk-planted")
	code, out, said = ran(t, c, env, "", "acp", "logout")
	require.Equal(t, 0, code, said)
	require.Equal(t, "The key is removed.\n", out)
}

// TestWhereCommandsRun has each setting of the sandbox.
func TestWhereCommandsRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("LocalAppData", dir)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	cache = filepath.Join(cache, "desk", "sandbox")
	for _, c := range []struct {
		sandbox *bool
		want    *local.Sandbox
	}{
		{nil, &local.Sandbox{MayLeave: true, Optional: true, Cache: cache}},
		{new(true), &local.Sandbox{MayLeave: true, Cache: cache}},
		{new(false), nil},
	} {
		e := &app.Env{Name: "desk", Config: &config.User{Sandbox: c.sandbox, Env: []string{"A", "B"}}}
		require.Equal(t, local.Config{PassEnv: []string{"A", "B"}, Sandbox: c.want}, editor.Local(e))
	}
}

// TestProgramsWithoutFilesForTheirTools has an agent whose tools need an editor's files, in a program that makes none.
func TestProgramsWithoutFilesForTheirTools(t *testing.T) {
	const mistake = "app: config: Deps is nil, but the agent's dependencies have an editor's files: use editor.Deps, or the Deps of a coding.Kit"
	check := func(ctx context.Context, e *app.Env) app.Check {
		all := editor.New(editor.Options{}).(app.Checker).Check(ctx, e)
		require.Len(t, all, 1)
		return all[0]
	}
	good := app.Check{Name: "editors", Found: `add the command "desk acp" to an editor's agents`}
	within(t, app.Config[Deps, string]{Agent: silent[Deps]()}, func(ctx context.Context, e *app.Env) {
		require.EqualError(t, editor.Ready(e), mistake)
		bad := good
		bad.Err, bad.Mend = errors.New(mistake), "this is a mistake in the program: tell its author"
		require.Equal(t, bad, check(ctx, e))
	})
	made := editor.Deps(acpbridge.LocalFallback{}, func(_ context.Context, acp deps.ACPDeps) (Deps, error) { return Deps{acp}, nil })
	within(t, app.Config[Deps, string]{Agent: silent[Deps](), Deps: made}, func(ctx context.Context, e *app.Env) {
		require.NoError(t, editor.Ready(e))
		require.Equal(t, good, check(ctx, e))
	})
	within(t, app.Config[any, string]{Agent: silent[any]()}, func(ctx context.Context, e *app.Env) {
		require.NoError(t, editor.Ready(e))
		require.Equal(t, good, check(ctx, e))
	})
	code, _, said := ran(t, app.Config[Deps, string]{Agent: silent[Deps](), Surfaces: []app.Surface{editor.New(editor.Options{})}}, nil, "", "acp", "-no-store")
	require.Equal(t, 1, code)
	require.Contains(t, said, "Deps is nil")
}

// TestWhatTheProgramSaysOfItself fills in what the program leaves empty of how its sessions are served.
func TestWhatTheProgramSaysOfItself(t *testing.T) {
	within(t, app.Config[any, string]{Agent: silent[any]()}, func(ctx context.Context, e *app.Env) {
		require.Empty(t, editor.Provider(ctx, e), "the agent has its own model")
		o := editor.Bridge(e, nil)
		require.Equal(t, acp.Implementation{Name: "desk", Title: new("Desk"), Version: "1.2.3"}, o.Info)
		require.Nil(t, o.Auth)
		o = editor.Bridge(e, func() acpbridge.Options { return acpbridge.Options{Unstable: true} })
		require.True(t, o.Unstable)
		require.Equal(t, "desk", o.Info.Name)
		own := acp.Implementation{Name: "other", Version: "7"}
		o = editor.Bridge(e, func() acpbridge.Options { return acpbridge.Options{Info: own} })
		require.Equal(t, own, o.Info)
	})
	env := map[string]string{"DESK_KEYS": filepath.Join(t.TempDir(), "keys.json")}
	var methods []acp.AuthMethod
	provider := ""
	c := app.Config[any, string]{
		Agent: agent.Must(agent.New(agent.Config[any, string]{})),
		Commands: []func(*app.Env) *cobra.Command{func(e *app.Env) *cobra.Command {
			return &cobra.Command{Use: "own", RunE: func(cmd *cobra.Command, _ []string) error {
				provider = editor.Provider(cmd.Context(), e)
				methods = editor.Bridge(e, nil).Auth.Methods()
				own := editor.Bridge(e, func() acpbridge.Options { return acpbridge.Options{Auth: nobody{}} })
				require.Equal(t, nobody{}, own.Auth)
				require.Error(t, editor.Bridge(e, nil).Auth.Authenticate(cmd.Context(), "stored-key"), "no key is stored")
				return nil
			}}
		}},
	}
	code, _, said := ran(t, c, env, "", "own", "-no-store", "-model", "openai:gpt-5")
	require.Equal(t, 0, code, said)
	require.Equal(t, "openai", provider)
	data, err := json.Marshal(methods)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"type":"terminal","id":"enter-key","name":"Enter an API key","description":"Asks for the key of openai and keeps it in the system's keyring.","args":["login"]},
		{"id":"stored-key","name":"Use the stored API key","description":"Run \"desk login openai\" in a terminal first."}
	]`, string(data))
}

// nobody is a way to log in that has no methods.
type nobody struct{}

func (nobody) Methods() []acp.AuthMethod                            { return nil }
func (nobody) Authenticate(context.Context, acp.AuthMethodID) error { return nil }
func (nobody) Logout(context.Context) error                         { return nil }
func (nobody) Check(context.Context) error                          { return nil }

// TestDependenciesOfSessionsWithoutAnEditor makes those of a session on this machine, with what the program allows there.
func TestDependenciesOfSessionsWithoutAnEditor(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		fails := errors.New("not today")
		var got []deps.ACPDeps
		makes := editor.Deps(acpbridge.LocalFallback{Files: allowed, Config: local.Config{}}, func(_ context.Context, acp deps.ACPDeps) (Deps, error) {
			if got = append(got, acp); len(got) > 1 {
				return Deps{}, fails
			}
			return Deps{acp}, nil
		})
		h, err := host.New(host.Config[Deps, string]{
			Agent: silent[Deps](), Deps: func(ctx context.Context, s *host.Session) (Deps, error) { return makes(ctx, s, host.Local) },
		})
		require.NoError(t, err)
		s, err := h.Create(t.Context(), session.New{Dir: t.TempDir()}, host.Local)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, allowed, got[0].Workspace.Workspace().Features().Read)
		_, err = h.Create(t.Context(), session.New{Dir: t.TempDir()}, host.Local)
		require.ErrorIs(t, err, fails)
		require.NoError(t, s.Close(t.Context()))
		require.NoError(t, h.Close(t.Context()))
	}
}

// TestWrongConfigurationsAreToldToEditors has a mistake in the user's configuration: the editor is served, and no session begins.
func TestWrongConfigurationsAreToldToEditors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"models": 7}`), 0o600))
	c := app.Config[any, string]{Agent: silent[any](), Surfaces: []app.Surface{editor.New(editor.Options{})}}
	code, out, said := ran(t, c, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n", "acp", "-no-store", "-config", file)
	require.Contains(t, said, "desk: no session begins until this is mended and desk is started again\n")
	require.Contains(t, said, file)
	require.Contains(t, out, `"protocolVersion":1`)
	require.Equal(t, 0, code, said)
}

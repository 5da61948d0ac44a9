// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// home makes a home of a user, and returns the directory of the configuration of a program.
func home(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	dir, err = config.UserDir("ideagent")
	require.NoError(t, err)
	return dir
}

func write(t *testing.T, at, text string) string {
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	return at
}

// user reads a configuration of the user's from a file.
func user(t *testing.T, text string) *config.User {
	u, err := config.ReadUser(write(t, filepath.Join(t.TempDir(), "config.json"), text))
	require.NoError(t, err)
	return u
}

// changes asks about a change of a file.
func changes(path string) *toolset.ApprovalRequest {
	text := "x"
	return &toolset.ApprovalRequest{Approval: toolset.Approval{Preview: []toolset.Preview{{Text: "first"}, {Diff: &toolset.Diff{Path: path, New: &text}}}}}
}

// The configuration and the prompts are not changed without a question, by whatever name.
func TestTheConfigurationIsGuarded(t *testing.T) {
	mine := home(t)
	one, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	two, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write(t, filepath.Join(one, ".agents", "ideagent.json"), "{}")
	layer := guarded("ideagent", []string{one, two})
	require.Equal(t, "ideagent", layer.Name)
	link := filepath.Join(one, "link.json")
	links := os.Symlink(filepath.Join(one, ".agents", "ideagent.json"), link) == nil
	for path, guards := range map[string]bool{
		filepath.Join(mine, "config.json"): true, filepath.Join(mine, "prompts", "a.md"): true, mine: false, mine + "x": false, filepath.Join(filepath.Dir(mine), "other"): false,
		filepath.Join(one, ".agents", "ideagent.json"): true, filepath.Join(two, ".agents", "ideagent.json"): true, filepath.Join(one, ".AGENTS", "IdeAgent.JSON"): true,
		filepath.Join(one, ".agents", "prompts", "a.md"): true, filepath.Join(two, ".agents", "Prompts", "sub", "a.md"): true, filepath.Join(one, ".agents", "prompts"): false,
		filepath.Join(one, ".agents", "other.json"): false, filepath.Join(one, "ideagent.json"): false, filepath.Join(one, "a.txt"): false,
		one + "/sub/../.agents/./ideagent.json": true, link: links, "": false,
	} {
		ruling, err := layer.Decide(t.Context(), changes(path))
		require.NoError(t, err)
		want := approval.Ruling{}
		if guards {
			want = approval.Ruling{Verdict: approval.VerdictAsk, Rule: "changes of ideagent's configuration are asked about"}
		}
		require.Equal(t, want, ruling, path)
	}
	ruling, err := layer.Decide(t.Context(), &toolset.ApprovalRequest{Approval: toolset.Approval{Preview: []toolset.Preview{{Text: filepath.Join(mine, "config.json")}}}})
	require.NoError(t, err)
	require.Zero(t, ruling)
}

// The rules of a session are those of the program, of its projects, and of the user, in this order.
func TestRulesOfSessions(t *testing.T) {
	home(t)
	one, two := t.TempDir(), t.TempDir()
	file := write(t, filepath.Join(one, ".agents", "ideagent.json"), `{"permissions": {"mode": "ask", "rules": [{"decision": "deny", "path": "a.txt"}]}}`)
	u := user(t, `{"permissions": {"mode": "auto", "rules": [{"decision": "allow", "tool": "fetch"}, {"decision": "deny", "tool": "run"}]}}`)
	r := &rules{program: "ideagent", user: u}
	none, _, err := r.of(nil, nil)
	require.NoError(t, err)
	require.Nil(t, none)
	layers, _, err := r.of(new(host.Session), &deps.Session{ID: "s", Cwd: one, AdditionalDirectories: []string{two}})
	require.NoError(t, err)
	require.Len(t, layers, 3)
	require.Equal(t, []string{"ideagent", "the project's configuration"}, []string{layers[0].Name, layers[1].Name})
	own := layers[1].Rules()
	require.NotEmpty(t, own)
	for _, rule := range own {
		require.Equal(t, file, rule.Origin)
		require.Nil(t, rule.Drop, "a project's rules are the project's")
	}
	texts := func(all []approval.LayerRule) (texts []string) {
		for _, rule := range all {
			texts = append(texts, rule.Text)
			require.Equal(t, u.File, rule.Origin)
		}
		return texts
	}
	mine := layers[2].Rules()
	require.Len(t, texts(mine), 2, "the project wants to be asked")
	layers, _, err = r.of(new(host.Session), &deps.Session{ID: "t", Cwd: two})
	require.NoError(t, err)
	require.Len(t, layers, 2)
	mine = layers[1].Rules()
	require.Len(t, texts(mine), 3)
	require.Equal(t, "mode auto", mine[2].Text)
	require.Nil(t, mine[2].Drop)

	// A rule that is taken back is gone from the file and from open sessions.
	ruling := func() approval.Ruling {
		ruling, err := layers[1].Decide(t.Context(), &toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run"}})
		require.NoError(t, err)
		return ruling
	}
	require.Equal(t, toolset.VerdictDeny, ruling().Verdict)
	require.NoError(t, mine[1].Drop())
	require.NotEqual(t, toolset.VerdictDeny, ruling().Verdict)
	require.Equal(t, []string{mine[0].Text, "mode auto"}, texts(layers[1].Rules()))
	data, err := os.ReadFile(u.File)
	require.NoError(t, err)
	require.NotContains(t, string(data), "run")
	write(t, u.File, "nonsense")
	require.Error(t, mine[0].Drop())
	require.Len(t, layers[1].Rules(), 2, "it is still there")

	r.user = &config.User{}
	all := r.listed(&approval.Config{Mode: approval.ModeAsk, Rules: u.Permissions.Rules[:1]})
	require.Len(t, all, 1)
	require.Equal(t, "the user's configuration", all[0].Origin)
	require.Nil(t, all[0].Drop, "there is no file")
	require.Empty(t, r.listed(&approval.Config{}))
}

// What rules say is made anew once for each time that rules were taken back. If that fails, it stays what it was.
func TestDecisionsWithoutRulesThatWereTakenBack(t *testing.T) {
	r := &rules{}
	made, broken := 0, error(nil)
	now, err := r.current(func() (says, error) {
		made++
		reason := fmt.Sprint(made)
		return says{reads: func(string) (toolset.Verdict, string) { return "", reason }}, broken
	})
	require.NoError(t, err)
	twice := func() string {
		_, first := now().reads("")
		_, second := now().reads("")
		return first + " " + second
	}
	require.Equal(t, "1 1", twice())
	r.dropped = []string{"one"}
	require.Equal(t, "2 2", twice())
	r.dropped = append(r.dropped, "two")
	broken = errors.New("broken")
	require.Equal(t, "2 2", twice())
	broken = nil
	require.Equal(t, "5 5", twice())
}

// Projects whose files cannot be read have no session.
func TestProjectsThatCannotBeRead(t *testing.T) {
	home(t)
	one, two := t.TempDir(), t.TempDir()
	h, s := new(host.Session), &deps.Session{ID: "s", Cwd: one, AdditionalDirectories: []string{two}}
	r := &rules{program: "ideagent", user: &config.User{}}
	file := write(t, filepath.Join(one, ".agents", "ideagent.json"), `{"permissions": 1}`)
	write(t, filepath.Join(two, ".agents", "ideagent.json"), `{"permissions": 2}`)
	_, _, err := r.of(h, s)
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 2, "both are told: %v", err)
	write(t, file, `{"permissions": {"rules": [{"decision": "deny", "read": "a.txt"}]}}`)
	write(t, filepath.Join(two, ".agents", "ideagent.json"), `{}`)
	_, reads, err := r.of(h, s)
	require.NoError(t, err)
	verdict, _ := reads(filepath.Join(one, "a.txt"))
	require.Equal(t, toolset.VerdictDeny, verdict)
	verdict, _ = reads(filepath.Join(one, "b.txt"))
	require.NotEqual(t, toolset.VerdictDeny, verdict)
	_, reads, err = r.of(h, nil)
	require.NoError(t, err)
	require.Nil(t, reads)
}

// A sandbox hides what may not be read, and the program's own is left as it is.
func TestSandboxesHideWhatMayNotBeRead(t *testing.T) {
	reads := func(path string) (toolset.Verdict, string) {
		if path == "secret" {
			return toolset.VerdictDeny, ""
		}
		return toolset.VerdictAllow, ""
	}
	require.Nil(t, hiding(nil, reads))
	s := &local.Sandbox{}
	require.Same(t, s, hiding(s, nil))
	own := hiding(s, reads)
	require.NotSame(t, s, own)
	require.Nil(t, s.Unreadable)
	require.Equal(t, []bool{true, false}, []bool{own.Unreadable("secret"), own.Unreadable("other")})
}

// What this machine does for an editor is what the configuration says.
func TestWhatThisMachineDoes(t *testing.T) {
	for _, side := range []config.Side{"", config.ClientOrLocal, config.Local, "client"} {
		for _, other := range []config.Side{"", config.ClientOrLocal, config.Local, "client"} {
			f := fallback(&app.Env{Name: "ideagent", Config: &config.User{Files: side, Terminal: other, Env: []string{"A"}}})
			does := side == config.ClientOrLocal || side == config.Local
			runs := other == config.ClientOrLocal || other == config.Local
			require.Equal(t, []bool{does, side == config.Local, runs, other == config.Local}, []bool{f.Files, f.Prefer.Files, f.Commands, f.Prefer.Commands}, "%s %s", side, other)
			require.Contains(t, f.Config.PassEnv, "A")
		}
	}
}

// What is always allowed in a project is kept in the user's file, or in one that is made for it.
func TestWhereDecisionsAreKept(t *testing.T) {
	mine := home(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, &config.Keeper{File: "/own.json", Project: dir}, keeperOf("ideagent", &config.User{File: "/own.json"})(dir))
	kept := keeperOf("ideagent", &config.User{})
	require.Equal(t, &config.Keeper{File: filepath.Join(mine, "config.json"), Project: dir}, kept(dir))
	require.Nil(t, kept(""))
	if runtime.GOOS == "linux" {
		t.Setenv("HOME", "")
		t.Setenv("XDG_CONFIG_HOME", "")
		require.Nil(t, keeperOf("ideagent", &config.User{}))
		require.Nil(t, userPrompts("ideagent", &config.User{}, nil, nil))
	}
}

func namesOf(commands []host.Command) (all []string) {
	for _, c := range commands {
		all = append(all, c.Name)
	}
	return all
}

// Prompts of the user and of the project are commands, unless they are taken or cannot be used.
func TestPromptsAreCommands(t *testing.T) {
	mine := home(t)
	own := t.TempDir()
	for _, dir := range []string{filepath.Join(mine, "prompts"), own} {
		write(t, filepath.Join(dir, "greet.md"), "Greet them.")
		write(t, filepath.Join(dir, "help.md"), "Help them.")
	}
	write(t, filepath.Join(own, "more.md"), "More.")
	var told []string
	tell := func(err error) { told = append(told, err.Error()) }
	builtIn := []host.Command{{Name: "help"}, {Name: "undo"}}
	require.Equal(t, []string{"greet"}, namesOf(userPrompts("ideagent", &config.User{}, builtIn, tell)))
	require.Equal(t, []string{"prompts of " + filepath.Join(mine, "prompts") + ": /help is a command of ideagent: give help.md another name"}, told)
	told = nil
	require.Equal(t, []string{"greet", "help", "more"}, namesOf(userPrompts("ideagent", &config.User{Prompts: own}, nil, tell)))
	require.Empty(t, told)
	write(t, filepath.Join(own, "bad name.md"), "x")
	require.Equal(t, []string{"greet", "help", "more"}, namesOf(userPrompts("ideagent", &config.User{Prompts: own}, nil, tell)))
	require.Len(t, told, 1)
	require.Contains(t, told[0], "prompts of "+own+": ")

	work := t.TempDir()
	require.Empty(t, projectPrompts(&deps.Session{Cwd: work}))
	require.Empty(t, projectPrompts(&deps.Session{Cwd: filepath.Join(work, "none")}))
	write(t, filepath.Join(work, ".agents", "prompts", "ship.md"), "Ship it.")
	require.Equal(t, []string{"ship"}, namesOf(projectPrompts(&deps.Session{Cwd: work})))
}

// Changes can be taken back while the session sleeps, and after the program has ended if there is a place for them.
func TestWhereChangesAreKept(t *testing.T) {
	files, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	change := func(r *checkpoint.Recorder, path string) {
		_, err := r.Write(t.Context(), path, []byte("x"), workspace.AnyVersion)
		require.NoError(t, err)
	}
	require.NotNil(t, (*undo)(nil).open(new(host.Session), "s", files))
	dir := t.TempDir()
	var told []string
	u := &undo{program: "ideagent", tell: func(err error) { told = append(told, err.Error()) }, dir: func(id string) string {
		if id == "memory" {
			return ""
		}
		return filepath.Join(dir, id)
	}}
	require.NotNil(t, u.open(nil, "s", files))
	require.Empty(t, u.memory)

	change(u.open(new(host.Session), "kept", files), "/repo/a.txt")
	require.Empty(t, u.memory)
	require.DirExists(t, filepath.Join(dir, "kept"))
	require.Len(t, u.open(new(host.Session), "kept", files).Log().Changes, 1, "the program begins again")

	asleep := new(host.Session)
	change(u.open(asleep, "memory", files), "/repo/b.txt")
	require.Len(t, u.memory, 1)
	woken := u.open(asleep, "memory", files)
	require.Len(t, woken.Log().Changes, 1)
	change(woken, "/repo/c.txt")
	require.Len(t, u.open(asleep, "memory", files).Log().Changes, 2)
	require.Empty(t, u.open(new(host.Session), "memory", files).Log().Changes, "another session")
	require.Empty(t, told)

	// A session that has ended is forgotten, although its files know it.
	gone := new(host.Session)
	knows := weak.Make(gone)
	change(u.open(gone, "memory", knowing{files, gone}), "/repo/b.txt")
	require.NoError(t, rest{u, knows}.Close(t.Context()))
	require.Len(t, u.open(gone, "memory", knowing{files, gone}).Log().Changes, 1)
	require.NoError(t, rest{u, knows}.Close(t.Context()))
	gone = nil
	for range 1000 {
		if runtime.GC(); knows.Value() == nil {
			break
		}
	}
	require.Nil(t, knows.Value())

	// Where there is no room, it is told.
	write(t, filepath.Join(dir, "file"), "")
	u.dir = func(string) string { return filepath.Join(dir, "file", "below") }
	nowhere := new(host.Session)
	change(u.open(nowhere, "nowhere", files), "/repo/d.txt")
	require.Len(t, told, 1)
	require.Contains(t, told[0], "/undo of this session forgets when ideagent ends: ")
	require.Len(t, u.open(nowhere, "nowhere", files).Log().Changes, 1)

	// What is kept is encrypted like the sessions.
	ring, err := session.Keyring{}.Rotated("one")
	require.NoError(t, err)
	u.dir = func(id string) string { return filepath.Join(dir, "sealed", id) }
	u.keyring = func(context.Context) (*session.Keyring, error) { return &ring, nil }
	change(u.open(new(host.Session), "s", files), "/repo/planted.txt")
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "sealed"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), "planted")
		}
		return err
	}))
	require.Len(t, u.open(new(host.Session), "s", files).Log().Changes, 1)
	told = nil
	u.keyring = func(context.Context) (*session.Keyring, error) { return nil, errors.New("no key") }
	require.Empty(t, u.open(new(host.Session), "s", files).Log().Changes)
	require.Equal(t, []string{"/undo of this session forgets when ideagent ends: no key"}, told)
	var o checkpoint.Options
	u.keyring = func(context.Context) (*session.Keyring, error) { return nil, nil }
	require.NoError(t, u.encrypt(&o))
	require.Nil(t, o.Cipher)
}

// Doctor says how commands run, and which language servers there are.
func TestWhatDoctorSays(t *testing.T) {
	home(t)
	e := &app.Env{Name: "ideagent", Config: &config.User{}}
	require.Equal(t, app.Check{Name: "commands", Found: "run without a sandbox"}, commands(&app.Env{Name: "ideagent", Config: &config.User{Sandbox: new(bool)}}))
	t.Setenv("PATH", t.TempDir())
	require.Equal(t, app.Check{Name: "language servers", Found: "none is installed; see docs/lsp.md"}, languages(e))
	if runtime.GOOS != "windows" {
		program := write(t, filepath.Join(os.Getenv("PATH"), "gopls"), "#!/bin/sh\n")
		require.NoError(t, os.Chmod(program, 0o700))
		require.Equal(t, app.Check{Name: "language servers", Found: "gopls"}, languages(e))
	}
}

// Files that cannot be read, written or listed have no notes.
func TestNotesNeedFiles(t *testing.T) {
	require.Nil(t, Deps{}.Notes())
	files, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	require.Equal(t, workspace.Workspace(files), Deps{Files: files}.Notes())
	require.Equal(t, workspace.Workspace(files), Deps{Files: files}.Results())
	for _, without := range []func(*workspace.Features){func(f *workspace.Features) { f.Read = false }, func(f *workspace.Features) { f.Write = false }, func(f *workspace.Features) { f.Walk = false }} {
		can := files.Features()
		without(&can)
		require.Nil(t, Deps{Files: limitedTo{files, can}}.Notes())
	}
	k, _ := kit(t, `{}`)
	require.True(t, k.Bridge().Unstable)
	require.Equal(t, acpbridge.Options{MCP: k.servers, Unstable: true}, k.Bridge())
}

// limitedTo is a workspace that can do less.
type limitedTo struct {
	workspace.Workspace
	can workspace.Features
}

func (l limitedTo) Features() workspace.Features { return l.can }

// knowing is a workspace that knows its session, as those of editors do.
type knowing struct {
	workspace.Workspace
	of *host.Session
}

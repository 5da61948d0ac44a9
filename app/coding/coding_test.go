// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// kit returns the kit of a program with a configuration.
func kit(t *testing.T, text string) (*Kit, *app.Env) {
	t.Helper()
	user, err := config.ParseUser("f", []byte(text))
	require.NoError(t, err)
	e := &app.Env{Name: "ideagent", Config: user}
	return New(e), e
}

func TestSpilledResultsAreNotRecorded(t *testing.T) {
	k, _ := kit(t, `{}`)
	files, err := local.Open(local.Config{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	s := k.deps(new(host.Session), deps.ACPDeps{Workspace: workspace.NewSession(files)}, nil)
	_, err = s.Results().Write(t.Context(), "spilled.txt", []byte("x"), workspace.AnyVersion)
	require.NoError(t, err)
	require.Empty(t, s.Changes.Log().Changes)
	_, err = s.Workspace.Workspace().Write(t.Context(), "a.txt", []byte("x"), workspace.AnyVersion)
	require.NoError(t, err)
	require.Len(t, s.Changes.Log().Changes, 1)
}

// A session that wakes or moves begins with the rules of the project as they were: to remove the file in between does not lift them.
func TestProjectRulesStayWhileTheSessionSleeps(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		write(t, filepath.Join(dir, ".agents", "ideagent.json"), `{"permissions": {"rules": [{"decision": "deny", "path": "a.txt"}]}}`)
	}
	k, _ := kit(t, `{}`)
	layers := func(s *host.Session, more ...string) int {
		all, _, err := k.rules.of(s, &deps.Session{ID: "s", Cwd: one, AdditionalDirectories: more})
		require.NoError(t, err)
		return len(all)
	}
	s := new(host.Session)
	before := layers(s)
	require.NoError(t, os.RemoveAll(filepath.Join(one, ".agents")))
	require.Equal(t, before, layers(s), "the session wakes")
	require.Equal(t, before+1, layers(s, two), "an editor that takes it over has another directory")
	require.NoError(t, os.RemoveAll(filepath.Join(two, ".agents")))
	require.Equal(t, before, layers(s))
	require.Equal(t, before+1, layers(s, two))
	require.Equal(t, before-1, layers(new(host.Session)), "the session is loaded again")
}

// Configure gives the host what a coding agent needs of it; without one of these, a session would lack it silently.
func TestConfigureFillsTheHost(t *testing.T) {
	k, _ := kit(t, `{}`)
	var c host.Config[Deps, string]
	Configure(k, &c)
	require.NotEmpty(t, c.Commands)
	require.NotNil(t, c.SessionCommands)
	require.NotNil(t, c.Prices)
	require.NotNil(t, c.Kept, "always in this project")
	require.NotNil(t, c.Kept(t.TempDir()))
	require.Nil(t, c.Kept(""), "there is no project")
	require.NotNil(t, c.Layers)
	require.NotNil(t, c.Files)
}

func TestMistakesInServersAreProblemsOfTheConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"comand": "x"}}}`:                          `f:1:16: mcpServers: server "a": unknown member "comand": did you mean "command"?`,
		`{"mcpServers": {"a": {"command": "x", "args": ["${NOWHERE}"]}}}`: "NOWHERE is not set",
	} {
		_, e := kit(t, text)
		require.ErrorContains(t, e.Problem(), want)
		_, ok := errors.AsType[*config.Problem](e.Problem())
		require.True(t, ok)
	}
	_, e := kit(t, `{"mcpServers": {"files": {"command": "npx"}}}`)
	require.NoError(t, e.Problem())
	require.Len(t, servers(e), 1)
}

// A session keeps its last thousand changes, and 16 MB of what files were.
func TestHowMuchCanBeUndone(t *testing.T) {
	files, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	r := (*undo)(nil).open(nil, "", files)
	for i := range 1001 {
		_, err := r.Write(t.Context(), fmt.Sprintf("/repo/%d.md", i), nil, workspace.AnyVersion)
		require.NoError(t, err)
	}
	require.Len(t, r.Log().Changes, 1000)

	r = (*undo)(nil).open(nil, "", files)
	for i := range 17 {
		content := bytes.Repeat([]byte{byte('a' + i)}, 1<<20)
		_, err := r.Write(t.Context(), fmt.Sprintf("/repo/%d.txt", i), content, workspace.AnyVersion)
		require.NoError(t, err)
	}
	kept := 0
	for _, c := range r.Log().Changes {
		if _, ok := r.Content(c.After.Hash); ok {
			kept++
		}
	}
	require.Equal(t, 16, kept)
}

// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// step is a call of a tool, and what came of it.
type step struct {
	tool, args string
	asked      *toolset.Approval
	result     string
}

// play lets an agent make the calls, one after the other. Everything is allowed.
func play(t *testing.T, s *workspace.Session, steps ...*step) {
	t.Helper()
	var said []modeltest.Step
	for i, one := range steps {
		require.True(t, json.Valid([]byte(one.args)), one.args)
		said = append(said, modeltest.Say(model.ToolCall(string(rune('a'+i)), one.tool, one.args)))
	}
	a := agent.Must(agent.New(agent.Config[struct{}, string]{
		Model:    modeltest.Script(append(said, modeltest.SayText("Done."))...),
		Toolsets: []toolset.Toolset[struct{}]{workspace.Tools(func(struct{}) *workspace.Session { return s })},
	}))
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		steps[r.CallID()[0]-'a'].asked = &r.Approval
		return toolset.Allow(), nil
	}}
	res, err := a.Run(t.Context(), struct{}{}, "go", agent.WithAsker(person))
	require.NoError(t, err)
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn {
				steps[p.CallID[0]-'a'].result = p.Text
			}
		}
	}
}

// disk is a project on this machine, with links.
func linkedProject(t *testing.T) (dir string, s *workspace.Session) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, sub := range []string{".git/hooks", "docs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	for _, file := range []string{".git/config", "main.go", ".env", "docs/a.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("secret of "+file+"\n"), 0o600))
	}
	for link, target := range map[string]string{"docs/config": "../.git/config", "hooks": ".git/hooks", "docs/env": "../.env"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	w, err := local.Open(local.Config{Roots: []string{dir}})
	require.NoError(t, err)
	s = workspace.NewSession(w)
	t.Cleanup(func() {
		require.NoError(t, s.Close(context.Background()))
		require.NoError(t, w.Close())
	})
	return dir, s
}

func TestApprovalsHaveTheirEffects(t *testing.T) {
	dir, s := linkedProject(t)
	write := &step{tool: "write_file", args: `{"path":"docs/b.md","content":"x"}`}
	edit := &step{tool: "edit_file", args: `{"path":"docs/a.md","edits":[{"old_text":"secret","new_text":"public"}]}`}
	link := &step{tool: "write_file", args: `{"path":"docs/config","content":"x"}`}
	run := &step{tool: "run_command", args: `{"command":"cat a.md > b.md","cwd":"docs"}`}
	hooks := &step{tool: "run_command", args: `{"command":"true > pre-commit","cwd":"hooks"}`}
	play(t, s, write, edit, link, run, hooks)
	path := func(name string) string { return filepath.Join(dir, name) }
	require.Equal(t, []model.Effect{{Kind: model.EffectWrite, Path: path("docs/b.md")}}, write.asked.Effects)
	require.Contains(t, edit.asked.Effects, model.Effect{Kind: model.EffectRead, Path: path("docs/a.md")})
	require.Equal(t, []model.Effect{{Kind: model.EffectWrite, Path: path("docs/config")}, {Kind: model.EffectWrite, Path: path(".git/config")}}, link.asked.Effects)
	require.True(t, link.asked.Once, "git runs what the file names")
	require.Contains(t, link.asked.Preview[len(link.asked.Preview)-1].Text, "protected: git runs")
	require.False(t, write.asked.Once)
	require.Equal(t, []model.Effect{
		{Kind: model.EffectRun, Argv: []string{"cat", "a.md"}, Dir: path("docs")}, {Kind: model.EffectRead, Path: path("docs/a.md")}, {Kind: model.EffectWrite, Path: path("docs/b.md")},
	}, run.asked.Effects)
	require.True(t, hooks.asked.Once, "a directory that is a link")
}

func TestFilesThatMustNotBeReadAreNot(t *testing.T) {
	_, s := linkedProject(t)
	s.GuardReads(func(path string) (toolset.Verdict, string) {
		switch filepath.Base(path) {
		case ".env":
			return toolset.VerdictDeny, "it has secrets."
		case "main.go":
			return "ask", ""
		}
		return "", ""
	})
	steps := []*step{
		{tool: "read_file", args: `{"path":".env"}`}, {tool: "read_file", args: `{"path":"docs/env"}`}, {tool: "read_file", args: `{"path":"docs/../.env","line":1}`},
		{tool: "edit_file", args: `{"path":".env","edits":[{"old_text":"secret","new_text":"x"}]}`}, {tool: "edit_file", args: `{"path":"docs/env","edits":[{"old_text":"secret","new_text":"x"}]}`},
		{tool: "search_files", args: `{"pattern":"secret of"}`}, {tool: "search_files", args: `{"pattern":"secret of","include_ignored":true}`}, {tool: "search_files", args: `{"pattern":"secret of","path":".env"}`},
		{tool: "search_files", args: `{"pattern":"secret","glob":".e*"}`}, {tool: "search_files", args: `{"pattern":"secret","path":"docs/env"}`},
	}
	play(t, s, steps...)
	for _, one := range steps {
		require.NotContains(t, one.result, "secret of .env", one.args)
		require.Nil(t, one.asked, one.args)
	}
	require.Equal(t, "Reading .env is not permitted: it has secrets. Do not try to get its content in another way.", steps[0].result)
	require.Contains(t, steps[5].result, "2 files were left out")
	require.Contains(t, steps[5].result, "secret of docs/a.md")
	for _, path := range []string{".env", "docs/env", "main.go"} { // also if a guess is right
		guess := "secret of " + filepath.Base(path) + `\n`
		replace := &step{tool: "write_file", args: `{"path":"` + path + `","content":"` + guess + `"}`}
		play(t, s, replace)
		require.Contains(t, replace.asked.Title, "Replace "+path)
		require.Nil(t, replace.asked.Preview[0].Diff.Old)
		require.Contains(t, replace.asked.Preview[1].Text, "must not be read")
		require.NotContains(t, replace.result, "already")
	}
	ask, free := &step{tool: "read_file", args: `{"path":"main.go"}`}, &step{tool: "read_file", args: `{"path":"docs/a.md"}`}
	play(t, s, ask, free)
	require.Equal(t, "Read main.go", ask.asked.Title)
	require.Equal(t, "secret of main.go\n", ask.result)
	require.Nil(t, free.asked)
	require.True(t, strings.HasPrefix(free.result, "secret of docs/a.md"))
}

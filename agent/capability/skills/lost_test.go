// SPDX-License-Identifier: Apache-2.0

package skills_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/failing"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func newAgent(c agent.Capability[deps], steps ...modeltest.Step) *agent.Agent[deps, string] {
	return agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(append(steps, modeltest.SayText("done"))...), Capabilities: []agent.Capability[deps]{c},
	}))
}

// Whichever operation notices it: a model that is told that there is no such skill goes on without instructions that the user relies on.
func TestLostWorkspaceEndsTheRun(t *testing.T) {
	ws, _ := newWorkspace(t, map[string]string{
		"one/a/SKILL.md": skill("a", "A.", "Do it."), "one/a/x.md": "x", "one/README.md": "x",
		"two/b/SKILL.md": skill("b", "B.", "Do it."), "two/c/SKILL.md": skill("other-name", "C.", "Do it."), "two/c/y.md": "y",
	})
	for _, name := range []string{"a", "b", "other-name", "missing"} {
		for n := range failing.Operations {
			plan := failing.At(n, workspace.ErrLost)
			work := workspace.NewSession(failing.Workspace{Workspace: ws, Plan: plan})
			c := skills.New(skills.Options{Problem: func(context.Context, skills.Problem) {}}, skills.Workspace(session, "gone", "one", "two"))
			_, err := newAgent(c, load(name)).Run(t.Context(), deps{work}, "go")
			if !plan.Failed() {
				require.NoError(t, err)
				require.Greater(t, n, 10)
				break
			}
			require.ErrorIs(t, err, workspace.ErrLost, "%s: %s", name, plan.Operation())
			require.ErrorContains(t, err, "skills: ")
		}
		for n := range failing.Operations {
			plan := failing.At(n, workspace.ErrLost)
			c := skills.New(skills.Options{Problem: func(context.Context, skills.Problem) {}}, skills.Workspace(session, "gone", "one", "two"))
			res, _, err := newAgent(c).Command(t.Context(), deps{workspace.NewSession(failing.Workspace{Workspace: ws, Plan: plan})}, "/skill "+name, nil)
			if !plan.Failed() {
				require.NoError(t, err)
				break
			}
			require.ErrorIs(t, err, workspace.ErrLost, "%s: %s", name, plan.Operation())
			require.Empty(t, res)
		}
	}
}

// One skill that cannot be read does not hide the others.
func TestSkillThatCannotBeReadIsReported(t *testing.T) {
	boom := errors.New("boom")
	ws, _ := newWorkspace(t, map[string]string{"s/a/SKILL.md": skill("a", "A.", "Do a."), "s/b/SKILL.md": skill("b", "B.", "Do b.")})
	reported := 0
	for n := range failing.Operations {
		plan := failing.At(n, boom)
		var wrong []skills.Problem
		c := skills.New(skills.Options{Problem: func(_ context.Context, p skills.Problem) { wrong = append(wrong, p) }}, skills.Workspace(session, "s"))
		requests, results := run(t, c, deps{workspace.NewSession(failing.Workspace{Workspace: ws, Plan: plan})}, load("b"))
		if !plan.Failed() {
			break
		}
		if op := plan.Operation(); op == "read s/b/SKILL.md" && len(wrong) > 0 {
			reported++
			require.ErrorIs(t, wrong[0].Err, boom)
			require.False(t, wrong[0].Used)
			require.Equal(t, "s/b", wrong[0].Where)
			require.Contains(t, requests[0].Instructions, "- a: A.")
		}
		require.Len(t, results, 1)
		if len(requests[0].Tools) > 0 && strings.Contains(tools(requests[0]), skills.ToolLoadSkill) {
			require.Contains(t, results[0], "Do b.", "it can be read again: %s", plan.Operation())
		}
	}
	require.Equal(t, 1, reported)
}

// brokenFile is a file system in which one file fails in the middle.
type brokenFile struct {
	fstest.MapFS
	name string
}

func (b brokenFile) Open(name string) (fs.File, error) {
	f, err := b.MapFS.Open(name)
	if err == nil && name == b.name {
		f = half{f}
	}
	return f, err
}

func (b brokenFile) ReadFile(name string) ([]byte, error) {
	return fs.ReadFile(struct{ fs.FS }{b}, name)
}

type half struct{ fs.File }

func (half) Read([]byte) (int, error) { return 0, errors.New("boom") }

func TestFilesOfASkillThatCannotBeRead(t *testing.T) {
	files := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(skill("a", "A.", "Do a."))}, "s/a/x.md": {Data: []byte("x")}}
	at := func(offset int) modeltest.Step {
		return modeltest.Say(model.ToolCall("1", skills.ToolReadSkillFile, fmt.Sprintf(`{"skill":"a","path":"x.md","offset":%d}`, offset)))
	}
	_, results := run(t, skills.New(skills.Options{}, skills.FS[deps](brokenFile{files, "s/a/x.md"}, "s")), deps{}, at(0))
	require.Equal(t, []string{"Could not read x.md of the skill a."}, results)
	_, results = run(t, skills.New(skills.Options{}, skills.FS[deps](files, "s")), deps{}, at(1), at(2), readFile("missing", "x.md"))
	require.Equal(t, []string{"", "Could not read x.md of the skill a.", `unknown skill "missing". Skills: a`}, results)

	var wrong []skills.Problem
	c := skills.New(skills.Options{Problem: func(_ context.Context, p skills.Problem) { wrong = append(wrong, p) }}, skills.FS[deps](brokenFile{files, "s/a/SKILL.md"}, "s"))
	_, _ = run(t, c, deps{})
	require.Len(t, wrong, 1)
	require.ErrorContains(t, wrong[0].Err, "SKILL.md cannot be read: boom")
}

func TestFilesOfSkillsInCodeEndWhereTheyEnd(t *testing.T) {
	c := skills.New(skills.Options{}, skills.Code[deps](skills.Skill{Name: "a", Description: "A.", Files: map[string]string{
		"x.md": "0123456789", "exact.md": strings.Repeat("x", 64<<10), "longer.md": strings.Repeat("x", 64<<10+1),
	}}))
	at := func(name string, offset int) modeltest.Step {
		return modeltest.Say(model.ToolCall("1", skills.ToolReadSkillFile, fmt.Sprintf(`{"skill":"a","path":%q,"offset":%d}`, name, offset)))
	}
	_, results := run(t, c, deps{}, at("x.md", 4), at("x.md", 10), at("x.md", 11), at("gone.md", 0), at("exact.md", 0), at("longer.md", 0))
	require.Equal(t, []string{"456789", "", "", "The skill a has no file gone.md."}, results[:4])
	require.NotContains(t, results[4], "Cut here")
	require.True(t, strings.HasSuffix(results[5], "x\n\n[Cut here. To read on, call read_skill_file with offset 65536.]"))
}

// A character that the bound would cut in two is left to the next part.
func TestPartsOfASkillFileAreWholeCharacters(t *testing.T) {
	for i := range 12 {
		text := "xxx"[:i%4] + strings.Repeat([]string{"é", "日", "😀"}[i/4], 40<<10)
		c := skills.New(skills.Options{}, skills.FS[deps](fstest.MapFS{"a/SKILL.md": {Data: []byte(skill("a", "A.", "a"))}, "a/x.md": {Data: []byte(text)}}, "."))
		_, results := run(t, c, deps{}, readFile("a", "x.md"))
		first, rest, cut := strings.Cut(results[0], "\n\n[Cut here. To read on, call read_skill_file with offset ")
		require.True(t, cut)
		require.True(t, strings.HasPrefix(text, first))
		require.Equal(t, fmt.Sprintf("%d.]", len(first)), rest)
		require.Greater(t, len(first), 64<<10-4)
		_, results = run(t, c, deps{}, modeltest.Say(model.ToolCall("1", skills.ToolReadSkillFile, fmt.Sprintf(`{"skill":"a","path":"x.md","offset":%d}`, len(first)))))
		require.True(t, strings.HasPrefix(text, first+strings.Split(results[0], "\n")[0]))
	}
}

// An offset that the model has counted itself may be within a character.
func TestOffsetsWithinACharacterAreMovedToTheNext(t *testing.T) {
	c := skills.New(skills.Options{}, skills.Code[deps](skills.Skill{
		Name: "a", Description: "A.", Files: map[string]string{
			"x.md": "é日😀.", "long.md": strings.Repeat("日", 40<<10), "no.md": "a\x80\x80\x80\x80",
		},
	}))
	at := func(name string, offset int) modeltest.Step {
		return modeltest.Say(model.ToolCall("1", skills.ToolReadSkillFile,
			fmt.Sprintf(`{"skill":"a","path":%q,"offset":%d}`, name, offset)))
	}
	for offset, want := range []string{
		"é日😀.", "日😀.", "日😀.", "😀.", "😀.", "😀.", ".", ".", ".", ".", "",
	} {
		_, results := run(t, c, deps{}, at("x.md", offset))
		require.Equal(t, want, results[0], offset)
	}
	_, results := run(t, c, deps{}, at("long.md", 1), at("no.md", 1))
	first, rest, _ := strings.Cut(results[0], "\n\n[Cut here. To read on, call read_skill_file with offset ")
	require.Equal(t, fmt.Sprintf("%d.]", 3+len(first)), rest)
	require.Contains(t, results[1], "it is not text")
}

func TestFoldersOfASourceAreBounded(t *testing.T) {
	files, disk := map[string]string{}, fstest.MapFS{}
	for i := range 510 {
		name := fmt.Sprintf("s%03d", i)
		files["s/"+name+"/SKILL.md"] = skill(name, "x", "y")
		disk["s/"+name+"/SKILL.md"] = &fstest.MapFile{Data: []byte(skill(name, "x", "y"))}
	}
	_, d := newWorkspace(t, files)
	for _, source := range []skills.Source[deps]{skills.Workspace(session, "s"), skills.FS[deps](disk, "s")} {
		a := newAgent(skills.New(skills.Options{}, source))
		res, _, err := a.Command(t.Context(), d, "/skill", nil)
		require.NoError(t, err)
		require.Equal(t, 500, strings.Count(res.Notice, "\n- "))
	}
}

// bare is a workspace with few features.
type bare struct {
	workspace.Workspace
	features workspace.Features
}

func (b bare) Features() workspace.Features { return b.features }

// Skills that cannot be listed can still be loaded by a name that the user gives.
func TestWorkspaceThatCannotListHasNoCatalogue(t *testing.T) {
	ws, _ := newWorkspace(t, map[string]string{"s/a/SKILL.md": skill("a", "A.", "Do a."), "s/a/x.md": "x"})
	c := skills.New(skills.Options{}, skills.Workspace(session, "s"))
	d := deps{workspace.NewSession(bare{ws, workspace.Features{Read: true}})}
	res, _, err := newAgent(c).Command(t.Context(), d, "/skill", nil)
	require.NoError(t, err)
	require.Equal(t, "There are no skills.", res.Notice)
	res, _, err = newAgent(c).Command(t.Context(), d, "/skill a", nil)
	require.NoError(t, err)
	require.Contains(t, res.Prompt, "Do a.")
	require.NotContains(t, res.Prompt, "x.md")
	res, _, err = newAgent(c).Command(t.Context(), deps{workspace.NewSession(bare{ws, workspace.Features{Walk: true}})}, "/skill a", nil)
	require.NoError(t, err)
	require.Equal(t, `Unknown skill "a". Skills: `, res.Notice)
	res, _, err = newAgent(c).Command(t.Context(), deps{}, "/skill a", nil)
	require.NoError(t, err)
	require.Equal(t, `Unknown skill "a". Skills: `, res.Notice)
}

func TestInvalidOptionsAreErrorsOfOpen(t *testing.T) {
	c := skills.New[deps](skills.Options{MaxCatalogue: -1})
	_, err := c.Toolsets[0].Open(t.Context(), &toolset.RunContext[deps]{})
	require.ErrorContains(t, err, "MaxCatalogue is -1")
}

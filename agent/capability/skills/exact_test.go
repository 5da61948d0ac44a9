// SPDX-License-Identifier: Apache-2.0

package skills_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// shown is a text of n bytes, as it is shown where at most bytes are.
func shown(letter string, n, at int) string {
	if n <= at {
		return strings.Repeat(letter, n)
	}
	return strings.Repeat(letter, at-len("…")) + "…"
}

// Directories are told up to 400 bytes.
func TestDirectoriesOfSkillsAreToldInPart(t *testing.T) {
	for _, n := range []int{400, 401} {
		dir := strings.Repeat("d", n-len("/a"))
		_, d := newWorkspace(t, map[string]string{dir + "/a/SKILL.md": skill("a", "d", "x")})
		c := skills.New(skills.Options{}, skills.Workspace(session, dir), skills.Code[deps](skills.Skill{Name: "z", Description: "d"}))
		_, told := run(t, c, d, load("a"), readFile("a", "more.md"))
		want := dir + "/a"
		if n > 400 {
			want = shown("d", n, 400)
		}
		require.Equal(t, []string{
			"<skill name=\"a\">\nx\n</skill>\n\nThe directory of the skill is " + want + ". Paths in the skill are relative to it.",
			"The skill a is in the working directory. Read " + want + "/more.md with " + workspace.ToolReadFile + ".",
		}, told)
	}
}

// Names of files are told up to 300 bytes, whatever is wrong with the file.
func TestFilesThatAreNoTextAreNamedInPart(t *testing.T) {
	for _, n := range []int{300, 301} {
		name := strings.Repeat("f", n)
		files := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(skill("a", "A.", "a"))}, "s/a/" + name: {Data: []byte("a\x00b")}}
		_, told := run(t, skills.New(skills.Options{}, skills.FS[deps](files, "s")), deps{}, readFile("a", name), load("a"))
		require.Equal(t, "Could not read "+shown("f", n, 300)+" of the skill a: it is not text.", told[0])
		require.True(t, strings.HasSuffix(told[1], "\n- "+shown("f", n, 300)), told[1])
		_, told = run(t, skills.New(skills.Options{}, skills.FS[deps](brokenFile{files, "s/a/" + name}, "s")), deps{}, readFile("a", name))
		require.Equal(t, []string{"Could not read " + shown("f", n, 300) + " of the skill a."}, told)
	}
}

// What is wrong with a skill is told up to 500 bytes.
func TestWhyASkillCannotBeUsedIsToldInPart(t *testing.T) {
	for _, n := range []int{500, 501} {
		_, d := newWorkspace(t, map[string]string{"s/a/SKILL.md": skill("a", "A.", "a")})
		ws := failingRead{d.work.Workspace(), errors.New(strings.Repeat("e", n-len("SKILL.md cannot be read: ")))}
		_, told := run(t, skills.New(skills.Options{Problem: func(context.Context, skills.Problem) {}}, skills.Workspace(session, "s"), skills.Code[deps](skills.Skill{Name: "z", Description: "d"})),
			deps{workspace.NewSession(ws)}, load("a"))
		want := strings.Repeat("e", 475)
		if n > 500 {
			want = strings.Repeat("e", 472) + "…"
		}
		require.Equal(t, []string{"The skill a cannot be used: SKILL.md cannot be read: " + want}, told)
	}
}

// failingRead is a workspace whose files cannot be read.
type failingRead struct {
	workspace.Workspace
	err error
}

func (f failingRead) Read(context.Context, string, workspace.Range) (workspace.File, error) {
	return workspace.File{}, f.err
}

// A description may have 1024 characters of four bytes each, and is then shown whole.
func TestLongestDescriptionIsShownWhole(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("😀", skills.MaxDescription):       strings.Repeat("😀", skills.MaxDescription),
		strings.Repeat("😀", skills.MaxDescription) + "x": strings.Repeat("😀", skills.MaxDescription-1) + "…",
	} {
		files := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(skill("a", text, "a"))}}
		requests, _ := run(t, skills.New(skills.Options{Problem: func(context.Context, skills.Problem) {}}, skills.FS[deps](files, "s")), deps{})
		require.True(t, strings.HasSuffix(requests[0].Instructions, "\n- a: "+want))
	}
}

// Only folders count: any number of files may lie beside the skills, and what is deeper is no skill.
func TestOnlyFoldersCount(t *testing.T) {
	files, disk := map[string]string{"s/z/SKILL.md": skill("z", "Z.", "z"), "s/y/z/SKILL.md": skill("z", "Y.", "y")}, fstest.MapFS{}
	for i := range 500 {
		files[fmt.Sprintf("s/f%03d", i)] = "no folder"
	}
	for name, text := range files {
		disk[name] = &fstest.MapFile{Data: []byte(text)}
	}
	_, d := newWorkspace(t, files)
	for _, source := range []skills.Source[deps]{skills.Workspace(session, "s"), skills.FS[deps](disk, "s")} {
		res, _, err := newAgent(skills.New(skills.Options{}, source)).Command(t.Context(), d, "/skill", nil)
		require.NoError(t, err)
		require.Equal(t, "Skills:\n- z: Z.", res.Notice)
	}
}

// The list of files says when there are more than 100 in a workspace, too.
func TestFilesOfWorkspaceSkillsAreCounted(t *testing.T) {
	for n, more := range map[int]string{100: "\n- f099", 101: "\n[There are more.]"} {
		files := map[string]string{"s/a/SKILL.md": skill("a", "A.", "a")}
		for i := range n {
			files[fmt.Sprintf("s/a/f%03d", i)] = "x"
		}
		_, d := newWorkspace(t, files)
		_, told := run(t, skills.New(skills.Options{}, skills.Workspace(session, "s")), d, load("a"))
		require.Equal(t, 100, strings.Count(told[0], "\n- "))
		require.True(t, strings.HasSuffix(told[0], more), told[0])
	}
}

// Skills are found in a workspace of Windows as well.
func TestSkillsOfAWindowsWorkspace(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{`C:\repo`}, Files: map[string]string{
		`C:\repo\s\a\SKILL.md`: skill("a", "A.", "Do a."), `C:\repo\s\a\dir\x.md`: "x",
	}})
	require.NoError(t, err)
	var wrong []string
	c := skills.New(skills.Options{Problem: func(_ context.Context, p skills.Problem) { wrong = append(wrong, p.String()) }}, skills.Workspace(session, "s"))
	requests, told := run(t, c, deps{workspace.NewSession(ws)}, modeltest.Say(model.ToolCall("1", skills.ToolLoadSkill, `{"name":"a"}`)))
	require.Empty(t, wrong)
	require.True(t, strings.HasSuffix(requests[0].Instructions, "\n\n- a: A."))
	require.Contains(t, told[0], "<skill name=\"a\">\nDo a.\n</skill>\n\nThe directory of the skill is s/a.")
	require.True(t, strings.HasSuffix(told[0], "\n- dir/x.md"), told[0])
}

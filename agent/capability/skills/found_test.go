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
	"github.com/ponte-go/ponte/toolset/workspace"
)

// breaking is a file system that cannot be listed any more when it is broken.
type breaking struct {
	fstest.MapFS
	broken *bool
}

func (b breaking) ReadDir(name string) ([]fs.DirEntry, error) {
	if *b.broken {
		return nil, errors.New("the disk is gone")
	}
	return b.MapFS.ReadDir(name)
}

// A skill is loaded from the source that has it, whatever has become of the others.
func TestSkillsAreLoadedWithoutALookAtOtherSources(t *testing.T) {
	_, d := newWorkspace(t, map[string]string{".agents/skills/a/SKILL.md": skill("a", "Of the workspace.", "Do a.")})
	one := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(skill("a", "Of a file system.", "Do a."))}, "s/b/SKILL.md": {Data: []byte(skill("b", "Of a file system.", "Do b."))}}
	for name, source := range map[string]skills.Source[deps]{
		"code": skills.Code[deps](skills.Skill{Name: "a", Description: "Of code.", Body: "Do a."}, skills.Skill{Name: "b", Description: "Of code.", Body: "Do b."}), "file system": skills.FS[deps](one, "s"), "workspace": skills.Workspace(session),
	} {
		broken := false
		other := skills.FS[deps](breaking{fstest.MapFS{"s/z/SKILL.md": {Data: []byte(skill("z", "Another.", "Do z."))}}, &broken}, "s")
		script := modeltest.Script(func(context.Context, *model.Request) (*model.Message, error) {
			broken = true
			return model.Response(model.ToolCall("1", skills.ToolLoadSkill, `{"name":"a"}`)), nil
		}, modeltest.SayText("done"))
		a := agent.Must(agent.New(agent.Config[deps, string]{Model: script, Capabilities: []agent.Capability[deps]{skills.New(skills.Options{}, source, other)}}))
		res, err := a.Run(t.Context(), d, "go")
		require.NoError(t, err, name)
		require.Contains(t, res.Messages[2].Parts[0].Text, "<skill name=\"a\">\nDo a.\n</skill>", name)
		require.Contains(t, res.Messages[0].Instructions, "- z: Another.")

		broken = false
		script = modeltest.Script(func(context.Context, *model.Request) (*model.Message, error) {
			broken = true
			return model.Response(model.ToolCall("1", skills.ToolLoadSkill, `{"name":"none"}`)), nil
		})
		a = agent.Must(agent.New(agent.Config[deps, string]{Model: script, Capabilities: []agent.Capability[deps]{skills.New(skills.Options{}, source, other)}}))
		_, err = a.Run(t.Context(), d, "go")
		require.ErrorContains(t, err, `skills: file system: skills: list "s": the disk is gone`, name)
	}
}

// Descriptions are cut to 512, 256, 128 and 64 bytes, as few as are needed for all skills to be shown.
func TestDescriptionsAreCutAsLittleAsNeeded(t *testing.T) {
	describe := func(n int) []skills.Skill {
		var all []skills.Skill
		for i := range 10 {
			all = append(all, skills.Skill{Name: fmt.Sprintf("s%d", i), Description: strings.Repeat("d", n), Body: "x"})
		}
		return all
	}
	list := func(room int, all []skills.Skill) string {
		requests, _ := run(t, skills.New(skills.Options{MaxCatalogue: room}, skills.Code[deps](all...)), deps{})
		_, text, ok := strings.Cut(requests[0].Instructions, "follow the instructions.\n")
		require.True(t, ok)
		return text
	}
	requests, _ := run(t, skills.New(skills.Options{}, skills.Code[deps](describe(1)...)), deps{})
	at := strings.Index(requests[0].Instructions, "follow the instructions.\n") + len("follow the instructions.\n")
	begin := strings.LastIndex(requests[0].Instructions[:at], "These skills are available")
	header := at - begin
	line := func(n int) string { return strings.Repeat("d", n) }
	cut := func(n int) string { return line(n-len("…")) + "…" }
	all := describe(1024)
	for _, c := range []struct {
		each int
		want string
	}{{1024, line(1024)}, {512, cut(512)}, {256, cut(256)}, {128, cut(128)}, {64, cut(64)}} {
		room := header + 10*(len("\n- s0: ")+c.each)
		var want strings.Builder
		for i := range 10 {
			fmt.Fprintf(&want, "\n- s%d: %s", i, c.want)
		}
		require.Equal(t, want.String(), list(room, all), c.each)
		if c.each > 64 {
			require.NotEqual(t, want.String(), list(room-1, all), c.each)
		} else {
			got := list(room-1, all)
			require.True(t, strings.HasSuffix(got, "\n- s8: "+cut(64)+"\n[1 more are not shown.]"), got)
		}
	}
	require.Equal(t, "\n[10 more are not shown.]", list(1, all))
}

// A skill of a file system has 512 KiB, a part of a file 64 KiB, to the byte.
func TestFilesOfSkillsAreBoundedExactly(t *testing.T) {
	head := skill("a", "A skill.", "")
	for n, good := range map[int]bool{512<<10 - 1: true, 512 << 10: true, 512<<10 + 1: false} {
		files := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(head + strings.Repeat("x", n-len(head)))}}
		var wrong []string
		o := skills.Options{Problem: func(_ context.Context, p skills.Problem) { wrong = append(wrong, p.String()) }}
		run(t, skills.New(o, skills.FS[deps](files, "s")), deps{})
		if good {
			require.Empty(t, wrong, n)
		} else {
			require.Equal(t, []string{"a (s/a): SKILL.md is larger than 524288 bytes"}, wrong)
		}
	}
	for n, more := range map[int]bool{64<<10 - 1: false, 64 << 10: false, 64<<10 + 1: true} {
		files := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(head + "x")}, "s/a/f.md": {Data: []byte(strings.Repeat("y", n))}}
		_, told := run(t, skills.New(skills.Options{}, skills.FS[deps](files, "s")), deps{}, modeltest.Say(model.ToolCall("1", skills.ToolReadSkillFile, `{"skill":"a","path":"./f.md"}`)))
		want := strings.Repeat("y", min(n, 64<<10))
		if more {
			want += "\n\n[Cut here. To read on, call read_skill_file with offset 65536.]"
		}
		require.Equal(t, []string{want}, told, n)
	}
	for n, cut := range map[int]bool{64 << 10: false, 64<<10 + 1: true} {
		_, told := run(t, skills.New(skills.Options{}, skills.Code[deps](skills.Skill{Name: "a", Description: "d", Body: strings.Repeat("y", n)})), deps{}, load("a"))
		want := "<skill name=\"a\">\n" + strings.Repeat("y", 64<<10) + "\n</skill>"
		if cut {
			want += "\n\n[Cut here: the first 65536 bytes of SKILL.md are shown.]"
		}
		require.Equal(t, []string{want}, told, n)
	}
}

// What the model and people are told has names in at most so many bytes.
func TestNamesOfSkillsAreToldInPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	files := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(skill("a", x(250), "x"))}, "s/a/" + x(310): {Data: []byte("y")}, "s/b/SKILL.md": {Data: []byte("no front matter")}}
	c := skills.New(skills.Options{Problem: func(context.Context, skills.Problem) {}}, skills.FS[deps](files, "s"))
	file := func(skill, path string) modeltest.Step {
		return modeltest.Say(model.ToolCall("1", skills.ToolReadSkillFile, fmt.Sprintf(`{"skill":%q,"path":%q}`, skill, path)))
	}
	_, told := run(t, c, deps{}, load(x(101)), load("a"), file("a", "/"+x(300)), file("a", x(301)), file("a", x(300)), file("a", "../x"), load("b"))
	require.Equal(t, `unknown skill "`+x(97)+`…". Skills: a`, told[0])
	require.True(t, strings.HasSuffix(told[1], "\n- "+x(297)+"…"), told[1])
	require.Equal(t, `"/`+x(296)+`…" is not the path of a file of the skill a.`, told[2])
	require.Equal(t, "The skill a has no file "+x(297)+"….", told[3])
	require.Equal(t, "The skill a has no file "+x(300)+".", told[4])
	require.Equal(t, `"../x" is not the path of a file of the skill a.`, told[5])
	require.Contains(t, told[6], "The skill b cannot be used: ")

	_, d := newWorkspace(t, map[string]string{"dir/a/SKILL.md": skill("a", "d", "x"), "dir/a/more.md": "y"})
	_, told = run(t, skills.New(skills.Options{}, skills.Workspace(session, "dir"), skills.Code[deps](skills.Skill{Name: "z", Description: "d"})), d, file("a", "./"+x(301)), load("a"))
	require.Equal(t, "The skill a is in the working directory. Read dir/a/"+x(297)+"… with "+workspace.ToolReadFile+".", told[0])
	require.True(t, strings.HasSuffix(told[1], "\n\nThe directory of the skill is dir/a. Paths in the skill are relative to it.\n\nFiles of the skill. Read them with "+workspace.ToolReadFile+"; run scripts with "+workspace.ToolRunCommand+".\n- more.md"), told[1])

	a := agent.Must(agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Capabilities: []agent.Capability[deps]{c}}))
	res, _, err := a.Command(t.Context(), deps{}, "/skill", nil)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(res.Notice, "Skills:\n- a: "+x(197)+"…\nLeft out:\n- b (s/b): "), res.Notice)
	res, _, err = a.Command(t.Context(), deps{}, "/skill other do it", nil)
	require.NoError(t, err)
	require.Equal(t, `Unknown skill "other". Skills: a`, res.Notice)
}

// A problem is told on a line, with each of its parts in part.
func TestProblemsAreToldInPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	require.Equal(t, x(100)+" ("+x(300)+"): "+x(500), (&skills.Problem{Skill: x(100), Where: x(300), Err: errors.New(x(500))}).String())
	require.Equal(t, x(97)+"… ("+x(297)+"…): "+x(497)+"…", (&skills.Problem{Skill: x(101), Where: x(301), Err: errors.New(x(501))}).String())
	require.Equal(t, "a (b c): d e", (&skills.Problem{Skill: "a", Where: "b\nc", Err: errors.New("d\n e")}).String())
}

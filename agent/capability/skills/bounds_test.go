// SPDX-License-Identifier: Apache-2.0

package skills_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// The catalogue is sorted by name. If not all of it fits, descriptions are cut, and then skills are left out and counted.
func TestCatalogueIsSortedAndCounted(t *testing.T) {
	var all []skills.Skill
	for i := range 60 {
		all = append(all, skills.Skill{Name: fmt.Sprintf("s%02d", 59-i), Description: strings.Repeat("d", 300), Body: "x"})
	}
	requests, _ := run(t, skills.New(skills.Options{}, skills.Code[deps](all...)), deps{})
	var last string
	n := 0
	for line := range strings.Lines(requests[0].Instructions) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": "); ok && strings.HasPrefix(line, "- s") {
			require.Less(t, last, name)
			last = name
			n++
		}
	}
	require.Equal(t, 60, n)
	header := strings.Index(requests[0].Instructions, "\n\n- s00")
	require.Positive(t, header)
	for room, want := range map[int]int{2000: 0, 6000: 60} {
		requests, _ = run(t, skills.New(skills.Options{MaxCatalogue: room}, skills.Code[deps](all...)), deps{})
		text := requests[0].Instructions
		shown := strings.Count(text, "\n- s")
		if want == 0 {
			require.Contains(t, text, fmt.Sprintf("\n[%d more are not shown.]", 60-shown))
			continue
		}
		require.Equal(t, want, shown)
		require.NotContains(t, text, "more are not shown")
	}
}

// A name that is unknown is answered with the first fifty that there are.
func TestUnknownSkillsAreAnsweredWithNames(t *testing.T) {
	for n, last := range map[int]int{49: 48, 50: 49, 51: 49} {
		var all []skills.Skill
		var names []string
		for i := range n {
			all = append(all, skills.Skill{Name: fmt.Sprintf("s%02d", i), Description: "d", Body: "x"})
			if i <= last {
				names = append(names, fmt.Sprintf("s%02d", i))
			}
		}
		_, told := run(t, skills.New(skills.Options{}, skills.Code[deps](all...)), deps{}, load("other"))
		require.Equal(t, []string{`unknown skill "other". Skills: ` + strings.Join(names, ", ")}, told)
	}
}

// Of the files of a skill a hundred are listed, four directories deep, and the list says when there are more.
func TestListsOfFilesAreBounded(t *testing.T) {
	for n, more := range map[int]bool{100: false, 101: true, 150: true} {
		files := fstest.MapFS{"s/a/SKILL.md": {Data: []byte(skill("a", "A skill.", "Do it."))}, "s/a/1/2/3/deep.md": {Data: []byte("x")}, "s/a/1/2/3/4/deeper.md": {Data: []byte("x")}}
		for i := range n - 1 {
			files[fmt.Sprintf("s/a/f%03d.md", i)] = &fstest.MapFile{Data: []byte("x")}
		}
		_, told := run(t, skills.New(skills.Options{}, skills.FS[deps](files, "s")), deps{}, load("a"))
		require.Equal(t, more, strings.HasSuffix(told[0], "\n[There are more.]"), n)
		require.Equal(t, 100, strings.Count(told[0], "\n- "))
		require.Contains(t, told[0], "\n- 1/2/3/deep.md\n")
		require.NotContains(t, told[0], "deeper")
	}
}

// What is wrong with a skill is told in one line, with everything that is.
func TestMistakesOfSkillsAreTold(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	front := func(name, description, more string) string {
		return "---\nname: " + name + "\ndescription: " + description + "\n" + more + "---\nBody"
	}
	for text, want := range map[string]string{
		front(x(64), x(1024), "compatibility: "+x(500)+"\n"):                           "",
		front("a-b-0", strings.Repeat("é", 1024), "license: MIT\nmetadata:\n  k: v\n"): "",
		front(x(65), "d", ""):                          "the name has 65 characters, at most 64 are allowed",
		front("a", x(1025), ""):                        "the description has 1025 characters, at most 1024 are allowed",
		front("a", "d", "compatibility: "+x(501)+"\n"): "compatibility has 501 characters, at most 500 are allowed",
		front(`""`, `""`, ""):                          "the name is missing; the description is missing",
		front("a--b", "d", ""):                         `the name "a--b" may have lower-case letters, digits and single hyphens only, and no hyphen at either end`,
		front("a-", "d", ""):                           `the name "a-" may have lower-case letters, digits and single hyphens only, and no hyphen at either end`,
		front(`"-a"`, "d", ""):                         `the name "-a" may have lower-case letters, digits and single hyphens only, and no hyphen at either end`,
		front("A", "d", ""):                            `the name "A" may have lower-case letters, digits and single hyphens only, and no hyphen at either end`,
		front("a_b", x(1025), ""):                      `the name "a_b" may have lower-case letters, digits and single hyphens only, and no hyphen at either end; the description has 1025 characters, at most 1024 are allowed`,
		front("a", "d", "") + "\xff":                   "it is not UTF-8 text",
	} {
		s, err := skills.Parse(text)
		if want == "" {
			require.NoError(t, err, "%.80s", text)
			require.Equal(t, "Body", s.Body)
			continue
		}
		require.EqualError(t, err, want, "%.80s", text)
	}
	fails := func(o skills.Options, all ...skills.Source[deps]) string {
		_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Capabilities: []agent.Capability[deps]{skills.New(o, all...)}})
		require.Error(t, err)
		return err.Error()
	}
	ok := skills.Code[deps](skills.Skill{Name: "a", Description: "d"})
	require.Contains(t, fails(skills.Options{MaxCatalogue: -1}, ok), "skills: Options.MaxCatalogue is -1; it must not be negative")
	require.Contains(t, fails(skills.Options{}), "skills: New has no sources: pass Workspace, FS or Code")
	require.Contains(t, fails(skills.Options{}, skills.Workspace[deps](nil)), "skills: Workspace: the function is nil")
	require.Contains(t, fails(skills.Options{}, skills.FS[deps](nil, "x")), `skills: FS: the file system is nil, or "x" is not a valid path: use "." or one like "data/skills"`)
	require.Contains(t, fails(skills.Options{}, skills.FS[deps](fstest.MapFS{}, "/x")), `"/x" is not a valid path`)
	got := fails(skills.Options{}, skills.Code[deps](skills.Skill{Name: "a", Description: "d", Files: map[string]string{"../x": ""}}, skills.Skill{Name: "a", Description: "d", Files: map[string]string{"ok": ""}}, skills.Skill{Name: "B", Description: "d"}))
	require.Contains(t, got, `skills: Code: skill "a": "../x" is not a valid path of a file`)
	require.Contains(t, got, `skills: Code: there are two skills called "a"`)
	require.Contains(t, got, `skills: Code: skill 2 ("B"): the name "B" may have lower-case letters`)
	for _, name := range []string{".", "SKILL.md"} {
		require.Contains(t, fails(skills.Options{}, skills.Code[deps](skills.Skill{Name: "a", Description: "d", Files: map[string]string{name: ""}})), fmt.Sprintf("%q is not a valid path of a file", name))
	}
}

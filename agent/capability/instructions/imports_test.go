// SPDX-License-Identifier: Apache-2.0

package instructions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestImportsFollowTheirFile(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"at the beginning":      {"@docs/a.md", "AGENTS.md docs/a.md docs/b.md"},
		"in a sentence":         {"See @docs/b.md, and @README.", "AGENTS.md docs/b.md README"},
		"absolute":              {"@/repo/docs/b.md", "AGENTS.md docs/b.md"},
		"twice":                 {"@docs/b.md @docs/b.md @./docs/../docs/b.md", "AGENTS.md docs/b.md"},
		"the same by a link":    {"@docs/b.md @docs/link.md", "AGENTS.md docs/b.md"},
		"in a span":             {"`@docs/b.md` and ``x ` @docs/b.md``", "AGENTS.md"},
		"in a longer span":      {"`see @docs/b.md there`", "AGENTS.md"},
		"behind a span":         {"`x` @docs/b.md", "AGENTS.md docs/b.md"},
		"open span":             {"it`s @docs/b.md", "AGENTS.md docs/b.md"},
		"an open run":           {"@odd``", "AGENTS.md odd``"},
		"two backticks":         {"``\n@docs/b.md", "AGENTS.md docs/b.md"},
		"a block, indented":     {"   ```\n@docs/b.md\n   ```", "AGENTS.md"},
		"indented too far":      {"    ```\n@docs/b.md\n    ```", "AGENTS.md docs/b.md"},
		"in a block":            {"```sh\n@docs/b.md\n~~~\n@docs/b.md\n```\n", "AGENTS.md"},
		"in a longer block":     {"~~~~\n~~~\n@docs/b.md\n~~~~\n@README", "AGENTS.md README"},
		"in a word":             {"me@docs/b.md (@docs/b.md)", "AGENTS.md"},
		"a person, a directory": {"@octocat and @docs, @ and @@x", "AGENTS.md"},
		"a home directory":      {"@~/.agents/me.md", "AGENTS.md"},
		"an address":            {"@https://example.com/x.md @file:///repo/docs/b.md", "AGENTS.md"},
		"itself":                {"@AGENTS.md", "AGENTS.md"},
		"a cycle":               {"@cycle/1.md", "AGENTS.md cycle/1.md cycle/2.md"},
		"not a path":            {"@a\x00b @" + strings.Repeat("x", 5000), "AGENTS.md"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{
				"AGENTS.md": strings.ReplaceAll(test.text, "\x00", ""), "README": "read me", "docs/a.md": "a\n@b.md", "docs/b.md": "b",
				"cycle/1.md": "1 @2.md", "cycle/2.md": "2 @1.md @../AGENTS.md", "odd``": "odd",
			}})
			p.link("b.md", "/repo/docs/link.md")
			text := p.standing()
			require.Equal(t, test.want, shown(text))
			require.NotContains(t, text, "Left out")
		})
	}
}

func TestImportsAreNestedFiveDeep(t *testing.T) {
	all := files{"AGENTS.md": "@1.md"}
	for i := 1; i <= 7; i++ {
		all[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("number %d @%d.md @nobody", i, i+1)
	}
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: all})
	text := p.standing()
	require.Equal(t, "AGENTS.md 1.md 2.md 3.md 4.md 5.md", shown(text))
	require.Contains(t, text, "[Left out: @6.md: imports are nested more than 5 deep.]")
	require.Equal(t, 1, strings.Count(text, "Left out"))
}

func TestImportsDoNotLeaveTheWorkspace(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{
		"AGENTS.md": "@../secret.md @/secret.md @links/out.md @links/dir/secret.md @docs/../../secret.md @gone/../../../secret.md",
	}})
	p.write("/secret.md", "the secret")
	p.link("/secret.md", "/repo/links/out.md")
	p.link("../..", "/repo/links/dir")
	text := p.standing()
	require.NotContains(t, text, "the secret")
	for _, name := range []string{"../secret.md", "links/out.md", "links/dir/secret.md"} {
		require.Contains(t, text, "[Left out: @"+name+": it is outside of the workspace.]")
	}
}

func TestManyBadImportsAreNamedInPart(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "@../%d\n", i)
	}
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{"AGENTS.md": b.String()}})
	require.Equal(t, 16, strings.Count(p.standing(), "Left out"))
}

func TestLinksInACircleEnd(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{"AGENTS.md": "@loop/AGENTS.md @self.md"}})
	p.link(".", "/repo/loop")
	p.link("self.md", "/repo/self.md")
	require.Equal(t, "AGENTS.md", shown(p.standing()))
}

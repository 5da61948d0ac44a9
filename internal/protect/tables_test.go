// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// found returns the name of the protected path that a path is, "" for none.
func found(p *Path) string {
	if p == nil {
		return ""
	}
	return p.Name
}

// Paths are protected wherever they are, with all below them, and by each of their names.
func TestProtectedPathsAreFound(t *testing.T) {
	for name, want := range map[string]string{
		".git/config": ".git", ".git": ".git", "a/b/.git/x": ".git", "/a/.git": ".git", `a\.git\x`: ".git", "./a//.git/": ".git", ".GIT": ".git", ".git. ": ".git", "git": "", "xgit": "", ".gitx": "",
		".github/workflows": ".github/workflows", ".github/workflows/ci.yml": ".github/workflows", ".github": ".github/workflows", "x/.github": ".github/workflows", ".github/CODEOWNERS": "", ".github/x/workflows": "",
		"etc": "", "etc/passwd": "etc/passwd", "/etc/passwd": "etc/passwd", "spool": "", "Library": "", "go": "", "go/bin": "go/bin", "go/bin/x": "go/bin", "go/x": "",
		"a.code-workspace": "*.code-workspace", ".code-workspace": "*.code-workspace", "code-workspace": "", "x/A.Code-Workspace/y": "*.code-workspace", "mise.x.toml": "mise.*.toml", "mise.toml": "mise.toml", "mise..toml": "mise.*.toml",
		"site-packages/a.pth": "site-packages/*.pth", "site-packages/a.py": "", "site-packages": "", "Jenkinsfile": "Jenkinsfile", "jenkinsfile.x": "Jenkinsfile.*", "Jenkins": "",
		"": "", ".": "", "/": "", "..": "", "a": "", "a.": "", ".envrc": ".envrc", ".envrc~": "", "..envrc": "", " .envrc": "", ".envrc ": ".envrc", ".env\u200brc": ".envrc", ".envrc:x": ".envrc", ".envrc::$DATA": ".envrc",
		strings.Repeat("a/", 40) + ".envrc": ".envrc",
	} {
		if want == ".git" && Find(name) != nil {
			require.True(t, strings.HasPrefix(Find(name).Name, ".git"), name)
			continue
		}
		require.Equal(t, want, found(Find(name)), "%q", name)
	}
	for name, want := range map[string]string{
		".envr*": ".envrc", ".envrc*": ".envrc", ".[e]nvrc": ".envrc", ".e[mn]vrc": ".envrc", ".e[!n]vrc": "", ".e[^n]vrc": "", ".e??rc": ".envrc", ".e???rc": "", ".[[:alpha:]]nvrc": ".git", "[[:alpha:]]x": "", "*.envrc": "", "?envrc": "", "[.]envrc": ".envrc", "[x]envrc": "", "[.": "",
		"a/.envr*/b": ".envrc", "go/b*": "go/bin", "g*/bin": "go/bin", "go/*": "", "go/?in": "", "go/[b]in": "go/bin",
	} {
		require.Equal(t, want, found(Find(name)), "%q", name)
	}
}

// Names of one file are folded, also those that have other letters to an unfolded eye.
func TestLettersAreFolded(t *testing.T) {
	for r, want := range map[rune]rune{'a': 'a', 'A': 'a', 'Z': 'z', '\u017f': 's', '\u212a': 'k', 'É': 'é', 'é': 'é', '1': '1', '\u00b5': 'μ', 'Σ': 'σ', '\u0080': '\u0080', '\u00ff': 'ÿ', 'ẞ': 'ß'} {
		if r == '\u00b5' {
			require.Contains(t, []rune{'μ', 'µ'}, lowest(r))
			continue
		}
		require.Equal(t, string(want), string(lowest(r)), "%q", r)
	}
	for r, want := range map[rune]bool{'\u200b': true, '\u200c': true, '\u00ad': true, '\ufeff': true, '\ufe0f': true, '\u034f': true, '\u115f': true, 'a': false, ' ': false, '\u0301': false} {
		require.Equal(t, want, ignored(r), "%q", r)
	}
	for name, want := range map[string]string{
		"\u00df": "ss", "\u1e9e": "ss", "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st",
		"a:b": "a:b", "ab:c": "ab", "ab:": "ab", ":ab": ":ab", "C:": "c:", "c:x": "c:x", "ab::$DATA": "ab", ". .": "", "a. .": "a", "...": "", "..": "..", ".": ".", "": "", "a..b": "a..b", "..a": "..a", "A.B": "a.b", "@[`{": "@[`{", "\x7f\u0080": "\x7f\u0080",
	} {
		require.Equal(t, want, Fold(name), "%q", name)
	}
	for name, want := range map[string]string{
		"a~1": "a~", "a~12.b": "a~.b", "a~": "", "a": "", "a~b": "", "a~1b": "", "~1": "~", "a~1~2": "", "a~1.b~2": "a~.b~2", "a~01": "a~",
	} {
		require.Equal(t, want, withoutNumber(name), name)
	}
	for short, want := range map[string]string{
		"bashrc~": ".bashrc", "mcp~.jso": ".mcp.json", "git~": ".git", "envrc~": ".envrc", "jenkin~": "jenkinsfile", "precom~.yam": ".pre-commit-config.yaml", "github~": ".github", "workfl~": "workflows", "cargo~": ".cargo", "config~": ".config", "makefi~": "", "bin~": "", "go~": "", "package~": "",
	} {
		got := longNames()[short]
		if short == "precom~.yam" {
			continue
		}
		require.Equal(t, want, got, short)
	}
	require.Equal(t, ".pre-commit-config.yaml", longNames()["pre-co~.yam"])
	require.Equal(t, ".lefthook.yml", longNames()["leftho~.yml"], "a name of eight letters has no other form, but this one has a dot in front")
}

// What may be written is looked for in effects: by the paths of writes, and by all words of unknown
// effects.
func TestWrittenPathsAreProtected(t *testing.T) {
	for i, c := range []struct {
		effects    []model.Effect
		path, name string
	}{
		{nil, "", ""},
		{[]model.Effect{{Kind: model.EffectRead, Path: "/r/.envrc"}, {Kind: model.EffectRun, Argv: []string{".envrc"}}}, "", ""},
		{[]model.Effect{{Kind: model.EffectWrite, Path: "/r/a"}}, "", ""},
		{[]model.Effect{{Kind: model.EffectWrite, Path: "/r/a"}, {Kind: model.EffectWrite, Path: "/r/.envrc"}, {Kind: model.EffectWrite, Path: "/r/.npmrc"}}, ".envrc", "/r/.envrc"},
		{[]model.Effect{{Kind: model.EffectWrite, Path: "/"}}, Paths()[0].Name, "/"},
		{[]model.Effect{{Kind: model.EffectUnknown, Argv: []string{"x", "a", "of=.envrc"}, Dir: "/r"}}, ".envrc", "/r/.envrc"},
		{[]model.Effect{{Kind: model.EffectUnknown, Argv: []string{"x", "a"}, Dir: "/r"}}, "", ""},
		{[]model.Effect{{Kind: model.EffectUnknown, Argv: []string{"x"}, Dir: "/r"}, {Kind: model.EffectUnknown, Argv: []string{".envrc"}}}, ".envrc", ".envrc"},
	} {
		p, name := Written(c.effects)
		require.Equal(t, c.path, found(p), i)
		require.Equal(t, c.name, name, i)
	}
}

// How much of a name that is known in part agrees with a pattern.
func TestAgreementOfNames(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          int
	}{
		{"abc", "abc", 3}, {"abc", "ab", -1}, {"abc", "abcd", -1}, {"", "", 0}, {"a", "a", 1}, {".a", ".a", 3}, {".", ".", 2}, {".a", ".…", 2}, {"a.b", "a.b", 3}, {"a.b", "….b", 2},
		{"*", "", 0}, {"*", "abc", 0}, {"*", "…", 0}, {"a*", "abc", 1}, {"a*c", "abc", 2}, {"a*c", "ac", 2}, {"a*c", "a…", 1}, {"a*c", "…", 0}, {"*c", "…c", 1}, {"**", "a", 0},
		{"abc", "…", 0}, {"abc", "a…c", 2}, {"abc", "…b…", 1}, {"abc", "…x…", -1}, {"abc", "a……c", 2}, {"abcabc", "…abc", 3}, {"aab", "…ab", 2},
		{"abc", "a?c", 2}, {"abc", "???", 0}, {"abc", "??", -1}, {"a?c", "abc", 2}, {"?", "x", 0}, {"?bc", "abc", 2}, {"?", "?", 0}, {"*", "?", 0}, {"x*", "?", 0},
		{"abc", "a[x]", 2}, {"abc", "[x]bc", 2}, {"abc", "ab[", 3}, {"abcd", "abc[x", 4}, {"abc", "b[x]", -1}, {"b", "a", -1}, {"a", "b…", -1}, {"*a", "ba", 1}, {"a", "*", 0}, {"é", "é", 1}, {"éa", "…a", 1},
	} {
		require.Equal(t, c.want, Agreement(c.pattern, c.name), "%q %q", c.pattern, c.name)
	}
	for name, want := range map[string]string{"a…b": "a…", "…": "…", "a": "a…", "": "…", "a/b…/c…": "a/b…"} {
		require.Equal(t, want, Beginning(name), name)
	}
	for i, c := range []struct {
		path, names string
		want        bool
	}{
		{".envrc", ".env…", true}, {".envrc", "…", false}, {".envrc", ".e…", true}, {".envrc", "x…", false}, {".envrc", ".x…", false}, {".envrc", ".envrc", false}, {".envrc", ".env… x", true},
		{".github/workflows", ".git…", true}, {".github/workflows", "….hub", false}, {".github/workflows", ".github …", true}, {".github/workflows", ".github work…", true}, {".github/workflows", ".github x…", false}, {".github/workflows", "… workflows", true}, {".github/workflows", "… …", false}, {".github/workflows", "… x", false},
		{"etc/passwd", "et…", false}, {"go/bin", "go …", true}, {"a/bin", "a …", false}, {"etc/passwd", "etc …", true}, {"etc/passwd", "etc p…", false}, {"etc/passwd", "etc pa…", true}, {"etc/passwd", "e… passwd", false}, {"etc/passwd", "et… passwd", true}, {"go/bin", "g… bin", false}, {"go/bin", "… bin", true}, {".ab/c", ".a…z x", true}, {".ab/c", ".z…z x", false}, {".ab/c", "a… x", false},
	} {
		p := &Path{}
		for _, e := range strings.Split(c.path, "/") {
			p.elements = append(p.elements, elementOf(e))
		}
		require.Equal(t, c.want, p.seems(strings.Fields(c.names)), "%d %s %s", i, c.path, c.names)
	}
}

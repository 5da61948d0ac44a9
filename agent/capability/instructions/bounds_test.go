// SPDX-License-Identifier: Apache-2.0

package instructions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// A file has 32 KiB, and all that is added at once 64 KiB, to the byte.
func TestBoundsOfInstructionsAreExact(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	framed := func(name, text string) string {
		return "\n\n<project_instructions file=\"" + name + "\">\n" + text + "\n</project_instructions>"
	}
	text := func(o instructions.Options, all files) string {
		p := newProject(t, o, workspace.MemoryConfig{Files: all})
		requests, _ := p.run(nil)
		_, rest, ok := strings.Cut(requests[0].Instructions, "take precedence over all of them.")
		require.True(t, ok)
		rest, _, _ = strings.Cut(rest, "\n\nThe working directory") // of the workspace's own
		return rest
	}
	has := func(o instructions.Options, all files, want string) {
		t.Helper()
		require.Contains(t, text(o, all), want)
	}
	has(instructions.Options{}, files{"AGENTS.md": x(32 << 10)}, framed("AGENTS.md", x(32<<10)))
	require.NotContains(t, text(instructions.Options{}, files{"AGENTS.md": x(32 << 10)}), "Cut here")
	has(instructions.Options{}, files{"AGENTS.md": x(32<<10 + 1)}, framed("AGENTS.md", x(32<<10))+"\n\n[Cut here: the first 32768 bytes are shown. Read AGENTS.md for the rest.]")
	half := x(32<<10-4) + " @b\n"
	has(instructions.Options{}, files{"AGENTS.md": half, "b": x(32<<10-4) + " @c\n", "c": "more"}, "[Left out: @c: there is no room for it.]")
	has(instructions.Options{}, files{"AGENTS.md": half, "b": x(32<<10-5) + " @c\n", "c": "more"}, framed("c", "m")+"\n\n[Cut here: the first 1 bytes are shown. Read c for the rest.]")
	has(instructions.Options{MaxFile: 5, MaxTotal: 8}, files{"AGENTS.md": "@b @c", "b": "bbbbb", "c": "c"}, framed("b", "bbb")+"\n\n[Cut here: the first 3 bytes are shown. Read b for the rest.]\n\n[Left out: @c: there is no room for it.]")
	has(instructions.Options{MaxFile: 5}, files{"AGENTS.md": "12345"}, framed("AGENTS.md", "12345"))
	has(instructions.Options{MaxFile: 5}, files{"AGENTS.md": "123456"}, framed("AGENTS.md", "12345")+"\n\n[Cut here: the first 5 bytes are shown. Read AGENTS.md for the rest.]")
	has(instructions.Options{MaxTotal: 5}, files{"AGENTS.md": "123456"}, framed("AGENTS.md", "12345")+"\n\n[Cut here: the first 5 bytes are shown.")
}

// Two hundred files are looked for at once, and no more.
func TestTwoHundredFilesAreLookedFor(t *testing.T) {
	for n, want := range map[int]int{198: 199, 199: 200, 200: 200, 250: 200} {
		all := files{"AGENTS.md": ""}
		for i := range n {
			all["AGENTS.md"] += fmt.Sprintf("@f%d\n", i)
			all[fmt.Sprintf("f%d", i)] = fmt.Sprint("number ", i)
		}
		p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: all})
		require.Equal(t, want, strings.Count(p.standing(), "<project_instructions "), n)
	}
}

// Of the directories above a place sixty-four are looked at.
func TestSixtyFourDirectoriesAreLookedAt(t *testing.T) {
	for depth, want := range map[int]int{62: 63, 63: 64, 64: 64, 70: 64} {
		all := files{"AGENTS.md": "top"}
		dir := ""
		for i := range depth {
			dir += "d/"
			all[dir+"AGENTS.md"] = fmt.Sprint("level ", i)
		}
		p := newProject(t, instructions.Options{Dir: strings.TrimSuffix(dir, "/")}, workspace.MemoryConfig{Files: all})
		requests, _ := p.run(nil)
		require.Equal(t, want, strings.Count(requests[0].Instructions, "<project_instructions "), depth)

		all[dir+"x.go"] = "package x"
		p = newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: all})
		_, messages := p.run(nil, modeltest.Say(read("1", dir+"x.go")))
		require.Len(t, added(messages), min(depth, 64), depth)
	}
}

// Names in notes are cut to 200 bytes as they are written, and to 400 as paths.
func TestNamesOfFilesAreShownInPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, n := range []int{199, 200, 201, 300} {
		name := "../" + x(n-3)
		shown := name
		if n > 200 {
			shown = name[:197] + "…"
		}
		p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{"AGENTS.md": "@" + name}})
		require.Contains(t, p.standing(), "[Left out: @"+shown+": it is outside of the workspace.]")
	}
	for _, n := range []int{399, 400, 401, 500} {
		path := strings.Repeat(x(90)+"/", 4) + x(n)
		path = path[:n]
		shown := path
		if n > 400 {
			shown = path[:397] + "…"
		}
		p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{"AGENTS.md": "@" + path, path: "found"}})
		require.Contains(t, p.standing(), "<project_instructions file=\""+shown+"\">\nfound\n")
	}
}

// A character that the bound of a file has cut is left out. What is no text stays none.
func TestCutFilesAreTextIfTheWholeIs(t *testing.T) {
	for text, want := range map[string]string{
		"日本語": "日本", "a日本語": "a日本", "ab日本語": "ab日本", "éééa": "éééam", "aéééé": "aééé", "😀😀😀": "😀😀", "a😀😀": "a😀", "ab😀😀": "ab😀", "abc😀😀": "abc😀",
		"1234567é": "1234567", "123456é8": "123456é", "123456日": "123456", "12345日": "12345日", "12345😀": "12345", "1234😀": "1234😀", "1\xff345678": "", "123\xff\xff\xff\xff\xff9": "", "\xff\xff\xff\xff\xff\xff\xff\xff": "",
	} {
		p := newProject(t, instructions.Options{MaxFile: 8}, workspace.MemoryConfig{Files: files{"AGENTS.md": text + "more"}})
		requests, _ := p.run(nil)
		if want == "" {
			require.Contains(t, requests[0].Instructions, "[Left out: AGENTS.md: it is not text.]", "%q", text)
			continue
		}
		require.Contains(t, requests[0].Instructions, "<project_instructions file=\"AGENTS.md\">\n"+want+"\n</project_instructions>", "%q", text)
	}
}

// However little of a file is read, a cut character does not make it something else than text.
func TestShortFilesAreTextIfTheWholeIs(t *testing.T) {
	for n, text := range []string{1: "é", 2: "日", 3: "😀"} {
		if n > 0 {
			p := newProject(t, instructions.Options{MaxFile: n}, workspace.MemoryConfig{Files: files{"AGENTS.md": text}})
			requests, _ := p.run(nil)
			require.NotContains(t, requests[0].Instructions, "AGENTS.md", text)
		}
	}
}

// A zero byte, be it the first, means that a file is no text.
func TestFilesWithAZeroByteAreNoText(t *testing.T) {
	for text, is := range map[string]bool{"\x00text": false, "te\x00xt": false, "text\x00": false, "te\x01xt": true} {
		p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{"AGENTS.md": text}})
		require.Equal(t, !is, strings.Contains(p.standing(), "[Left out: AGENTS.md: it is not text.]"), "%q", text)
	}
}

// unsaved is an editor with text that is not saved yet.
type unsaved struct{ *workspace.Memory }

func (unsaved) Features() workspace.Features {
	return workspace.Features{Read: true, Saved: true, Walk: true}
}

func (u unsaved) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if r.Saved {
		return u.Memory.Read(ctx, path, r)
	}
	f, err := u.Memory.Read(ctx, path, r)
	f.Data = []byte("not saved")
	return f, err
}

// What is being written in an editor is no instruction yet.
func TestInstructionsAreThoseThatAreSaved(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{"AGENTS.md": "Be kind."}})
	p.deps.work = workspace.NewSession(unsaved{p.ws})
	require.Contains(t, p.standing(), "\nBe kind.\n")
}

// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each set of abilities has its tools, in one order. Those that walk say that they do not see
// unsaved text where there is any, and a command can leave its sandbox where that is possible.
func TestToolsOfEachSetOfAbilities(t *testing.T) {
	for _, without := range []bool{false, true} {
		opts := []ToolsOption{}
		if without {
			opts = append(opts, WithoutTerminals())
		}
		made := Tools(func(s *Session) *Session { return s }, opts...).(*tools[*Session])
		require.Len(t, made.cached, 128)
		for i, got := range made.cached {
			has := func(all abilities) bool { return abilities(i)&all == all }
			var want []string
			add := func(needs abilities, names ...string) {
				for _, name := range names {
					if has(needs) {
						want = append(want, name)
					}
				}
			}
			add(canRead, ToolReadFile)
			add(canWrite, ToolWriteFile)
			add(canRead|canWrite, ToolEditFile)
			add(canWalk, ToolListFiles)
			add(canReadSaved|canWalk, ToolSearchFiles)
			add(canCommand, ToolRunCommand)
			if !without {
				add(canCommand, ToolGetTerminalOutput, ToolWaitForTerminalExit, ToolKillTerminal, ToolReleaseTerminal)
			}
			var names []string
			for _, tool := range got {
				name, text := tool.Def.Name, tool.Def.Description
				names = append(names, name)
				walks := name == ToolListFiles || name == ToolSearchFiles
				require.Equal(t, walks && has(canUnsaved), strings.HasSuffix(text, " Unsaved changes in the editor are not seen."), "%b %s", i, name)
				leaves := name == ToolRunCommand && has(canLeave)
				require.Equal(t, leaves, strings.Contains(text, "set sandbox; the user is asked."), "%b %s", i, name)
				require.Equal(t, leaves, strings.Contains(string(tool.Def.Schema), `"sandbox"`), "%b %s", i, name)
				require.Equal(t, name == ToolRunCommand && !without, strings.Contains(string(tool.Def.Schema), `"background"`), "%b %s", i, name)
			}
			require.Equal(t, want, names, "%b", i)
		}
	}
	two, err := NewMemory(MemoryConfig{Roots: []string{"/a", "/b"}})
	require.NoError(t, err)
	require.Equal(t, "The working directory is /a; relative paths start there. Files in these directories can be used too: /b.", instructions(two))
}

// Of the control characters, text has tabs, line breaks, form feeds and escapes.
func TestCharactersOfText(t *testing.T) {
	for r := range rune(0x110) {
		data := []byte{0xff, 0xfe}
		for _, c := range []rune{'a', r, 'b'} {
			data = binary.LittleEndian.AppendUint16(data, uint16(c))
		}
		text, ok := DecodeText(data)
		want := r >= ' ' && r < 0x7f || r >= 0xa0 || strings.ContainsRune("\t\n\r\f\x1b", r)
		require.Equal(t, want, ok, "%U", r)
		if ok {
			require.Equal(t, "\ufeffa"+string(r)+"b", string(text.Data))
			require.Equal(t, "UTF-16LE", text.Encoding)
		}
	}
}

// A character that Windows does not allow is named wherever it is in a name.
func TestCharactersOfWindowsNames(t *testing.T) {
	for _, c := range "\x01\x1f<>:\"|?*" {
		for _, name := range []string{"%ca", "a%c", "%c"} {
			name = fmt.Sprintf(name, c)
			require.EqualError(t, checkWindowsName(name), fmt.Sprintf("Windows does not allow the name %q: it contains %q", name, byte(c)))
		}
	}
	for _, c := range " !#äz~" {
		require.NoError(t, checkWindowsName(fmt.Sprintf("%ca", c)))
	}
	for _, name := range []string{"con", "COM1", "lpt9.txt", "com¹", "NUL .x", "conin$"} {
		require.EqualError(t, checkWindowsName(name), fmt.Sprintf("%q is the name of a device on Windows", name))
	}
	for _, name := range []string{"com", "com10", "lpt", "xcon", "console"} {
		require.NoError(t, checkWindowsName(name))
	}
}

// What is made on a disk in memory has the modes and links that it has on others.
func TestFilesOfADiskInMemory(t *testing.T) {
	w, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	d := w.Disk()
	mode := func(path string, want fs.FileMode) {
		t.Helper()
		got, err := d.Mode(path)
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
	require.NoError(t, d.WriteFile("/project/a/b", []byte("x"), fs.ModeDir|0o640))
	require.NoError(t, d.Symlink("a/b", "/project/l"))
	require.NoError(t, d.Symlink("/project/a", "/project/new/dir"))
	require.NoError(t, d.Pipe("/project/p/q"))
	mode("/project/a", fs.ModeDir|0o755)
	mode("/project/a/b", 0o640)
	mode("/project/l", fs.ModeSymlink|0o777)
	mode("/project/new", fs.ModeDir|0o755)
	mode("/project/p/q", fs.ModeNamedPipe|0o600)
	require.ErrorIs(t, d.Symlink("x", "/project/l"), fs.ErrExist)
	require.ErrorIs(t, d.Pipe("/project/l"), fs.ErrExist)
	require.NoError(t, d.Symlink("gone", "/project/dangling"))
	require.ErrorIs(t, d.Symlink("x", "/project/dangling"), fs.ErrExist, "a link is there, whatever it leads to")
	require.ErrorIs(t, d.Pipe("/project/dangling"), fs.ErrExist)
	require.NoError(t, d.Remove("/project/l"))
	_, err = d.Mode("/project/l")
	require.ErrorIs(t, err, fs.ErrNotExist)
	mode("/project/a/b", 0o640)
	require.NoError(t, d.WriteFile("/project/dangling", []byte("y"), 0o600))
	data, err := d.ReadFile("/project/gone")
	require.NoError(t, err)
	require.Equal(t, "y", string(data), "a link is followed")
	data[0] = 'z'
	data, err = d.ReadFile("/project/gone")
	require.NoError(t, err)
	require.Equal(t, "y", string(data), "what is returned is the caller's")
	require.NoError(t, d.Remove("/project/a"))
	_, err = d.ReadFile("/project/a/b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	v, err := w.Write(t.Context(), "made", []byte("1"), "")
	require.NoError(t, err)
	mode("/project/made", 0o644)
	again, err := w.Write(t.Context(), "made", []byte("1"), v)
	require.NoError(t, err)
	require.NotEqual(t, v, again, "every write has a version of its own")
	_, err = w.Write(t.Context(), "made", []byte("2"), v)
	require.EqualError(t, err, `workspace: write "made": has changed`)
	_, err = w.Write(t.Context(), "none", []byte("2"), "v1")
	require.EqualError(t, err, `workspace: write "none": has changed`)
	_, err = w.Write(t.Context(), "none", []byte("2"), AnyVersion)
	require.NoError(t, err)
}

// A program is found by all its arguments, of which there may be one.
func TestProgramsInMemory(t *testing.T) {
	w, err := NewMemory(MemoryConfig{
		Commands: map[string]MemoryScript{"one": MemoryPrint("1", 0), "one two": MemoryPrint("2", 0)},
		Command: func(c Command) MemoryScript {
			if c.Line == "other" {
				return MemoryPrint("3", 0)
			}
			return nil
		},
	})
	require.NoError(t, err)
	for want, c := range map[string]Command{"1": {Args: []string{"one"}}, "1 ": {Line: "one"}, "2": {Args: []string{"one", "two"}}, "2 ": {Line: "one two"}, "3": {Line: "other"}, "sh: gone: not found\n": {Line: " gone x"}} {
		p, err := w.Start(t.Context(), c)
		require.NoError(t, err)
		_, err = p.Wait(t.Context())
		require.NoError(t, err)
		out, err := p.Output(t.Context(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, strings.TrimSuffix(want, " "), string(out.Data))
		require.NoError(t, p.Close(context.Background()))
	}
	_, err = w.Start(t.Context(), Command{Args: []string{"gone"}})
	require.EqualError(t, err, `workspace: start: no such program: "gone"`)
}

// A model that names a terminal that is not there is told which there are, by the beginning of
// their commands.
func TestTerminalsAreNamed(t *testing.T) {
	w, err := NewMemory(MemoryConfig{Command: func(Command) MemoryScript { return MemoryPrint("", 0) }})
	require.NoError(t, err)
	s := NewSession(w)
	c := &call{Session: s, ws: w}
	_, err = c.terminal(strings.Repeat("i", 201))
	require.EqualError(t, err, `failed: Unknown terminal "`+strings.Repeat("i", 200)+`…": it was closed, or ended with the program that ran it. No terminals are open: run_command with background set to true opens one.`)
	for _, n := range []int{100, 101} {
		title := strings.Repeat("c", n)
		term, err := s.start(t.Context(), Command{Line: title}, "/project", title)
		require.NoError(t, err)
		s.keep(term)
		require.Equal(t, title, term.Title())
	}
	_, err = c.terminal("x")
	require.EqualError(t, err, `failed: Unknown terminal "x". Open terminals: terminal-1 (`+strings.Repeat("c", 100)+"), terminal-2 ("+strings.Repeat("c", 100)+"…).")
	require.NoError(t, s.Close(t.Context()))
}

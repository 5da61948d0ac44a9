// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestReadFile(t *testing.T) {
	r, ws := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a.go": "one\ntwo\nthree\n", "empty": "", "crlf": "a\r\nb"}})
	require.NoError(t, ws.Disk().Mkdir("/project/dir"))
	require.NoError(t, ws.Disk().WriteFile("/project/logo.png", []byte("\x89PNG\r\n\x1a\n\x00\x00"), 0o644))
	require.NoError(t, ws.Disk().WriteFile("/project/latin1", []byte("caf\xe9\n"), 0o644))
	require.NoError(t, ws.Disk().WriteFile("/project/utf16", []byte("\xff\xfea\x00"), 0o644))
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "a.go"}, "one\ntwo\nthree\n"},
		{args{"path": "/project/a.go"}, "one\ntwo\nthree\n"},
		{args{"path": "file:///project/a.go", "line": 2}, "two\nthree\n"},
		{args{"path": "a.go", "line": 2, "limit": 1}, "two\n"},
		{args{"path": "file:///project/a.go#L2"}, "two\n"},
		{args{"path": "file:///project/a.go#L2-3"}, "two\nthree\n"},
		{args{"path": "file:///project/a.go?symbol=Two#L2:3"}, "two\nthree\n"},
		{args{"path": "file:///project/a.go?symbol=Two"}, "one\ntwo\nthree\n"},
		{args{"path": "file:///project/a.go#L2-3", "line": 1, "limit": 1}, "one\n"},
		{args{"path": "file:///project/a.go?x"}, "Could not read file:///project/a.go?x: the file URI has a query or a fragment, which is not part of the path: leave it out; in a name, ? is written %3F and # is %23."},
		{args{"path": "file:///project/a.go#two"}, "one\ntwo\nthree\n"},
		{args{"path": "a.go", "line": 9}, "[The file ends before line 9.]"},
		{args{"path": "empty"}, ""},
		{args{"path": "crlf"}, "a\r\nb"},
		{args{"path": "missing"}, "Could not read missing: not found."},
		{args{"path": "dir"}, "Could not read dir: it is a directory."},
		{args{"path": "a.go/x"}, "Could not read a.go/x: it is not a directory, or a part of its path is a file."},
		{args{"path": "../x"}, "Could not read ../x: the path lies outside of the working directory, or leads out through a link. Use a path inside /project."},
		{args{"path": "a\x00b"}, "Could not read \"a\\x00b\": the path contains a NUL byte."},
		{args{"path": "logo.png"}, "Could not read logo.png: it is a PNG image. read_file reads text only."},
		{args{"path": "latin1"}, "café\n\n[The file is encoded in windows-1252. Edits keep that.]"},
		{args{"path": "utf16"}, "\ufeffa\n\n[No newline at the end.]\n[The file is encoded in UTF-16LE. Edits keep that.]"},
	} {
		require.Equal(t, c.want, r.call("read_file", c.args), c.args)
	}
	require.Empty(t, r.asked, "reading needs no approval")
}

func TestReadFileSaysHowToReadOn(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": b.String(), "long": strings.Repeat("é", 200), "wide": strings.Repeat("x", 9000) + "\nend\n"}}, workspace.WithReadLimit(100))
	text := r.call("read_file", args{"path": "a", "line": 11})
	require.True(t, strings.HasPrefix(text, "line 11\n"))
	require.Contains(t, text, "line 22\n\n[Cut here: these are the lines 11 to 22 of 1000. To read on, call read_file with line 23.]")
	text = r.call("read_file", args{"path": "a", "line": 11, "limit": 500})
	require.Contains(t, text, "line 22\n\n[Cut here: these are the lines 11 to 22. To read on, call read_file with line 23.]")
	require.Equal(t, strings.Repeat("é", 50)+"\n\n[Cut here: line 1 is longer than 100 bytes, the rest of it cannot be shown. The file has 1 lines.]", r.call("read_file", args{"path": "long"}))

	whole := newRig(t, r.ws)
	require.Equal(t, strings.Repeat("x", 8000)+" [1000 bytes of this line left out]\nend\n", whole.call("read_file", args{"path": "wide"}))
}

func TestToolsFollowFeatures(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{})
	told := r.calls(toolCall{"run_command", args{"command": "x"}})[0]
	require.Equal(t, model.PartRetry, told.Kind)
	require.Contains(t, told.Text, `run_command`)
	require.NotContains(t, told.Text, "kill_terminal", "a workspace without commands offers no terminals")
	require.Contains(t, told.Text, "edit_file")
}

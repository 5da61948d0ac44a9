// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// The client reads and writes text in the directory of the session, and nothing else.
func TestFilesOfTheSessionOnly(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir := filepath.Join(base, "project")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for name, text := range map[string]string{"project/a.txt": "one\ntwo\r\nthree", "project/binary": "\xff\xfe\x00", "project/fixed": "fixed", "secret": "secret"} {
		require.NoError(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "fixed"), 0o444))
	require.NoError(t, os.Symlink("../secret", filepath.Join(dir, "link")))
	files, err := local.Open(local.Config{Roots: []string{dir}, NoCommands: true})
	require.NoError(t, err)
	defer files.Close()
	c := &client{files: files}
	read := func(path string, line, limit *uint32) (string, error) {
		resp, err := c.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{Path: path, Line: line, Limit: limit})
		if err != nil {
			return "", err
		}
		return resp.Content, nil
	}
	write := func(path string) error {
		_, err := c.WriteTextFile(t.Context(), &acp.WriteTextFileRequest{Path: path, Content: "written"})
		return err
	}
	for _, want := range []struct {
		line, limit *uint32
		text        string
	}{{nil, nil, "one\ntwo\r\nthree"}, {nil, new(uint32(2)), "one\ntwo\r\n"}, {new(uint32(2)), new(uint32(1)), "two\r\n"}, {new(uint32(9)), nil, ""}} {
		text, err := read(dir+"/a.txt", want.line, want.limit)
		require.NoError(t, err)
		require.Equal(t, want.text, text)
	}
	refused := func(err error, code int, path string) {
		var answer *acp.Error
		require.True(t, errors.As(err, &answer), path)
		require.EqualValues(t, code, answer.Code, "%s: %v", path, err)
	}
	for path, code := range map[string]int{
		base + "/secret": -32602, dir + "/../secret": -32602, dir + "/link": -32602, "a.txt": -32602, dir + "/sub": -32602, dir + "/binary": -32602, dir + "/missing": -32002,
	} {
		_, err := read(path, nil, nil)
		refused(err, code, path)
	}
	for _, path := range []string{base + "/secret", dir + "/link", "a.txt", dir + "/sub", dir + "/fixed"} {
		refused(write(path), -32602, path)
	}
	require.NoError(t, write(dir+"/new/deep.txt"))
	data, err := os.ReadFile(dir + "/new/deep.txt")
	require.NoError(t, err)
	require.Equal(t, "written", string(data))
	data, err = os.ReadFile(base + "/secret")
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
}

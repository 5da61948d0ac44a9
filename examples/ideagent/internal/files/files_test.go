// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/examples/ideagent/internal/files"
)

func open(t *testing.T) (*files.Dir, string) {
	t.Helper()
	dir := t.TempDir()
	d, err := files.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	return d, dir
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestLinesAndLimits(t *testing.T) {
	d, dir := open(t)
	file := put(t, filepath.Join(dir, "a.txt"), "one\ntwo\r\nthree\nfour")
	for _, c := range []struct {
		line, limit int
		want        string
	}{
		{0, 0, "one\ntwo\r\nthree\nfour"},
		{1, 0, "one\ntwo\r\nthree\nfour"},
		{0, 2, "one\ntwo\r\n"},
		{2, 1, "two\r\n"},
		{3, 0, "three\nfour"},
		{4, 9, "four"},
		{5, 1, ""},
		{99, 0, ""},
	} {
		text, err := d.Read(file, c.line, c.limit)
		require.NoError(t, err)
		require.Equal(t, c.want, text, "%+v", c)
	}
	long := put(t, filepath.Join(dir, "long.txt"), strings.Repeat("x", 200_000)+"\nsecond\n")
	text, err := d.Read(long, 2, 1)
	require.NoError(t, err)
	require.Equal(t, "second\n", text)
}

func TestNothingOutsideIsReadOrWritten(t *testing.T) {
	d, dir := open(t)
	outside := put(t, filepath.Join(t.TempDir(), "secret.txt"), "secret")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.txt")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "linked")))
	require.NoError(t, os.Symlink(filepath.Join(filepath.Dir(outside), "new.txt"), filepath.Join(dir, "dangling.txt")))
	for _, path := range []string{
		outside,
		filepath.Join(dir, "link.txt"),
		filepath.Join(dir, "linked", "secret.txt"),
		filepath.Join(dir, "linked", "new", "file.txt"),
		dir + "/../" + filepath.Base(filepath.Dir(outside)) + "/secret.txt",
		"/",
	} {
		_, err := d.Read(path, 0, 0)
		require.Error(t, err, path)
		require.Error(t, d.Write(path, "changed"), path)
		if !strings.Contains(path, "/../") {
			require.ErrorIs(t, err, files.ErrOutside, path)
		}
	}
	require.ErrorIs(t, d.Write(filepath.Join(dir, "dangling.txt"), "x"), fs.ErrNotExist)
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "secret", string(text))
	entries, err := os.ReadDir(filepath.Dir(outside))
	require.NoError(t, err)
	require.Len(t, entries, 1)

	_, err = d.Read("a.txt", 0, 0)
	require.ErrorContains(t, err, "not absolute")
}

func TestLinksInsideAreFollowed(t *testing.T) {
	d, dir := open(t)
	target := put(t, filepath.Join(dir, "sub", "a.txt"), "old")
	link := filepath.Join(dir, "link.txt")
	require.NoError(t, os.Symlink(target, link))
	text, err := d.Read(link, 0, 0)
	require.NoError(t, err)
	require.Equal(t, "old", text)
	require.NoError(t, d.Write(link, "new"))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&fs.ModeSymlink, "a link stays a link")
	data, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
}

func TestADirectoryCanBeGivenThroughALink(t *testing.T) {
	_, dir := open(t)
	put(t, filepath.Join(dir, "a.txt"), "text")
	link := filepath.Join(t.TempDir(), "project")
	require.NoError(t, os.Symlink(dir, link))
	d, err := files.Open(link)
	require.NoError(t, err)
	defer d.Close()
	for _, path := range []string{filepath.Join(link, "a.txt"), filepath.Join(dir, "a.txt")} {
		text, err := d.Read(path, 0, 0)
		require.NoError(t, err)
		require.Equal(t, "text", text)
	}
}

func TestWriting(t *testing.T) {
	d, dir := open(t)
	file := filepath.Join(dir, "new", "deep", "a.txt")
	require.NoError(t, d.Write(file, "one\n"))
	require.NoError(t, d.Write(file, "two\n"))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "two\n", string(data))
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")

	if runtime.GOOS != "windows" {
		script := put(t, filepath.Join(dir, "run.sh"), "x")
		require.NoError(t, os.Chmod(script, 0o751))
		require.NoError(t, d.Write(script, "y"))
		info, err := os.Stat(script)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o751), info.Mode().Perm())

		require.NoError(t, os.Chmod(script, 0o555))
		require.ErrorIs(t, d.Write(script, "z"), fs.ErrPermission)
	}
}

func TestWhatIsNoTextIsRefused(t *testing.T) {
	d, dir := open(t)
	binary := put(t, filepath.Join(dir, "a.bin"), "\xff\xfe\x00")
	_, err := d.Read(binary, 0, 0)
	require.ErrorIs(t, err, files.ErrNotText)
	_, err = d.Read(dir, 0, 0)
	require.ErrorIs(t, err, files.ErrNotText)
	require.ErrorContains(t, err, "directory")
	require.ErrorIs(t, d.Write(dir, "x"), files.ErrNotText)
	missing := filepath.Join(dir, "missing.txt")
	_, err = d.Read(missing, 0, 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, missing)
	large := filepath.Join(dir, "large")
	require.NoError(t, os.WriteFile(large, nil, 0o644))
	require.NoError(t, os.Truncate(large, files.MaxSize+1))
	_, err = d.Read(large, 0, 0)
	require.ErrorIs(t, err, files.ErrTooLarge)
}

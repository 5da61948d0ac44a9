// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
)

// readIn reads a file in a session, and returns the path that the client was asked for; empty if it was not asked.
func readIn(t *testing.T, cwd string, additional []string, name string) (path, told string) {
	t.Helper()
	editor := acptest.New(acptest.Options{})
	d := editor.Deps(cwd)
	d.Session.AdditionalDirectories = additional
	r := runTools(t.Context(), t, editor, d, []model.Part{call("c1", "read_file", args{"path": name})})
	for _, c := range editor.Calls() {
		path = c.Params.(*acp.ReadTextFileRequest).Path
	}
	return path, r.answer(t).Text
}

func TestPathsAreMadeAbsoluteAndClean(t *testing.T) {
	for name, want := range map[string]string{
		"a.go":               "/project/a.go",
		"./b/../a.go":        "/project/a.go",
		"b//c/":              "/project/b/c",
		"/project/x/y":       "/project/x/y",
		"/more/z":            "/more/z",
		"../more/z":          "/more/z",
		"../project/a":       "/project/a",
		"a b\tc":             "/project/a b\tc",
		"..a":                "/project/..a",
		`C:\x`:               `/project/C:\x`,
		"/project/../more/z": "/more/z",
	} {
		got, _ := readIn(t, "/project", []string{"/more"}, name)
		assert.Equal(t, want, got, name)
	}
}

func TestPathsOutsideOfTheSessionAreRefused(t *testing.T) {
	for _, name := range []string{"../secret", "/etc/passwd", "/project/../etc/passwd", "/project2/a", "b/../../x", "/", "/more2", "a\x00b"} {
		got, told := readIn(t, "/project", []string{"/more"}, name)
		assert.Empty(t, got, name)
		assert.Contains(t, told, "path", name)
	}
	got, _ := readIn(t, "/", nil, "/etc/hosts.not-there")
	assert.Equal(t, "/etc/hosts.not-there", got)
}

func TestWindowsPaths(t *testing.T) {
	const cwd = `C:\Code\proj`
	for name, want := range map[string]string{
		`a.go`:                      `C:\Code\proj\a.go`,
		`sub/a.go`:                  `C:\Code\proj\sub\a.go`,
		`.\sub\..\a.go`:             `C:\Code\proj\a.go`,
		`c:/code/PROJ/a.go`:         `C:\code\PROJ\a.go`,
		`\code\proj\a.go`:           `C:\code\proj\a.go`,
		`\\?\C:\Code\proj\a`:        `C:\Code\proj\a`,
		`\\srv\share\x`:             `\\srv\share\x`,
		`//SRV/share/x/../y`:        `\\SRV\share\y`,
		`\\?\UNC\srv\share\deep\..`: `\\srv\share\`,
		`C:\Code\proj`:              `C:\Code\proj`,
	} {
		got, _ := readIn(t, cwd, []string{`\\srv\share`}, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{
		`..\x`, `C:\Code\projx\a`, `D:\Code\proj\a`, `\\srv\other\x`, `C:a.go`, `\\.\C:\x`, `\\?\GLOBALROOT\x`,
		`a.go:stream`, `sub.\a`, `..\proj \a`, `... \x`, `/etc/passwd`, `\\srv\share\..\other`,
	} {
		got, told := readIn(t, cwd, []string{`\\srv\share\in`}, name)
		assert.Empty(t, got, name)
		assert.Regexp(t, "path|Windows does not allow", told, name)
	}
}

// Only letters name drives.
func TestOtherCharactersAreNoDrives(t *testing.T) {
	for _, drive := range []string{"`", "{", "@", "[", "1", "é"} {
		got, told := readIn(t, `C:\Code\proj`, nil, drive+`:\Code\proj\a`)
		assert.Empty(t, got)
		assert.Contains(t, told, "Windows does not allow", drive)
	}
}

func TestALinkCountsByWhatItLeadsTo(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	project, outside := filepath.Join(base, "project"), filepath.Join(base, "outside")
	require.NoError(t, os.MkdirAll(filepath.Join(project, "real"), 0o755))
	require.NoError(t, os.MkdirAll(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(project, "file"), nil, 0o644))
	for link, target := range map[string]string{
		"out":      outside,
		"up":       "../outside",
		"in":       "real",
		"dangling": filepath.Join(outside, "not-there"),
		"chain":    "up",
		"loop":     "loop",
		"self":     project,
		"dotdot":   "real/../../outside",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(project, link)))
	}
	require.NoError(t, os.Symlink(project, filepath.Join(base, "alias")))

	for name, ok := range map[string]bool{
		"in/a": true, "real/a": true, "new/dir/a": true, "self/self/real/a": true,
		"file/x": false, "out/a": false, "up/a": false, "dangling": false, "chain/a": false, "loop/a": false, "dotdot/a": false, "self/out/x": false,
		// A path must begin with a directory of the session as it was named.
		filepath.Join(base, "alias", "real", "a"): false,
		filepath.Join(base, "alias", "out", "a"):  false,
	} {
		got, told := readIn(t, project, nil, name)
		if ok {
			want := name
			if !filepath.IsAbs(name) {
				want = filepath.Join(project, name)
			}
			assert.Equal(t, want, got, "%s: %s", name, told)
		} else {
			assert.Empty(t, got, name)
		}
	}
	// A session whose directory is itself a link is not out of bounds.
	got, _ := readIn(t, filepath.Join(base, "alias"), nil, "real/a")
	assert.Equal(t, filepath.Join(base, "alias", "real", "a"), got)
	_, told := readIn(t, project, nil, "out/a")
	assert.Contains(t, told, "leads out through a link")
}

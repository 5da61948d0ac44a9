// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestLocateSlashPaths(t *testing.T) {
	roots := []string{"/project", "/more"}
	for name, want := range map[string]workspace.Location{
		"a.go":                         {Path: "/project/a.go", Name: "a.go"},
		".":                            {Path: "/project", Name: "."},
		"./b/../a.go":                  {Path: "/project/a.go", Name: "a.go"},
		"b//c/":                        {Path: "/project/b/c", Name: "b/c"},
		"/project/x/y":                 {Path: "/project/x/y", Name: "x/y"},
		"/more":                        {Path: "/more", Root: 1, Name: "."},
		"/more/":                       {Path: "/more", Root: 1, Name: "."},
		"../more/z":                    {Path: "/more/z", Root: 1, Name: "z"},
		"/project/../more/z":           {Path: "/more/z", Root: 1, Name: "z"},
		"..a":                          {Path: "/project/..a", Name: "..a"},
		"a b\tc":                       {Path: "/project/a b\tc", Name: "a b\tc"},
		`C:\x`:                         {Path: `/project/C:\x`, Name: `C:\x`},
		"a%20b":                        {Path: "/project/a%20b", Name: "a%20b"},
		"file:///project/a%20b%3F":     {Path: "/project/a b?", Name: "a b?"},
		"FILE://localhost/project/%61": {Path: "/project/a", Name: "a"},
		"file:/project/x":              {Path: "/project/x", Name: "x"},
	} {
		got, err := workspace.Locate(roots, name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	got, err := workspace.Locate([]string{"/"}, "etc/hosts")
	require.NoError(t, err)
	require.Equal(t, workspace.Location{Path: "/etc/hosts", Name: "etc/hosts"}, got)
}

func TestLocateRefusesSlashPaths(t *testing.T) {
	for name, want := range map[string]error{
		"":                              workspace.ErrPath,
		"a\x00b":                        workspace.ErrPath,
		strings.Repeat("a", 5000):       workspace.ErrPath,
		"file://other/project/a":        workspace.ErrPath,
		"file:///project/a%00":          workspace.ErrPath,
		"file:///project%2fa":           workspace.ErrPath,
		"file:///project/..%2F..%2Fetc": workspace.ErrPath,
		"file:///project/a?b":           workspace.ErrPath,
		"file:///project/a#b":           workspace.ErrPath,
		"file:///project/%zz":           workspace.ErrPath,
		"file:a":                        workspace.ErrPath,
		"file://project":                workspace.ErrPath,
		"file:":                         workspace.ErrPath,
		"..":                            workspace.ErrOutside,
		"../secret":                     workspace.ErrOutside,
		"b/../../x":                     workspace.ErrOutside,
		"/etc/passwd":                   workspace.ErrOutside,
		"/project/../etc/passwd":        workspace.ErrOutside,
		"/project2/a":                   workspace.ErrOutside,
		"/":                             workspace.ErrOutside,
		"/more2":                        workspace.ErrOutside,
		"file:///etc/passwd":            workspace.ErrOutside,
		"file:///project/%2e%2e/etc":    workspace.ErrOutside,
	} {
		_, err := workspace.Locate([]string{"/project", "/more"}, name)
		require.ErrorIs(t, err, want, name)
	}
	_, err := workspace.Locate(nil, "a")
	require.ErrorIs(t, err, workspace.ErrOutside)
}

func TestLocateWindowsPaths(t *testing.T) {
	roots := []string{`C:\Code\proj`, `\\srv\share\in`}
	for name, want := range map[string]workspace.Location{
		`a.go`:                           {Path: `C:\Code\proj\a.go`, Name: "a.go"},
		`sub/a.go`:                       {Path: `C:\Code\proj\sub\a.go`, Name: "sub/a.go"},
		`.\sub\..\a.go`:                  {Path: `C:\Code\proj\a.go`, Name: "a.go"},
		`c:/code/PROJ/a.go`:              {Path: `C:\code\PROJ\a.go`, Name: "a.go"},
		`\code\proj\a.go`:                {Path: `C:\code\proj\a.go`, Name: "a.go"},
		`\\?\C:\Code\proj\a`:             {Path: `C:\Code\proj\a`, Name: "a"},
		`\\srv\share\in\x`:               {Path: `\\srv\share\in\x`, Root: 1, Name: "x"},
		`//SRV/share/in/x/../y`:          {Path: `\\SRV\share\in\y`, Root: 1, Name: "y"},
		`\\?\unc\srv\share\in\deep\..`:   {Path: `\\srv\share\in`, Root: 1, Name: "."},
		`C:\Code\proj`:                   {Path: `C:\Code\proj`, Name: "."},
		`file:///C:/Code/proj/a%20b`:     {Path: `C:\Code\proj\a b`, Name: "a b"},
		`file:///c%3A/Code/proj/a`:       {Path: `C:\Code\proj\a`, Name: "a"},
		`file://srv/share/in/x`:          {Path: `\\srv\share\in\x`, Root: 1, Name: "x"},
		`file:////srv/share/in/x`:        {Path: `\\srv\share\in\x`, Root: 1, Name: "x"},
		`C:\CODE\PROJ\` + "\u00e4\u00c4": {Path: `C:\CODE\PROJ\` + "\u00e4\u00c4", Name: "\u00e4\u00c4"},
	} {
		got, err := workspace.Locate(roots, name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

func TestLocateRefusesWindowsPaths(t *testing.T) {
	for name, want := range map[string]error{
		`..\x`: workspace.ErrOutside, `C:\Code\projx\a`: workspace.ErrOutside, `D:\Code\proj\a`: workspace.ErrOutside,
		`\\srv\share`: workspace.ErrOutside, `\\srv\other\in\x`: workspace.ErrOutside, `/etc/passwd`: workspace.ErrOutside,
		`\\srv\share\in\..\other`: workspace.ErrOutside, "C:\\\u212aode\\proj\\a": workspace.ErrOutside,
		`C:a.go`: workspace.ErrPath, `C:`: workspace.ErrPath, `\\.\C:\x`: workspace.ErrPath, `\\?\GLOBALROOT\x`: workspace.ErrPath,
		`\??\C:\x`: workspace.ErrPath, `//./pipe/x`: workspace.ErrPath, `a.go:stream`: workspace.ErrPath, `sub.\a`: workspace.ErrPath,
		`..\proj \a`: workspace.ErrPath, `... \x`: workspace.ErrPath, `NUL`: workspace.ErrPath, `sub\con.txt`: workspace.ErrPath,
		`com1`: workspace.ErrPath, `LPT¹.log`: workspace.ErrPath, `CON .txt`: workspace.ErrPath, `a*b`: workspace.ErrPath, "a\nb": workspace.ErrPath,
		`\\srv`: workspace.ErrPath, `\\srv\`: workspace.ErrPath, `\\..\share\x`: workspace.ErrPath, `é:\Code\proj\a`: workspace.ErrPath,
		`file:///Code/proj/a`: workspace.ErrPath, `file:///C:/Code%5Cproj`: workspace.ErrPath,
	} {
		_, err := workspace.Locate([]string{`C:\Code\proj`, `\\srv\share\in`}, name)
		require.ErrorIs(t, err, want, name)
	}
}

// TestAcceptedPathIsAcceptedAgain is about names that are too long only when their directory
// stands in front of them.
func TestAcceptedPathIsAcceptedAgain(t *testing.T) {
	for _, root := range []string{"/project", `C:\project`} {
		fits, over := strings.Repeat("a", 4096-len(root)-1), strings.Repeat("a", 4096-len(root))
		got, err := workspace.Locate([]string{root}, fits)
		require.NoError(t, err)
		_, err = workspace.Locate([]string{root}, got.Path)
		require.NoError(t, err)
		_, err = workspace.Locate([]string{root}, over)
		require.ErrorIs(t, err, workspace.ErrPath)
		_, err = workspace.Locate([]string{root}, "b/../"+fits)
		require.NoError(t, err)
	}
}

// FuzzLocate looks for paths that are accepted although they lie outside, or that are not clean.
func FuzzLocate(f *testing.F) {
	for _, seed := range []string{"a/../b", "../x", "file:///p/a%20b", `C:\p\a`, `\\srv\share\x`, `c:/P/./x`, "/p//a/", "ſ/K"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, root := range []string{"/p", "/", `C:\p`, `\\srv\share\in`} {
			got, err := workspace.Locate([]string{root}, name)
			if err != nil {
				require.True(t, strings.Contains(err.Error(), "outside") || len(err.Error()) > 10)
				continue
			}
			s := workspace.StyleOf(root)
			require.True(t, s.Contains(root, got.Path))
			for part := range strings.SplitSeq(got.Name, "/") {
				require.NotEqual(t, "..", part)
				require.True(t, part != "" && (part != "." || got.Name == "."), got.Name)
			}
			again, err := workspace.Locate([]string{root}, got.Path)
			require.NoError(t, err)
			require.Equal(t, got, again, "an accepted path must be clean")
			joined, err := workspace.Locate([]string{root}, s.Join(root, got.Name))
			require.NoError(t, err)
			require.Equal(t, s.Fold(got.Path), s.Fold(joined.Path))
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func TestAllDirectoriesAreSearched(t *testing.T) {
	// One directory lies within another, where it would be ignored.
	r, ws := inMemory(t, workspace.MemoryConfig{
		Roots: []string{"/project", "/more", "/project/build/gen"},
		Files: map[string]string{".gitignore": "build\n", "a.go": "package a\n", "build/b.go": "package b\n", "build/gen/c.go": "package c\n"},
	})
	disk := ws.Disk()
	require.NoError(t, disk.WriteFile("/more/.gitignore", []byte("*.log\n"), 0o644))
	require.NoError(t, disk.WriteFile("/more/a.log", []byte("package\n"), 0o644))
	require.NoError(t, disk.WriteFile("/more/d.go", []byte("package d\n"), 0o644))
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"search_files", args{"pattern": "^package"}, "a.go:1: package a\n/more/d.go:1: package d\nbuild/gen/c.go:1: package c\n"},
		{"search_files", args{"pattern": "^package", "include_ignored": true}, "a.go:1: package a\nbuild/b.go:1: package b\n/more/a.log:1: package\n/more/d.go:1: package d\nbuild/gen/c.go:1: package c\n"},
		{"search_files", args{"pattern": "^package", "path": "."}, "a.go:1: package a\n"},
		{"list_files", args{"pattern": "*.go"}, "a.go\n/more/d.go\nbuild/gen/c.go\n"},
		{"list_files", args{"pattern": "*.go", "path": "/more"}, "/more/d.go\n"},
		{"list_files", args{}, ".gitignore\na.go\n"},
	} {
		require.Equal(t, c.want, r.call(c.tool, c.args), "%s %v", c.tool, c.args)
	}
	require.NoError(t, disk.Remove("/more"))
	require.Equal(t, "a.go\nbuild/gen/c.go\n[1 directories could not be read.]\n", r.call("list_files", args{"pattern": "*.go"}), "the others are searched all the same")
}

// A user may open a directory by a link. Compilers and other programs name files by where they are.
func TestRealPathOfALinkedDirectoryIsInside(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	require.NoError(t, os.MkdirAll(filepath.Join(real, "sub"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(base, "realm"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "realm", "x"), []byte("x"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(real, "sub", "a.go"), []byte("package a\n"), 0o644))
	require.NoError(t, os.Symlink(real, link))
	disk, err := local.Open(local.Config{Roots: []string{link}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = disk.Close() })

	for name, ws := range map[string]workspace.Workspace{"on disk": disk, "recorded": checkpoint.New(disk, checkpoint.Options{})} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(real, "sub", "a.go")
			require.NoError(t, os.WriteFile(file, []byte("package a\n"), 0o644))
			r := newRig(t, ws)
			require.Equal(t, "package a\n", r.call("read_file", args{"path": file}))
			require.Equal(t, "sub/a.go\n", r.call("list_files", args{"path": filepath.Join(real, "sub")}))
			require.Equal(t, "sub/a.go:1: package a\n", r.call("search_files", args{"pattern": "a", "path": file}))
			require.Contains(t, r.call("edit_file", args{"path": file, "edits": []args{{"old_text": "package a", "new_text": "package b"}}}), "sub/a.go")
			require.Equal(t, filepath.Join(link, "sub", "a.go"), r.asked[0].Approval.Preview[0].Diff.Path, "a file has one name")
			require.Contains(t, r.call("run_command", args{"command": "cat a.go", "cwd": filepath.Join(real, "sub")}), "package b")
			require.Contains(t, r.call("read_file", args{"path": filepath.Join(base, "realm", "x")}), "outside")
			require.Contains(t, r.call("read_file", args{"path": filepath.Join(real, "..", "realm", "x")}), "outside")
		})
	}
}

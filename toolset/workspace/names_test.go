// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// opened returns a workspace of directories below base. The files of its tests are in p and q.
func opened(t *testing.T, base string, roots ...string) *local.Workspace {
	t.Helper()
	for i, root := range roots {
		roots[i] = base + "/" + root
	}
	ws, err := local.Open(local.Config{Roots: roots})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// A file is found once, although a directory was given twice, inside another one, or by a link.
func TestEachFileIsFoundOnce(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, base+"/p/a.txt", "needle\n")
	put(t, base+"/p/sub/b.txt", "needle\n")
	require.NoError(t, os.Symlink("p/sub", base+"/l"))
	require.NoError(t, os.Symlink("p", base+"/lp"))
	for _, roots := range [][]string{{"p", "p"}, {"p", "p/"}, {"p", "p/sub"}, {"p/sub", "p"}, {"p", "l"}, {"l", "p"}, {"p", "lp"}, {"lp", "p"}, {"l", "lp", "p/sub", "p"}} {
		for name, ws := range map[string]workspace.Workspace{"on disk": opened(t, base, append([]string(nil), roots...)...), "recorded": checkpoint.New(opened(t, base, append([]string(nil), roots...)...), checkpoint.Options{})} {
			r := newRig(t, ws)
			for _, found := range []string{
				r.call("search_files", args{"pattern": "needle"}), r.call("list_files", args{"pattern": "*.txt"}), r.call("list_files", args{"depth": 3, "include_ignored": true}),
			} {
				require.Regexp(t, `^[^\0]*a\.txt[^\0]*$`, found, "%v %s", roots, name)
				require.NotRegexp(t, `a\.txt[^\0]*a\.txt`, found, "%v %s", roots, name)
				require.NotRegexp(t, `b\.txt[^\0]*b\.txt`, found, "%v %s", roots, name)
				require.Contains(t, found, "b.txt", "%v %s", roots, name)
			}
		}
	}
}

// "Always" is about a file, whichever of its names the model uses, and ends where a link leads to
// another file.
func TestAlwaysCoversAFileByEachOfItsNames(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, base+"/p/src/a.txt", "1\n")
	put(t, base+"/p/other.txt", "1\n")
	require.NoError(t, os.Symlink("src", base+"/p/dir"))
	require.NoError(t, os.Symlink("src/a.txt", base+"/p/link"))
	require.NoError(t, os.Symlink("p/src", base+"/q"))
	inside, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"src/a.txt": "1\n", "other.txt": "1\n"}})
	require.NoError(t, err)
	require.NoError(t, inside.Disk().Symlink("src", "/project/dir"))
	require.NoError(t, inside.Disk().Symlink("src/a.txt", "/project/link"))
	for name, c := range map[string]struct {
		ws     workspace.Workspace
		more   []string
		retake func()
	}{
		"on disk": {opened(t, base, "p", "q"), []string{base + "/q/a.txt"}, func() {
			require.NoError(t, os.Remove(base+"/p/link"))
			require.NoError(t, os.Symlink("other.txt", base+"/p/link"))
		}},
		"in memory": {checkpoint.New(inside, checkpoint.Options{}), nil, func() {
			require.NoError(t, inside.Disk().Remove("/project/link"))
			require.NoError(t, inside.Disk().Symlink("other.txt", "/project/link"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.ws)
			var asked []string
			r.asker = approval.Remember(new(approval.Policy), toolset.AskerFuncs{OnApprove: func(_ context.Context, req toolset.ApprovalRequest) (toolset.Decision, error) {
				asked = append(asked, req.Approval.Title+": "+req.Approval.ScopeTitle)
				return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
			}})
			for i, path := range append([]string{"link", "src/a.txt", "dir/a.txt"}, c.more...) {
				r.call("write_file", args{"path": path, "content": string(rune('a' + i))})
			}
			require.Equal(t, []string{"Edit link (a link to src/a.txt): changes to src/a.txt"}, asked)
			c.retake()
			r.call("write_file", args{"path": "link", "content": "x"})
			require.Equal(t, "Edit link (a link to other.txt): changes to other.txt", asked[1])
		})
	}
}

// What was approved is what is written, also if the link leads to another file with the same
// content by then.
func TestLinkThatIsChangedWhileTheQuestionIsOpenIsShownAgain(t *testing.T) {
	for _, content := range []string{"1\n", ""} {
		r, ws := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"keep": ""}})
		if content != "" {
			require.NoError(t, ws.Disk().WriteFile("/project/a", []byte(content), 0o644))
			require.NoError(t, ws.Disk().WriteFile("/project/b", []byte(content), 0o644))
		}
		require.NoError(t, ws.Disk().Symlink("a", "/project/link"))
		var asked []string
		r.asker = toolset.AskerFuncs{OnApprove: func(_ context.Context, req toolset.ApprovalRequest) (toolset.Decision, error) {
			asked = append(asked, req.Approval.Title)
			if len(asked) == 1 {
				require.NoError(t, ws.Disk().Remove("/project/link"))
				require.NoError(t, ws.Disk().Symlink("b", "/project/link"))
				return toolset.Allow(), nil
			}
			return toolset.Deny("not that one"), nil
		}}
		r.call("write_file", args{"path": "link", "content": "2\n"})
		require.Len(t, asked, 2)
		require.Contains(t, asked[0], "link (a link to a)")
		require.Contains(t, asked[1], "link (a link to b)")
		if content != "" {
			data, err := ws.Disk().ReadFile("/project/b")
			require.NoError(t, err)
			require.Equal(t, content, string(data))
		}
	}
}

func TestLinksWithLinesAreListedAndSearched(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"sub/a.go": "package a\n"}})
	for _, lines := range []string{"", "#L5-10", "?symbol=f#L1"} {
		require.Equal(t, "sub/a.go:1: package a\n", r.call("search_files", args{"pattern": "a", "path": "file:///project/sub/a.go" + lines}))
		require.Equal(t, "sub/a.go\n", r.call("list_files", args{"path": "file:///project/sub" + lines}))
	}
}

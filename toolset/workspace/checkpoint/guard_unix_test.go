// SPDX-License-Identifier: Apache-2.0

//go:build unix

package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// What must not be read is not listed either, under whichever name it was written or is asked for.
func TestListedChangesFollowLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, os.Mkdir(at("keys"), 0o700))
	for _, name := range []string{"keys/id", "plain", "later"} {
		require.NoError(t, os.WriteFile(at(name), []byte("sesame"), 0o600))
	}
	require.NoError(t, os.Symlink("keys/id", at("link")))
	require.NoError(t, os.Symlink("keys", at("dir")))
	disk, err := local.Open(local.Config{Roots: []string{root}, NoCommands: true})
	require.NoError(t, err)
	defer disk.Close()
	r := checkpoint.New(disk, checkpoint.Options{})
	r.GuardReads(func(path string) (toolset.Verdict, string) {
		if strings.HasPrefix(path, at("keys")+"/") {
			return toolset.VerdictDeny, ""
		}
		return "", ""
	})
	for _, name := range []string{"link", "dir/id", "plain", "later"} {
		_, err := r.Write(t.Context(), name, []byte("new "+name), workspace.AnyVersion)
		require.NoError(t, err)
	}
	require.NoError(t, os.Remove(at("later")))
	require.NoError(t, os.Symlink("keys/id", at("later"))) // from now on it is what must not be read
	list := func(args string) string {
		t.Helper()
		set := checkpoint.Tools(func(r *checkpoint.Recorder) *checkpoint.Recorder { return r })
		run := &toolset.RunContext[*checkpoint.Recorder]{Deps: r}
		res, err := toolsettest.Call(t.Context(), set, run, checkpoint.ToolListChanges, args)
		require.NoError(t, err)
		return fmt.Sprint(res)
	}
	all := list(`{"checkpoint":1}`)
	require.Contains(t, all, "new plain")
	require.NotContains(t, all, "new link")
	require.NotContains(t, all, "new dir/id")
	require.NotContains(t, all, "new later")
	for _, name := range []string{"keys/id", "link", "dir/id", "later"} {
		text := list(`{"checkpoint":1,"path":"` + name + `"}`)
		require.Contains(t, text, "must not be shown", name)
		require.NotContains(t, text, "sesame", name)
	}
}

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

// The protocol cannot list and search, so that is done on this machine, in the session's directories and whatever the client can do.
func TestFilesAreListedAndSearchedOnThisMachine(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	project, more := filepath.Join(base, "project"), filepath.Join(base, "more")
	for path, text := range map[string]string{
		"project/a.go": "package a\n", "project/lib/b.go": "package lib\n", "project/out.log": "package\n", "project/.gitignore": "*.log\n", "more/c.go": "package c\n", "secret": "package\n",
	} {
		path = filepath.Join(base, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for name, can := range map[string]acp.ClientCapabilities{"nothing": {}, "files": {FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}}} {
		editor := acptest.New(acptest.Options{Capabilities: &can})
		d := editor.Deps(project)
		d.Session.AdditionalDirectories = []string{more}
		r := runTools(t.Context(), t, editor, d, []model.Part{
			call("c1", "list_files", args{"pattern": "*.go"}), call("c2", "search_files", args{"pattern": "^package"}), call("c3", "search_files", args{"pattern": "package", "path": more}),
			call("c4", "list_files", args{"path": ".."}),
		})
		require.NoError(t, r.err, name)
		told := r.answers()
		assert.Equal(t, "a.go\nlib/b.go\n"+filepath.Join(more, "c.go")+"\n", told[0].Text)
		assert.Equal(t, "a.go:1: package a\nlib/b.go:1: package lib\n"+filepath.Join(more, "c.go")+":1: package c\n", told[1].Text)
		assert.Equal(t, filepath.Join(more, "c.go")+":1: package c\n", told[2].Text)
		assert.Equal(t, model.OutcomeFailed, told[3].Outcome)
		assert.Empty(t, editor.Permissions())
		assert.Contains(t, r.model.Requests()[0].Instructions, "The working directory is "+project)
	}
}

func TestCallsThatFindFilesHaveTitles(t *testing.T) {
	editor := acptest.New(acptest.Options{})
	d := editor.Deps(t.TempDir())
	r := runTools(t.Context(), t, editor, d, []model.Part{call("c1", "search_files", args{"pattern": "a\nb", "path": "."}), call("c2", "list_files", args{"pattern": "*.go"})})
	require.NoError(t, r.err)
	assert.Equal(t, `Search "a\nb"`, r.shown(t, 0).Title)
	assert.Equal(t, acp.ToolCallStatusCompleted, r.shown(t, 0).Status)
	assert.Equal(t, acp.ToolKindSearch, r.shown(t, 0).Kind)
	assert.JSONEq(t, `{"pattern":"a\nb","path":"."}`, string(r.shown(t, 0).RawInput))
	assert.Equal(t, "List *.go", r.shown(t, 1).Title)
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
)

func diffOf(t *testing.T, content []acp.ToolCallContent) acp.Diff {
	t.Helper()
	require.NotEmpty(t, content)
	require.NotNil(t, content[0].Diff)
	return *content[0].Diff
}

func TestWriteFileShowsTheRealDiffAndAsksBeforeItWrites(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a.go": "disk"}})
	editor.Type("/project/a.go", "old")
	r := once(t, editor, "write_file", args{"path": "a.go", "content": "new"})
	assert.Equal(t, "Wrote a.go (3 bytes in the editor).", r.answer(t).Text)
	content, _ := editor.File("/project/a.go")
	assert.Equal(t, "new", content)

	want := acp.Diff{Path: "/project/a.go", OldText: new("old"), NewText: "new"}
	require.Len(t, editor.Permissions(), 1)
	asked := editor.Permissions()[0].ToolCall
	assert.Equal(t, want, diffOf(t, asked.Content))
	assert.Equal(t, "Edit a.go", *asked.Title)
	assert.Equal(t, acp.ToolKindEdit, asked.Kind)
	assert.Equal(t, acp.ToolCallStatusPending, asked.Status)
	assert.Equal(t, []acp.ToolCallLocation{{Path: "/project/a.go"}}, asked.Locations)
	assert.JSONEq(t, `{"path":"a.go","content":"new"}`, string(asked.RawInput))

	c := r.shown(t, 0)
	assert.Equal(t, acp.ToolCallStatusCompleted, c.Status)
	assert.Equal(t, want, diffOf(t, c.Content))
	assert.JSONEq(t, `{"bytes":3,"changed":true}`, string(c.RawOutput))
	assert.Equal(t, []string{acp.MethodReadTextFile, acp.MethodRequestPermission, acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodReadTextFile}, methods(editor))
}

func TestANewFileHasNoOldText(t *testing.T) {
	for name, missing := range map[string]error{
		"resource not found": nil, // what the fake answers by itself
		"node":               acp.Errorf(acp.CodeInternal, "Internal error").WithData(map[string]string{"details": "ENOENT: no such file or directory, open '/project/a'"}),
		"java":               acp.Errorf(acp.CodeInternal, "java.nio.file.NoSuchFileException: /project/a"),
		"windows":            acp.Errorf(acp.CodeInternal, "The system cannot find the file specified. (os error 2)"),
	} {
		t.Run(name, func(t *testing.T) {
			editor := acptest.New(acptest.Options{})
			if missing != nil {
				editor.Fail(acp.MethodReadTextFile, 2, missing) // for the preview and before the write
			}
			r := once(t, editor, "write_file", args{"path": "a", "content": "new"})
			assert.Equal(t, "Created a (3 bytes in the editor).", r.answer(t).Text)
			assert.Equal(t, acp.Diff{Path: "/project/a", NewText: "new"}, diffOf(t, r.shown(t, 0).Content))
			assert.Equal(t, "Create a", r.shown(t, 0).Title)
		})
	}
}

func TestAFileWhosePresentContentCannotBeReadIsNotWritten(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "old"}})
	editor.Fail(acp.MethodReadTextFile, -1, acp.Errorf(acp.CodeInternal, "invalid UTF-8"))
	r := once(t, editor, "write_file", args{"path": "a", "content": "new"})
	assert.Equal(t, model.OutcomeFailed, r.answer(t).Outcome)
	assert.Equal(t, "Could not write a, because its present content cannot be read: invalid UTF-8", r.answer(t).Text)
	assert.NotContains(t, methods(editor), acp.MethodWriteTextFile)
}

// "Method not found" says nothing about the file. It may exist.
func TestAFileIsNotWrittenIfTheClientCannotReadAfterAll(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "old"}})
	editor.Fail(acp.MethodReadTextFile, -1, acp.Errorf(acp.CodeMethodNotFound, "Method not found"))
	r := once(t, editor, "write_file", args{"path": "a", "content": "new"})
	assert.Equal(t, model.OutcomeFailed, r.answer(t).Outcome)
	assert.NotContains(t, methods(editor), acp.MethodWriteTextFile)
	content, _ := editor.File("/project/a")
	assert.Equal(t, "old", content)
}

func TestWritingWhatIsThereAlreadyAsksNobody(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "same"}})
	r := once(t, editor, "write_file", args{"path": "a", "content": "same"})
	assert.Equal(t, "a has this content already; nothing was written.", r.answer(t).Text)
	assert.NotContains(t, methods(editor), acp.MethodRequestPermission)
	assert.NotContains(t, methods(editor), acp.MethodWriteTextFile)
	assert.Equal(t, acp.ToolCallStatusCompleted, r.shown(t, 0).Status)
}

func TestAClientThatCannotReadIsShownTheNewTextOnly(t *testing.T) {
	editor := acptest.New(acptest.Options{
		Files:        map[string]string{"/project/a": "old"},
		Capabilities: &acp.ClientCapabilities{FS: acp.FileSystemCapabilities{WriteTextFile: true}},
	})
	r := once(t, editor, "write_file", args{"path": "a", "content": "new"})
	assert.Equal(t, "Wrote a (3 bytes sent to the editor).", r.answer(t).Text)
	assert.Equal(t, acp.Diff{Path: "/project/a", NewText: "new"}, diffOf(t, r.shown(t, 0).Content))
	assert.Equal(t, []string{acp.MethodRequestPermission, acp.MethodWriteTextFile}, methods(editor))
}

// What the user types while the question is open is not overwritten unseen: the user is asked again, with the new text.
func TestWriteIsAskedAboutAgainWhenTheFileChanges(t *testing.T) {
	for name, files := range map[string]map[string]string{"changes": {"/project/a": "old"}, "appears": nil} {
		t.Run(name, func(t *testing.T) {
			var editor *acptest.Client
			answers := []acptest.Answer{acptest.AllowOnce, acptest.RejectOnce}
			editor = acptest.New(acptest.Options{Files: files, Permission: func(context.Context, *acp.RequestPermissionRequest) acptest.Answer {
				editor.Type("/project/a", "typed")
				answer := answers[0]
				answers = answers[1:]
				return answer
			}})
			r := once(t, editor, "write_file", args{"path": "a", "content": "new"})
			assert.Equal(t, model.OutcomeDenied, r.answer(t).Outcome)
			content, _ := editor.File("/project/a")
			assert.Equal(t, "typed", content)
			require.Len(t, editor.Permissions(), 2)
			assert.Equal(t, "typed", *diffOf(t, editor.Permissions()[1].ToolCall.Content).OldText)
		})
	}
}

func TestWritesOfOneResponseHappenInItsOrder(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Prints("", 0)}})
	r := runSteps(t.Context(), t, editor, editor.Deps("/project"), say(
		call("c1", "write_file", args{"path": "a", "content": "1"}), call("c2", "write_file", args{"path": "a", "content": "2"}),
		call("c3", "read_file", args{"path": "a"}), call("c4", "run_command", args{"command": "make"}),
	), acpbridge.WithPermissions(acpbridge.AllowAll))
	require.NoError(t, r.err)
	assert.Equal(t, acp.Diff{Path: "/project/a", OldText: new("1"), NewText: "2"}, diffOf(t, r.shown(t, 1).Content))
	assert.Equal(t, "2", r.answers()[2].Text)
}

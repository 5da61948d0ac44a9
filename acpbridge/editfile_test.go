// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
)

func editArgs(path string, pairs ...string) args {
	var edits []args
	for i := 0; i < len(pairs); i += 2 {
		edits = append(edits, args{"old_text": pairs[i], "new_text": pairs[i+1]})
	}
	return args{"path": path, "edits": edits}
}

func TestEditFileWritesThroughEditor(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "saved\n"}})
	editor.Type("/project/a", "one\r\ntwo\r\nthree")
	r := once(t, editor, "edit_file", editArgs("a", "two\n", "2\n2b\n", "three", "3"))
	assert.Equal(t, "Edited a. Lines 1 to 4 are now:\n     1\tone\n     2\t2\n     3\t2b\n     4\t3", r.answer(t).Text)
	content, _ := editor.File("/project/a")
	assert.Equal(t, "one\r\n2\r\n2b\r\n3", content)
	assert.Equal(t, []string{acp.MethodRequestPermission, acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodReadTextFile}, methods(editor))
	c := r.shown(t, 0)
	assert.Equal(t, "Edit a", c.Title)
	assert.Equal(t, acp.ToolKindEdit, c.Kind)
	assert.Equal(t, []acp.ToolCallLocation{{Path: "/project/a"}}, c.Locations)
	assert.Equal(t, "one\r\n2\r\n2b\r\n3", c.Content[0].Diff.NewText)
	assert.JSONEq(t, `{"bytes":13,"changed":true}`, string(c.RawOutput))
}

func TestEditFileSaysWhatIsWrong(t *testing.T) {
	for want, a := range map[string]args{
		"Nothing was changed in a. old_text occurs 2 times, at lines 1, 2. Include more of the lines around it, or set replace_all.": editArgs("a", "x", "y"),
		"Nothing was changed in a. Edit 2 of 2: old_text was not found, and nothing like it. Read the file again with read_file.":    editArgs("a", "x\nx", "y", "zzz", "w"),
		"Could not edit b: not found. Create it with write_file.":                                                                    editArgs("b", "x", "y"),
	} {
		editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "x\nx\n"}})
		r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{call("1", "read_file", args{"path": a["path"]}), call("2", "edit_file", a)})
		assert.Equal(t, want, r.answers()[1].Text)
		assert.Equal(t, model.OutcomeFailed, r.answers()[1].Outcome)
		assert.Empty(t, editor.Permissions(), "what cannot be done is not asked about")
		content, _ := editor.File("/project/a")
		assert.Equal(t, "x\nx\n", content)
	}
}

// What the user types while the question is open stays, and is shown.
func TestEditedFileThatChangedIsShownAgain(t *testing.T) {
	var editor *acptest.Client
	editor = acptest.New(acptest.Options{
		Files: map[string]string{"/project/a": "one\ntwo\n"},
		Permission: func(context.Context, *acp.RequestPermissionRequest) acptest.Answer {
			if len(editor.Permissions()) == 1 {
				editor.Type("/project/a", "zero\none\ntwo\n")
			}
			return acptest.AllowOnce
		},
	})
	r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{call("1", "read_file", args{"path": "a"}), call("2", "edit_file", editArgs("a", "two", "2"))})
	assert.Contains(t, r.answers()[1].Text, "Edited a.")
	content, _ := editor.File("/project/a")
	assert.Equal(t, "zero\none\n2\n", content)
	require.Len(t, editor.Permissions(), 2)
	assert.Equal(t, "zero\none\n2\n", editor.Permissions()[1].ToolCall.Content[0].Diff.NewText)
}

// A file on another machine that has not been read is read once the edit is allowed, and just before it is written. The question shows what
// is replaced by what. That is made of the text as it is then; what is typed meanwhile stays.
func TestEditOfUnreadFileElsewhereReadsItOnceBeforeTheWrite(t *testing.T) {
	var editor *acptest.Client
	editor = acptest.New(acptest.Options{
		Files: map[string]string{"/project/a": "one\ntwo\n"},
		Permission: func(context.Context, *acp.RequestPermissionRequest) acptest.Answer {
			editor.Type("/project/a", "zero\none\ntwo\n")
			return acptest.AllowOnce
		},
	})
	r := once(t, editor, "edit_file", editArgs("a", "two", "2"))
	assert.Contains(t, r.answer(t).Text, "Edited a. Lines 1 to 3 are now:\n     1\tzero\n     2\tone\n     3\t2")
	content, _ := editor.File("/project/a")
	assert.Equal(t, "zero\none\n2\n", content)
	require.Len(t, editor.Permissions(), 1)
	asked := editor.Permissions()[0].ToolCall.Content[0].Diff
	assert.Equal(t, "two", *asked.OldText)
	assert.Equal(t, "2", asked.NewText)
	shown := r.shown(t, 0).Content[0].Diff
	assert.Equal(t, "zero\none\n2\n", shown.NewText, "in the end the lines around it are shown")
	assert.Equal(t, []string{acp.MethodRequestPermission, acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodReadTextFile}, methods(editor))

	for old, want := range map[string]string{"three": "old_text was not found", "o": "old_text occurs 4 times"} {
		editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "one\ntwo\nfoo\n"}})
		r := once(t, editor, "edit_file", editArgs("a", old, "2"))
		assert.Contains(t, r.answer(t).Text, want)
		content, _ := editor.File("/project/a")
		assert.Equal(t, "one\ntwo\nfoo\n", content)
	}
}

// An edit of a line in a file of 108 kB sends the new text once, where the client writes it, and at most 15 kB besides.
func TestEditOfLargeFileSendsLittle(t *testing.T) {
	line := strings.Repeat("x", 107) + "\n"
	before := strings.Repeat(line, 500) + "needle\n" + strings.Repeat(line, 300) + "other\n" + strings.Repeat(line, 200)
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": before}})
	r := once(t, editor, "edit_file", editArgs("a", "needle", "pin", "other", "another"))
	assert.Contains(t, r.answer(t).Text, "Edited a.")
	sent := 0
	count := func(v any) {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		sent += len(data)
	}
	for _, c := range editor.Calls() {
		count(c.Params)
	}
	for _, u := range editor.Updates() {
		count(u)
	}
	content, _ := editor.File("/project/a")
	t.Logf("%d bytes in all, the new text has %d", sent, len(content))
	assert.Less(t, sent-len(content), 15_000)
	// What is shown is the whole change all the same.
	asked := editor.Permissions()[0].ToolCall.Content
	require.Len(t, asked, 2)
	assert.Equal(t, "needle", *asked[0].Diff.OldText)
	shown := editor.State().ToolCalls[0].Content
	require.Len(t, shown, 2)
	assert.Equal(t, line+line+line+"needle\n"+line+line+line, *shown[0].Diff.OldText)
	assert.Equal(t, line+line+line+"another\n"+line+line+line, shown[1].Diff.NewText)
}

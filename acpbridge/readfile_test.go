// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// notOnDisk is what the model is told of text that an editor has and the disk has not.
const notOnDisk = "\n[This is the text in the editor. It is not what is on disk: it has unsaved changes, or the file was changed on disk.]"

func TestReadFileGivesTheModelWhatTheEditorHas(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a.go": "old\n"}})
	editor.Type("/project/a.go", "unsaved\n")
	r := once(t, editor, "read_file", args{"path": "a.go"})
	assert.Equal(t, "unsaved\n", r.answer(t).Text)

	c := r.shown(t, 0)
	assert.Equal(t, "Read a.go", c.Title)
	assert.Equal(t, acp.ToolKindRead, c.Kind)
	assert.Equal(t, acp.ToolCallStatusCompleted, c.Status)
	assert.Equal(t, []acp.ToolCallLocation{{Path: "/project/a.go"}}, c.Locations)
	assert.JSONEq(t, `{"path":"a.go"}`, string(c.RawInput))
	assert.JSONEq(t, `{"lines":1,"bytes":8}`, string(c.RawOutput))
}

func TestReadFilePassesLineAndLimitOn(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "1\n2\n3\n4\n"}})
	r := once(t, editor, "read_file", args{"path": "/project/a", "line": 2, "limit": 2})
	assert.Equal(t, "2\n3\n", r.answer(t).Text)
	assert.Equal(t, "Read a (lines 2 to 3)", r.shown(t, 0).Title)
	assert.Equal(t, uint32(2), *r.shown(t, 0).Locations[0].Line)
}

func TestTitleOfReadFileSaysWhichLines(t *testing.T) {
	for want, in := range map[string]args{
		"Read a":                {"path": "a"},
		"Read a (from line 1)":  {"path": "a", "line": 1},
		"Read a (from line 2)":  {"path": "a", "line": 2},
		"Read a (lines 1 to 1)": {"path": "a", "limit": 1},
		"Read a (lines 2 to 3)": {"path": "file:///project/a?symbol=A#L2:3"},
	} {
		editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "1\n2\n3\n"}})
		assert.Equal(t, want, once(t, editor, "read_file", in).shown(t, 0).Title)
	}
}

func TestEmptyFileOfARemoteEditorMayBeMissing(t *testing.T) {
	r := once(t, acptest.New(acptest.Options{Files: map[string]string{"/project/a": ""}}), "read_file", args{"path": "a"})
	assert.Equal(t, model.OutcomeSuccess, r.answer(t).Outcome)
	assert.Equal(t, "[The file is empty or does not exist: the editor does not say which.]", r.answer(t).Text)
}

func TestALongFileIsCutAtALineAndSaysHowToReadOn(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": b.String()}})
	r := once(t, editor, "read_file", args{"path": "a", "line": 11}, acpbridge.WithTools(workspace.WithReadLimit(100)))
	text := r.answer(t).Text
	assert.True(t, strings.HasPrefix(text, "line 11\n"))
	assert.Contains(t, text, "line 22\n\n[Cut here: these are the lines 11 to 22 of 1000. To read on, call read_file with line 23.]")

	editor = acptest.New(acptest.Options{Files: map[string]string{"/project/a": strings.Repeat("é", 200)}})
	r = once(t, editor, "read_file", args{"path": "a"}, acpbridge.WithTools(workspace.WithReadLimit(101)))
	text = r.answer(t).Text
	assert.True(t, strings.HasPrefix(text, strings.Repeat("é", 50)+"\n"), text)
	assert.Contains(t, text, "line 1 is longer than 101 bytes")
}

func TestAFileThatDoesNotExistIsAFailureAndNotTheEndOfTheRun(t *testing.T) {
	r := once(t, acptest.New(acptest.Options{}), "read_file", args{"path": "a"})
	assert.Equal(t, model.OutcomeFailed, r.answer(t).Outcome)
	assert.Equal(t, "Could not read a: not found.", r.answer(t).Text)
	assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
	assert.Equal(t, "Could not read a: not found.", shownText(r.shown(t, 0)))
}

func TestErrorsOfTheClientAreToldToTheModelWithTheirMessage(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{acp.Errorf(acp.CodeInternal, "disk on fire"), "Could not read a: disk on fire"},
		{acp.Errorf(acp.CodeInternal, "Internal error").WithData(map[string]string{"details": "EISDIR"}), `Could not read a: Internal error {"details":"EISDIR"}`},
		{&acp.CallError{Method: acp.MethodReadTextFile, Err: &acp.TooLongError{Limit: 9}}, "Could not read a: it is too large."},
		{errors.New("first\nsecond"), "Could not read a: first"},
		{acp.Errorf(acp.CodeRequestCancelled, "cancelled by the editor"), "Could not read a: cancelled by the editor"},
	} {
		editor := acptest.New(acptest.Options{})
		editor.Fail(acp.MethodReadTextFile, 1, c.err)
		r := once(t, editor, "read_file", args{"path": "a"})
		assert.Equal(t, model.OutcomeFailed, r.answer(t).Outcome)
		assert.Equal(t, c.want, r.answer(t).Text)
	}
}

func TestASlowReadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "a"}})
		editor.Slow(acp.MethodReadTextFile, time.Hour)
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		began := time.Now()
		r := runTools(ctx, t, editor, editor.Deps("/project"), []model.Part{call("c1", "read_file", args{"path": "a"})})
		require.ErrorIs(t, r.err, cause)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
		assert.Equal(t, "Cancelled.", shownText(r.shown(t, 0)))
	})
}

// The editor's project is a link. What the model reads by its real path, such as one that a compiler names, is the editor's file.
func TestRealPathOfALinkedProjectIsTheEditorsFile(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	require.NoError(t, os.Mkdir(real, 0o755))
	require.NoError(t, os.Symlink(real, link))
	editor := acptest.New(acptest.Options{Files: map[string]string{filepath.Join(link, "a.go"): "unsaved\n"}})
	r := runTools(t.Context(), t, editor, editor.Deps(link), []model.Part{
		call("c1", "read_file", args{"path": filepath.Join(real, "a.go")}),
		call("c2", "write_file", args{"path": filepath.Join(real, "new.go"), "content": "new\n"}),
		call("c3", "read_file", args{"path": filepath.Join(base, "a.go")}),
	})
	require.NoError(t, r.err)
	require.Equal(t, "unsaved\n"+notOnDisk, r.answers()[0].Text)
	require.Equal(t, "Read a.go", r.shown(t, 0).Title)
	text, ok := editor.File(filepath.Join(link, "new.go"))
	require.True(t, ok)
	require.Equal(t, "new\n", text)
	require.Contains(t, r.answers()[2].Text, "outside")
}

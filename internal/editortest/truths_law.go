// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// outcome separates what a call did from how it was refused.
func outcome(res toolset.Result, err error) (told string, refused bool, bad error) {
	if failed, ok := errors.AsType[*toolset.FailedError](err); ok {
		return failed.Message, true, nil
	}
	return res.Text, res.Outcome != "", err
}

// read checks what the model is told of a file.
func (c *cell) read() error {
	told, refused, err := outcome(c.call(workspace.ToolReadFile, args{"path": "file"}))
	if err != nil {
		return err
	}
	if !bytes.Equal(c.now(), c.before) {
		return errors.New("a read has changed the file")
	}
	text, isText := workspace.DecodeText(c.before)
	unsaved := c.editor != nil && c.kind.typed != ""
	switch {
	case refused && isText && c.before != nil && !unsaved:
		return fmt.Errorf("the text was not read: %s", told)
	case refused:
		return nil
	case unsaved:
		if !strings.HasPrefix(told, c.kind.typed) || !strings.Contains(told, "not what is on disk") {
			return fmt.Errorf("the model was told %q of unsaved text", short(told))
		}
		return nil
	case c.before == nil:
		return fmt.Errorf("the model was told %q of a missing file", short(told))
	case !isText:
		return fmt.Errorf("the model was told %q of a binary file", short(told))
	}
	if c.kind.name != "long lines" && !strings.HasPrefix(told, string(text.Data)) {
		if !strings.Contains(told, "[Cut here") {
			return fmt.Errorf("the model was told %q, and on disk is %q",
				short(told), short(string(text.Data)))
		}
	}
	return nil
}

// change makes a change, and checks that the three truths agree.
func (c *cell) change(tool string, a args) error {
	res, err := c.call(tool, a)
	told, refused, err := outcome(res, err)
	if err != nil {
		return err
	}
	after := c.now()
	if refused {
		if !bytes.Equal(after, c.before) || (after == nil) != (c.before == nil) {
			return fmt.Errorf("refused (%s), and the disk changed from %q to %q",
				told, short(string(c.before)), short(string(after)))
		}
		return c.refusal(tool, told)
	}
	if len(c.asked) == 0 {
		return fmt.Errorf("nobody was asked: %s", told)
	}
	return c.agree(tool, told, res.Meta, after)
}

// refusal checks that a change which was refused could not have been made.
func (c *cell) refusal(tool, told string) error {
	good := false
	switch c.kind.name {
	case "binary", "encoded in two ways":
		good = tool == workspace.ToolEditFile || strings.Contains(told, "cannot show this file")
	case "missing", "empty", "deleted while the question is open":
		good = tool == workspace.ToolEditFile
	case "Latin-1", "UTF-16", "Shift_JIS":
		good = strings.Contains(told, "cannot show this file")
	case "unsaved in the editor", "typed while the question is open":
		good = c.editor != nil && strings.Contains(told, "unsaved changes")
	}
	good = good || told == notOffered
	if !good {
		return fmt.Errorf("refused: %s", told)
	}
	return nil
}

// agree compares the approved diff, what the model was told and what is on disk.
func (c *cell) agree(tool, told string, meta json.RawMessage, after []byte) error {
	var written workspace.FileWritten
	if err := json.Unmarshal(meta, &written); err != nil {
		return err
	}
	if written.Unsaved {
		if !bytes.Equal(after, c.before) || !strings.Contains(told, "not saved") {
			return fmt.Errorf("not saved, and the model was told %q", told)
		}
		return nil
	}
	if written.Bytes != len(after) {
		return fmt.Errorf("%d bytes are on disk, and %d are told", len(after), written.Bytes)
	}
	last := c.asked[len(c.asked)-1]
	diff := last.Preview[0].Diff
	if text, _ := workspace.DecodeText(after); *diff.New != string(text.Data) && !written.Reformatted {
		return fmt.Errorf("approved was %q, and on disk is %q",
			short(*diff.New), short(string(after)))
	}
	if written.Reformatted != strings.Contains(told, "reformatted") {
		return fmt.Errorf("reformatted: %v, and the model was told %q", written.Reformatted, told)
	}
	if shown := c.shownBefore(last); tool == workspace.ToolEditFile && !written.Reformatted {
		want := bytes.Replace(shown, c.encoded(needle), c.encoded("pin"), 1)
		if !bytes.Equal(after, want) {
			return fmt.Errorf("the edit made %q of %q", short(string(after)), short(string(shown)))
		}
	}
	return c.explained(last)
}

// shownBefore returns the contents that the approved change was made from.
func (c *cell) shownBefore(a *toolset.Approval) []byte {
	old := a.Preview[0].Diff.Old
	beside := strings.Contains(shownText(a), "not on disk")
	if old != nil && c.editor != nil && c.before != nil && beside {
		return []byte(*old)
	}
	return c.before
}

// explained checks that the question had what was on disk before: in the diff, or beside it.
func (c *cell) explained(a *toolset.Approval) error {
	old := a.Preview[0].Diff.Old
	text, isText := workspace.DecodeText(c.before)
	switch {
	case c.before == nil || !isText || old != nil && *old == string(text.Data):
		return nil
	case strings.Contains(shownText(a), "not on disk"):
		return nil
	}
	if old == nil {
		old = new("nothing")
	}
	was := short(string(c.before))
	return fmt.Errorf("the question showed %q, and on disk was %q", short(*old), was)
}

// shownText returns the text of a question besides the diff.
func shownText(a *toolset.Approval) string {
	var b strings.Builder
	for _, p := range a.Preview {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// encoded returns ASCII in the encoding of the file.
func (c *cell) encoded(text string) []byte {
	if !strings.HasPrefix(string(c.before), "\xff\xfe") {
		return []byte(text)
	}
	var out []byte
	for _, b := range []byte(text) {
		out = append(out, b, 0)
	}
	return out
}

// undo makes a change and takes it back: the disk is as it was, or what is not is told.
func (c *cell) undo() error {
	tool, a := edit()
	if !bytes.Contains(c.before, c.encoded(needle)) {
		tool, a = replacement()
	}
	mark := c.recorder.Mark("turn")
	_, refused, err := outcome(c.call(tool, a))
	if err != nil {
		return err
	}
	changed := c.now()
	if refused {
		return nil
	}
	if c.editor != nil && c.editor.Unsaved(c.path) {
		return c.undoUnsaved(mark.ID, changed)
	}
	undone := checkpoint.Only(mark.ID)
	if c.created != 0 {
		undone = checkpoint.Since(c.created)
	}
	res, err := c.recorder.Undo(c.ctx, undone)
	if err != nil {
		if now := c.now(); !bytes.Equal(now, changed) && !bytes.Equal(now, c.before) {
			return fmt.Errorf("the undo failed (%w) and left %q", err, short(string(now)))
		}
		if c.env.Workspace.Features().Remove {
			return err
		}
		return nil
	}
	if len(res.Files) == 0 {
		return errors.New("the undo knows of no file")
	}
	want := c.before
	if c.created != 0 {
		want = nil
	}
	if c.kind.typed != "" && c.editor != nil {
		want = []byte(c.kind.typed) // which the change has saved
	}
	for _, a := range c.asked {
		if old := a.Preview[0].Diff.Old; old != nil && strings.HasPrefix(*old, "typed") {
			want = []byte(*old)
		}
	}
	if now := c.now(); !bytes.Equal(now, want) || (now == nil) != (want == nil) {
		return fmt.Errorf("after the undo %q is on disk, and before it was %q",
			short(string(now)), short(string(want)))
	}
	return nil
}

// undoUnsaved takes back a change that the editor has not saved.
func (c *cell) undoUnsaved(id int, changed []byte) error {
	_, err := c.recorder.Undo(c.ctx, checkpoint.Only(id))
	if now := c.now(); !bytes.Equal(now, changed) {
		return fmt.Errorf("the undo (%v) changed the disk, where nothing was saved, to %q",
			err, short(string(now)))
	}
	return nil
}

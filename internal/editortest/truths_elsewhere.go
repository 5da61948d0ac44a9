// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// view is the text that an editor shows of a file.
type view struct {
	text string
	err  error // why the editor does not show the file
}

// view asks the editor for the file. Without an editor it is empty.
func (c *cell) view() view {
	if c.editor == nil {
		return view{}
	}
	text, err := c.editor.Read(c.path)
	return view{string([]rune(text)), err} // JSON cannot have other bytes
}

// isText reports whether tools take what the editor shows for text.
func (v *view) isText() bool {
	_, ok := workspace.DecodeText([]byte(v.text))
	return ok
}

// doubtful reports whether the text may lack bytes that are not UTF-8.
func (v *view) doubtful() bool { return strings.Contains(v.text, "\ufffd") }

// readElsewhere checks what the model is told of a file on another machine: what the editor shows,
// and nothing of the disk.
func (c *cell) readElsewhere() error {
	told, refused, err := outcome(c.call(workspace.ToolReadFile, args{"path": "file"}))
	v := c.view()
	switch {
	case err != nil:
		return err
	case told == notOffered && !c.env.Workspace.Features().Read:
		return nil
	case !bytes.Equal(c.now(), c.before):
		return errors.New("a read has changed the file")
	case refused != (v.err != nil || !v.isText()):
		return fmt.Errorf("the model was told %q of %q (%v)", short(told), short(v.text), v.err)
	case refused:
		return nil
	case v.text == "" && !strings.Contains(told, "is empty or does not exist"):
		return fmt.Errorf("the model was told %q of an empty answer", short(told))
	case !strings.HasPrefix(told, v.text) && !strings.Contains(told, "[Cut here") && c.kind.name != "long lines":
		return fmt.Errorf("the model was told %q, and the editor shows %q",
			short(told), short(v.text))
	case v.doubtful() != strings.Contains(told, "U+FFFD"):
		return fmt.Errorf("the model was told %q, and the editor shows %q",
			short(told), short(v.text))
	}
	return claimsNothing(told)
}

// claimsNothing checks that a text says nothing of what only the other machine knows.
func claimsNothing(text string) error {
	for _, claim := range []string{"on disk", "to disk", "saved"} {
		if strings.Contains(text, claim) {
			return fmt.Errorf("nobody here can know what is told: %q", short(text))
		}
	}
	return nil
}

// changeElsewhere makes a change of a file on another machine. Approved, told and shown by the
// editor are the same text, and the editor has saved it in its own way.
func (c *cell) changeElsewhere(tool string, a args) error {
	first := c.view()
	res, err := c.call(tool, a)
	told, refused, err := outcome(res, err)
	if err != nil {
		return err
	}
	if len(c.asked) == 0 {
		c.shown = first
	}
	if refused {
		if after := c.now(); !bytes.Equal(after, c.before) || (after == nil) != (c.before == nil) {
			return fmt.Errorf("refused (%s), and the disk changed from %q to %q",
				told, short(string(c.before)), short(string(after)))
		}
		return c.refusalElsewhere(tool, told)
	}
	if err := c.approvedElsewhere(tool); err != nil {
		return err
	}
	return c.agreeElsewhere(tool, told, res.Meta)
}

// refusalElsewhere checks that a change which was refused could not have been made.
func (c *cell) refusalElsewhere(tool, told string) error {
	can, v := c.env.Workspace.Features(), c.shown
	good := false
	switch {
	case told == notOffered:
		good = !can.Write || tool == workspace.ToolEditFile && !can.Read
	case v.err != nil && !missing(v.err):
		good = strings.Contains(told, v.err.Error())
	case v.doubtful():
		good = strings.Contains(told, "U+FFFD")
	case tool == workspace.ToolEditFile:
		good = v.text == "" || !v.isText()
	}
	if !good {
		return fmt.Errorf("refused: %s", told)
	}
	return nil
}

// wanted is the text after the call of a cell.
func (c *cell) wanted(tool string) string {
	if tool == workspace.ToolWriteFile {
		_, a := replacement()
		return a["content"].(string)
	}
	return strings.Replace(c.shown.text, needle, "pin", 1)
}

// approvedElsewhere checks that the question showed the change, and claimed nothing else.
func (c *cell) approvedElsewhere(tool string) error {
	if len(c.asked) == 0 {
		return errors.New("nobody was asked")
	}
	last := c.asked[len(c.asked)-1]
	text := c.shown.text
	for _, p := range last.Preview {
		switch d := p.Diff; {
		case d == nil:
		case d.Old == nil && c.env.Workspace.Features().Read && text != "":
			return fmt.Errorf("the question showed a new file, and the editor had %q", short(text))
		case d.Old == nil:
			text = *d.New
		case !strings.Contains(text, *d.Old):
			return fmt.Errorf("the question showed %q, and the editor had %q",
				short(*d.Old), short(text))
		default:
			text = strings.Replace(text, *d.Old, *d.New, 1)
		}
	}
	if !c.env.Workspace.Features().Read && !strings.Contains(shownText(last), "it is replaced") {
		return fmt.Errorf("the question does not say that a file may be lost: %q", shownText(last))
	}
	if text != c.wanted(tool) {
		return fmt.Errorf("the question showed what makes %q of %q",
			short(text), short(c.shown.text))
	}
	return claimsNothing(shownText(last))
}

// agreeElsewhere compares what the model was told with what the editor shows, and the disk with
// what this editor saves for the approved text.
func (c *cell) agreeElsewhere(tool, told string, meta json.RawMessage) error {
	var written workspace.FileWritten
	if err := json.Unmarshal(meta, &written); err != nil {
		return err
	}
	want, v := c.wanted(tool), c.view()
	if disk := c.savedElsewhere(c.before, want); !bytes.Equal(c.now(), disk) {
		return fmt.Errorf("the editor saved %q of %q", short(string(c.now())), short(want))
	}
	text := v.text
	if !c.env.Workspace.Features().Read {
		text = want // which is all that is known
	}
	switch {
	case c.shown.doubtful() && c.env.Workspace.Features().Read:
		return fmt.Errorf("bytes that the editor does not show were overwritten: %q",
			short(c.shown.text))
	case written.Bytes != len(text):
		return fmt.Errorf("the editor has %d bytes, and %d are told", len(text), written.Bytes)
	case tool == workspace.ToolWriteFile && !strings.Contains(told, "editor"):
		return fmt.Errorf("bytes of the disk are told: %q", told)
	case written.Reformatted != (text != want) || written.Reformatted != strings.Contains(told, "reformatted"):
		return fmt.Errorf("reformatted: %v, and the model was told %q", written.Reformatted, told)
	case written.Unsaved:
		return errors.New("nobody here can know that it is not saved")
	}
	return claimsNothing(strings.ReplaceAll(told, "while saving", ""))
}

// savedElsewhere returns what is on disk after the editor has been given text.
func (c *cell) savedElsewhere(disk []byte, text string) []byte {
	if c.editor.Lazy {
		return disk
	}
	return []byte(c.editor.savedOver(disk, disk != nil, text))
}

// undoElsewhere makes a change and takes it back: the editor has the text that it had, or what
// stays is told.
func (c *cell) undoElsewhere() error {
	tool, a := edit()
	if v := c.view(); v.err != nil || !strings.Contains(v.text, needle) || !c.env.Workspace.Features().Read {
		tool, a = replacement()
	}
	undone := checkpoint.Only(c.recorder.Mark("turn").ID)
	_, refused, err := outcome(c.call(tool, a))
	if err != nil || refused {
		return err
	}
	if c.created != 0 {
		undone = checkpoint.Since(c.created)
	}
	changed := c.now()
	res, err := c.recorder.Undo(c.ctx, undone)
	now := c.now()
	if err != nil {
		if !bytes.Equal(now, changed) && !bytes.Equal(now, c.savedElsewhere(changed, c.shown.text)) {
			return fmt.Errorf("the undo failed (%w) and left %q", err, short(string(now)))
		}
		if _, ok := errors.AsType[*checkpoint.IncompleteError](err); !ok || len(res.Files) != 1 {
			return fmt.Errorf("the undo does not say what stays: %w", err)
		}
		return nil
	}
	v := c.view()
	switch {
	case len(res.Files) == 0:
		return errors.New("the undo knows of no file")
	case c.created != 0 || c.shown.err != nil || c.shown.text == "":
		return errors.New("the undo says that it removed a file, which it cannot know")
	case v.text != c.shown.text:
		return fmt.Errorf("after the undo the editor has %q, and before it had %q",
			short(v.text), short(c.shown.text))
	case !bytes.Equal(now, c.savedElsewhere(changed, c.shown.text)):
		return fmt.Errorf("after the undo %q is on disk", short(string(now)))
	case !res.Files[0].InEditor:
		return errors.New("the undo says that the file is as it was, and only the editor's text is known")
	}
	return nil
}

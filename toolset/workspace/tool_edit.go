// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

const editFileDescription = "Replace parts of a text file. Each edit replaces old_text, which must match the file exactly, with new_text. " +
	"Edits are applied in order, all or none. Read the file first. The user may be asked first."

type editFileArgs struct {
	Path  string `json:"path" jsonschema_description:"The file: an absolute path, or one relative to the working directory. It must exist." validate:"required"`
	Edits []Edit `json:"edits" jsonschema_description:"The replacements." validate:"required,min=1,max=100"`
}

func (c *call) planEdit(ctx context.Context, in editFileArgs) (*plan, error) {
	path, _ := ParseLink(in.Path)
	if err := c.unread(ctx, path); err != nil { // the result shows lines of the file
		return nil, err
	}
	return c.planned(ctx, path, in, in.fill)
}

// fill works out what the file is after the edits. They are made in its text; lines that they do
// not touch keep their bytes.
func (in editFileArgs) fill(p *plan) error {
	if p.doc != nil && p.doc.Unread {
		p.pieces = in.alone()
		return nil
	}
	switch {
	case !p.exists || p.doc.Uncertain:
		return toolset.Failed("Could not edit %s: not found. Create it with %s.", p.name, ToolWriteFile)
	case p.text == nil:
		return toolset.Failed("Could not edit %s: it is %s, and only text can be edited.", p.name, binaryKind(p.old))
	}
	edited, err := ApplyEdits(p.text.Data, in.Edits)
	if wrong, ok := errors.AsType[*EditError](err); ok {
		return toolset.Failed("Nothing was changed in %s. %s", p.name, wrong.Message)
	}
	if err != nil {
		return err
	}
	if p.new, err = p.text.Encode(edited); err != nil {
		return toolset.Failed("Nothing was changed in %s: %s. Use other characters, or %s for the whole file, which makes it %s.", p.name, err, ToolWriteFile, UTF8)
	}
	return nil
}

// alone returns the edits if they say by themselves what they do: each replaces a text by another
// one. It returns nil otherwise.
func (in editFileArgs) alone() []Edit {
	for _, e := range in.Edits {
		if e.OldText == "" || foldLines(e.OldText) == foldLines(e.NewText) {
			return nil
		}
	}
	return in.Edits
}

func (c *call) approveEdit(ctx context.Context, in editFileArgs) (*toolset.Approval, error) {
	p, err := c.planEdit(ctx, in)
	if err != nil || p.unchanged() {
		return nil, context.Cause(ctx) // the call reports the rest
	}
	return c.planApproval(ctx, p), nil
}

func (c *call) editFile(ctx context.Context, in editFileArgs) (toolset.Result, error) {
	p, err := c.planEdit(ctx, in)
	if err != nil {
		return toolset.Result{}, err
	}
	if p.unchanged() {
		return withMeta(fmt.Sprintf(
			"The edits leave %s as it is; nothing was written.", p.name,
		), FileWritten{Bytes: len(p.new)}), nil
	}
	doc, err := c.carryOut(ctx, p, in.fill)
	if err != nil {
		return toolset.Result{}, err
	}
	w := p.written(doc)
	return withMeta(fmt.Sprintf("Edited %s. %s%s", p.name, ChangedLines(w.before, w.after), w.notes()), w.meta()), nil
}

// ChangedLines shows a model the lines around a change, as they are now, with their numbers. Of a
// long change it shows the beginning.
func ChangedLines(before, after []byte) string {
	const around, most = 2, 12
	from := 0 // of the first line that differs
	line := 1
	for from < len(after) {
		n := lineLength(after[from:])
		if !bytes.HasPrefix(before[from:], after[from:from+n]) {
			break
		}
		from += n
		line++
	}
	end := 0 // how many bytes at the end are the same
	for end < len(after)-from && end < len(before)-from && after[len(after)-1-end] == before[len(before)-1-end] {
		end++
	}
	last := line + bytes.Count(after[from:len(after)-end], []byte{'\n'})
	lines := bytes.SplitAfter(after, []byte{'\n'})
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	first := max(line-around, 1)
	last = min(last+around, len(lines))
	if last < first {
		return "The file is now empty."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Lines %d to %d are now:", first, last)
	for i := first; i <= last; i++ {
		if i-first == most && last-first >= most+1 {
			fmt.Fprintf(&b, "\n[%d more lines]", last-i+1)
			break
		}
		b.WriteString("\n" + numberedLine(i, strings.TrimRight(string(lines[i-1]), "\r\n")))
	}
	return b.String()
}

// lineLength returns the length of the first line of text, with its ending.
func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

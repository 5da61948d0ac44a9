// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

const writeFileDescription = "Create a text file, or replace the whole of one. To change parts of a file, use " + ToolEditFile + " where it is available. " +
	"Read an existing file before replacing it. The user may be asked first."

type writeFileArgs struct {
	Path    string `json:"path" jsonschema_description:"The file: an absolute path, or one relative to the working directory. Missing directories are created." validate:"required"`
	Content string `json:"content" jsonschema_description:"The whole new text of the file."`
}

func (c *call) planWrite(ctx context.Context, in writeFileArgs) (*plan, error) {
	return c.planned(ctx, in.Path, in, in.fill)
}

// fill makes the content. A file of another encoding keeps that, if it has all characters.
func (in writeFileArgs) fill(p *plan) error {
	p.new = []byte(in.Content)
	if p.text == nil {
		return nil
	}
	if p.doc.Disk != nil { // an editor elsewhere saves text in its own way
		p.notes = append(p.notes, unseen(p.text.Data, p.new, p.text.Encoding)...)
	}
	if p.text.Encoding == UTF8 {
		return nil
	}
	text := p.new
	if strings.HasPrefix(p.text.Encoding, "UTF-16") && !bytes.HasPrefix(text, []byte(byteOrderMark)) {
		text = append([]byte(byteOrderMark), text...) // without it nobody can tell what it is
	}
	if encoded, err := p.text.Encode(text); err == nil {
		p.new = encoded
		return nil
	}
	p.notes = append(p.notes, "The file is encoded in "+p.text.Encoding+" now, and will be in "+UTF8+".")
	return nil
}

// unseen names changes of a text that people do not see in its difference.
func unseen(old, text []byte, encoding string) (notes []string) {
	mark := []byte(byteOrderMark)
	if encoding == UTF8 && bytes.HasPrefix(old, mark) && !bytes.HasPrefix(text, mark) {
		notes = append(notes, "The byte order mark at the beginning of the file is removed.")
	}
	was, is := lineEndings(old), lineEndings(text)
	if was != "" && is != "" && was != is {
		notes = append(notes, "The lines of the file end in "+was+" now, and will end in "+is+".")
	}
	return notes
}

// lineEndings names the line endings of a text, which are empty if it has none.
func lineEndings(text []byte) string {
	switch all, crlf := bytes.Count(text, []byte{'\n'}), bytes.Count(text, []byte("\r\n")); {
	case all == 0:
		return ""
	case crlf == 0:
		return "LF"
	case crlf == all:
		return "CRLF"
	}
	return "CRLF and LF"
}

func (c *call) approveWrite(ctx context.Context, in writeFileArgs) (*toolset.Approval, error) {
	p, err := c.planWrite(ctx, in)
	if err != nil || p.unchanged() {
		return nil, context.Cause(ctx) // the call reports the rest
	}
	return c.planApproval(ctx, p), nil
}

func (c *call) writeFile(ctx context.Context, in writeFileArgs) (toolset.Result, error) {
	p, err := c.planWrite(ctx, in)
	if err != nil {
		return toolset.Result{}, err
	}
	if p.unchanged() {
		return withMeta(p.name+" has this content already; nothing was written.", FileWritten{Bytes: len(p.new)}), nil
	}
	doc, err := c.carryOut(ctx, p, in.fill)
	if err != nil {
		return toolset.Result{}, err
	}
	w := p.written(doc)
	done, meta := "Wrote", w.meta()
	if meta.Created {
		done = "Created"
	}
	return withMeta(fmt.Sprintf("%s %s (%d bytes%s).%s", done, p.name, meta.Bytes, w.where(), w.notes()), meta), nil
}

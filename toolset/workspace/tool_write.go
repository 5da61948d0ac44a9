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
	if p.text == nil || p.text.Encoding == UTF8 {
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

// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ponte-go/ponte/toolset"
)

const writeFileDescription = "Create a text file, or replace the whole of one. To change parts of a file, use " + ToolEditFile + " where it is available. " +
	"Read an existing file before replacing it. The user may be asked first."

type writeFileArgs struct {
	Path    string `json:"path" jsonschema_description:"The file: an absolute path, or one relative to the working directory. Missing directories are created." validate:"required"`
	Content string `json:"content" jsonschema_description:"The whole new text of the file."`
}

// planWrite plans the change of a call of write_file. It is nil if the file has the content
// already.
func (c *call) planWrite(ctx context.Context, in writeFileArgs) (*plan, error) {
	return c.planned(ctx, in.Path, in, func(p *plan) error {
		p.new = []byte(in.Content)
		return nil
	})
}

func (c *call) approveWrite(ctx context.Context, in writeFileArgs) (*toolset.Approval, error) {
	p, err := c.planWrite(ctx, in)
	if err != nil || p.unchanged() {
		return nil, context.Cause(ctx) // the call reports the rest
	}
	return c.planApproval(ctx, p), nil
}

func (p *plan) unchanged() bool { return p.exists && bytes.Equal(p.old, p.new) }

func (c *call) writeFile(ctx context.Context, in writeFileArgs) (toolset.Result, error) {
	p, err := c.planWrite(ctx, in)
	if err != nil {
		return toolset.Result{}, err
	}
	if p.unchanged() {
		return withMeta(p.name+" has this content already; nothing was written.", FileWritten{Bytes: len(p.new)}), nil
	}
	if err := c.carryOut(ctx, p); err != nil {
		return toolset.Result{}, err
	}
	done, created := "Wrote", !p.exists && !p.blind
	if created {
		done = "Created"
	}
	return withMeta(fmt.Sprintf("%s %s (%d bytes).", done, p.name, len(p.new)), FileWritten{Bytes: len(p.new), Created: created, Changed: true}), nil
}

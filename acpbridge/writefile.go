// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset"
)

const writeFileDescription = "Write a whole text file, replacing what is there or creating it. The user sees the change and may refuse it. " +
	"Read the file first unless it is new: content must be the whole new text."

type writeFileArgs struct {
	Path    string `json:"path" jsonschema_description:"The file: an absolute path, or one relative to the working directory." validate:"required"`
	Content string `json:"content" jsonschema_description:"The whole new text of the file."`
}

func (in writeFileArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	shown := w.display(in.Path)
	return "Write " + shown.short, []acp.ToolCallLocation{{Path: shown.absolute}}
}

// fileWritten is the raw output of write_file.
type fileWritten struct {
	Bytes   int  `json:"bytes"`
	Created bool `json:"created,omitempty"`
	Changed bool `json:"changed"`
}

func (w *workspace) writeFile(ctx context.Context, a *activity, in writeFileArgs) (answer, error) {
	path, err := w.resolve(in.Path)
	if err != nil {
		return answer{}, err
	}
	name := w.short(path)
	old, err := w.currentText(ctx, path)
	if err != nil {
		return answer{}, err
	}
	if old != nil && *old == in.Content {
		return answer{text: name + " has this content already; nothing was written.", raw: fileWritten{Bytes: len(in.Content)}}, nil
	}
	diff := diffContent(path, old, in.Content)
	u := acp.ToolCallUpdate{Content: diff}
	canRead := w.Session.Capabilities.FS.ReadTextFile
	switch {
	case old != nil:
		u.Title = new("Edit " + name)
	case canRead:
		u.Title = new("Create " + name)
	}
	a.update(ctx, u)
	asked, err := a.permit(ctx, PermissionRequest{
		Tool: ToolWriteFile, Path: path, Scope: w.fileScope(path), Covers: w.parentScopes(path),
		ScopeTitle: "changes to " + name, Refusal: name + " was not written.",
	})
	if err != nil {
		return answer{}, err
	}
	if asked { // the user had time to type
		now, err := w.currentText(ctx, path)
		if err != nil {
			return answer{}, err
		}
		if !equalText(old, now) {
			return answer{}, toolset.Failed("%s was changed by somebody else while the user was asked; it was not written. Read it again and redo the change.", name)
		}
	}
	a.started(ctx)
	if _, err := w.Client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: w.Session.ID, Path: path, Content: in.Content}); err != nil {
		return answer{}, clientError(ctx, "write "+name, err)
	}
	done := "Wrote"
	if old == nil && canRead {
		done = "Created"
	}
	return answer{
		text: fmt.Sprintf("%s %s (%d bytes).", done, name, len(in.Content)),
		raw:  fileWritten{Bytes: len(in.Content), Created: old == nil && canRead, Changed: true},
	}, nil
}

// currentText returns what the editor has in a file; nil if the file does not exist, or if the client cannot read.
func (w *workspace) currentText(ctx context.Context, path string) (*string, error) {
	if !w.Session.Capabilities.FS.ReadTextFile {
		return nil, nil
	}
	resp, err := w.Client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: w.Session.ID, Path: path})
	switch {
	case err == nil:
		return &resp.Content, nil
	case ctx.Err() == nil && isNotFound(err):
		return nil, nil
	}
	return nil, clientError(ctx, "write "+w.short(path)+", because its present content cannot be read", err)
}

func equalText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/internal/protect"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// basis identifies what the batch was made from and what it makes.
func (b *batch) basis() string {
	h := sha256.New()
	for _, f := range b.files {
		fmt.Fprintf(h, "%q %q %t %t\n", f.at.Path, f.follow, f.old == nil, f.new == nil)
		for _, data := range [][]byte{f.old, f.new} {
			sum := sha256.Sum256(data)
			h.Write(sum[:])
		}
		if f.doc.Unsaved && f.doc.Disk != nil {
			sum := sha256.Sum256(f.doc.Disk.Data)
			h.Write(sum[:])
		}
		h.Write([]byte(f.doc.Bypass))
	}
	return editBasis + hex.EncodeToString(h.Sum(nil))
}

// approval is the question about the batch: all of it.
func (c *call) batchApproval(b *batch) *toolset.Approval {
	a := &toolset.Approval{Title: b.title, Basis: b.basis()}
	if n := len(b.files); n > 1 {
		a.Title += fmt.Sprintf(" (%d files)", n)
	}
	var facts []string
	for _, f := range b.files {
		name := c.view.short(f.at.Path)
		d := &toolset.Diff{Path: f.at.Path}
		if f.old != nil {
			d.Old = new(asText(f.old))
		}
		if f.new != nil {
			d.New = new(asText(f.new))
		}
		a.Preview = append(a.Preview, toolset.Preview{Diff: d})
		a.Effects = append(a.Effects, model.Effect{Kind: model.EffectWrite, Path: f.at.Path})
		if f.follow != f.at.Path {
			a.Effects = append(a.Effects, model.Effect{Kind: model.EffectWrite, Path: f.follow})
			facts = append(facts, name+" is a link to "+c.view.short(f.follow)+".")
		}
		if f.from != "" {
			facts = append(facts, c.view.short(f.from)+" is renamed to "+name+".")
		}
		if f.doc.Bypass != "" {
			facts = append(
				facts,
				name+" is written to disk, not through the editor: "+f.doc.Bypass+".",
			)
		}
		if f.doc.Unsaved && f.doc.Disk != nil {
			facts = append(
				facts,
				"The editor has text of "+name+" that is not on disk. It is saved with this change:\n"+
					strings.TrimSuffix(
						linediff.Unified(
							name, name, asText(f.doc.Disk.Data), asText(f.doc.Current().Data),
						),
						"\n",
					),
			)
		}
	}
	for _, text := range append(facts, b.notes...) {
		a.Preview = append(a.Preview, toolset.Preview{Text: text})
	}
	if p, name := protect.Written(a.Effects); p != nil {
		a.Once = true
		a.Preview = append(
			a.Preview,
			toolset.Preview{
				Text: "This may change " + c.view.short(
					name,
				) + ", which is protected: " + p.Why + ".",
			},
		)
	}
	if len(b.files) == 1 {
		workspace.DefaultScope(context.Background(), c.ws, c.tool, a)
	} else {
		// "Always" covers changes of these files by the tool, and of no others.
		a.Scope, a.ScopeTitle = a.Basis, fmt.Sprintf("changes to these %d files by %s", len(b.files), c.tool)
		for _, f := range b.files {
			a.Parts = append(a.Parts, workspace.StyleOf(f.follow).Fold(f.follow))
		}
	}
	return a
}

// asText returns contents as people see them.
func asText(data []byte) string {
	if text, ok := workspace.DecodeText(data); ok {
		return string(text.Data)
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}

// done is a file that was changed.
type done struct {
	file *batchFile
	doc  *workspace.Document // after the change; nil for a file that was removed
}

// permitted returns the question about a batch, unless the call was approved with it.
func (c *call) permitted(b *batch) error {
	if c.approved && (c.approval == nil || c.approval.Basis == b.basis()) {
		return nil
	}
	return toolset.ApprovalRequired(*c.batchApproval(b))
}

// apply makes the change of a batch. If a file cannot be changed, those that were changed before
// are changed back.
func (c *call) apply(ctx context.Context, b *batch) ([]done, error) {
	// Files are written before others are removed: a rename that fails in between loses nothing.
	order := slices.Clone(b.files)
	slices.SortStableFunc(order, func(a, b *batchFile) int {
		switch {
		case (a.new == nil) == (b.new == nil):
			return 0
		case a.new == nil:
			return 1
		}
		return -1
	})
	var made []done
	for _, f := range order {
		doc, err := c.write(ctx, f)
		if err == nil {
			made = append(made, done{f, doc})
			continue
		}
		left := c.undo(ctx, made)
		name, why := c.view.short(f.at.Path), c.whyNot(err)
		if len(left) > 0 {
			return nil, toolset.Failed(
				"Could not change %s: %s. These files were changed already, and could not be changed back: %s",
				name,
				why,
				strings.Join(left, ", "),
			)
		}
		if ctx.Err() != nil || errors.Is(err, workspace.ErrLost) {
			return nil, c.failed(ctx, err)
		}
		if saved := c.savedBy(made); len(saved) > 0 {
			return nil, toolset.Failed(
				"Could not change %s: %s. No text was changed, but the editor's unsaved text of "+
					"these files is saved now: %s",
				name,
				why,
				strings.Join(saved, ", "),
			)
		}
		return nil, toolset.Failed("Nothing was changed. Could not change %s: %s.", name, why)
	}
	return made, nil
}

// savedBy names the files whose text was not on disk before they were changed, and changed back.
func (c *call) savedBy(made []done) (names []string) {
	for _, d := range made {
		if doc := d.file.doc; doc.Unsaved && doc.Disk != nil {
			names = append(names, c.view.short(d.file.at.Path))
		}
	}
	return names
}

func (c *call) whyNot(err error) string {
	switch {
	case errors.Is(err, workspace.ErrChanged):
		return "it has changed meanwhile. Try again"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, errors.ErrUnsupported):
		return "this is not supported here"
	}
	return shown(err.Error(), 300)
}

func (c *call) write(ctx context.Context, f *batchFile) (*workspace.Document, error) {
	if f.new == nil {
		if workspace.Follow(ctx, c.ws, f.at.Path) != f.follow {
			return nil, &workspace.PathError{
				Op:   "remove",
				Path: f.at.Path,
				Err:  workspace.ErrChanged,
			}
		}
		return nil, c.ws.Remove(ctx, f.at.Path, f.doc.Version)
	}
	return workspace.ApplyChange(
		ctx,
		c.ws,
		f.at.Path,
		workspace.Change{Data: f.new, IfVersion: f.doc.Version, File: f.follow, Found: f.doc},
	)
}

// undo takes changes back, the last first, although ctx may have ended. It returns the names of the
// files that could not be changed back.
func (c *call) undo(ctx context.Context, made []done) (left []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout*10)
	defer cancel()
	for _, d := range slices.Backward(made) {
		var err error
		path := d.file.at.Path
		switch {
		case d.file.old == nil:
			err = c.ws.Remove(ctx, path, d.doc.Version)
		case d.doc == nil:
			_, err = workspace.ApplyChange(
				ctx,
				c.ws,
				path,
				workspace.Change{Data: d.file.old, File: d.file.follow, Exact: true},
			)
		default:
			_, err = workspace.ApplyChange(
				ctx,
				c.ws,
				path,
				workspace.Change{
					Data:      d.file.old,
					IfVersion: d.doc.Version,
					File:      d.file.follow,
					Exact:     true,
				},
			)
		}
		if err != nil {
			left = append(left, c.view.short(path))
		}
	}
	return left
}

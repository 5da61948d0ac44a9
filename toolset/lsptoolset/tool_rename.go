// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
)

const renameSymbolDescription = "Rename a symbol everywhere in the project: its definition and all uses. The user sees all changes first."

type renameSymbolArgs struct {
	symbolArgs
	NewName string `json:"new_name" jsonschema_description:"The new name alone\\, without what the symbol is in." validate:"required,max=500"`
}

func (in renameSymbolArgs) needs(ctx context.Context, c *call) ([]*Server, error) {
	in.split()
	return c.servers(ctx, in.Path)
}

func (in renameSymbolArgs) plan(ctx context.Context, c *call) (*batch, error) {
	t, err := c.resolve(ctx, in.symbolArgs)
	if err != nil {
		return nil, err
	}
	if !provides(t.link.can.RenameProvider) {
		return nil, toolset.Failed(
			"The language server %s cannot rename.",
			t.link.guest.server.Name,
		)
	}
	if err := c.awake(ctx, t.link); err != nil {
		return nil, err
	}
	var edit lsp.WorkspaceEdit
	err = c.repeat(ctx, t.link, true, func() error {
		var found *lsp.WorkspaceEdit
		position := t.link.position(t.doc, t.offset)
		params := lsp.RenameParams{
			NewName:      in.NewName,
			TextDocument: position.TextDocument,
			Position:     position.Position,
		}
		if err := t.link.call(ctx, "textDocument/rename", params, &found); err != nil {
			return err
		}
		if found != nil {
			edit = *found
		}
		return nil
	}, func() []place { return t.link.placesOf(&edit) })
	if err != nil {
		return nil, err
	}
	b, err := c.plan(ctx, t.link, "Rename "+t.title+" to "+shown(in.NewName, 200), edit)
	if others := strings.Trim(c.andOthers(t), "\n[]"); err == nil && others != "" {
		b.notes = append(b.notes, others+".")
	}
	return b, err
}

// placesOf returns a place in each file that an edit is of.
func (l *link) placesOf(e *lsp.WorkspaceEdit) (all []place) {
	steps, _, err := changesOf(e)
	if err != nil {
		return nil // which planning the edit reports
	}
	for _, s := range steps {
		if p, err := l.place(s.uri, lsp.Range{}); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// planned is a tool whose calls change files in one batch.
type planned interface {
	plan(ctx context.Context, c *call) (*batch, error)
}

// change carries out a call that changes files.
func (c *call) change(ctx context.Context, in planned) (toolset.Result, error) {
	p, err := c.prepare(ctx, in)
	if err != nil {
		return toolset.Result{}, err
	}
	if len(p.batch.files) == 0 {
		return text("%s: this changes nothing.", p.batch.title)
	}
	return c.carryOut(ctx, p.batch)
}

// carryOut makes the change of a batch and tells the model what became of it.
func (c *call) carryOut(ctx context.Context, b *batch) (toolset.Result, error) {
	places := make([]place, len(b.files))
	paths := make([]string, len(b.files))
	for i, f := range b.files {
		places[i], paths[i] = f.firstChange(), f.at.Path
	}
	c.show(b.title, places...)
	if err := c.permitted(b); err != nil {
		return toolset.Result{}, err
	}
	watch := c.watch(ctx, paths)
	made, err := c.apply(ctx, b)
	c.plans.put(c.key, nil)
	if err != nil {
		return toolset.Result{}, err
	}
	c.view.stale()
	var lines []string
	for _, d := range made {
		name := c.view.short(d.file.at.Path)
		switch {
		case d.doc == nil:
			lines = append(lines, name+": removed")
			continue
		case d.file.old == nil && d.file.from != "":
			name += " (renamed from " + c.view.short(d.file.from) + ")"
		case d.file.old == nil:
			name += " (created)"
		}
		now := asText(d.doc.Current().Data)
		inserted, deleted := linediff.Count(linediff.Hunks(asText(d.file.old), now, 0))
		line := fmt.Sprintf("%s: +%d -%d lines", name, inserted, deleted)
		if now != asText(d.file.new) {
			line += " [the editor reformatted it while saving]"
		}
		if d.doc.Unsaved {
			line += " [the editor has the change and has not saved it]"
		}
		lines = append(lines, line)
	}
	const most = 50
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("[%d more files]", more))
	}
	answer := b.title + ": done.\n" + strings.Join(lines, "\n")
	if len(made) == 1 && made[0].doc != nil {
		answer += "\n" + changedLines(made[0])
	}
	return toolset.Result{Text: answer + watch.report(ctx)}, nil
}

// firstChange returns the place of the first line that a batch changes in a file.
func (f *batchFile) firstChange() place {
	p := place{path: f.at.Path, inside: true, at: f.at}
	if hunks := linediff.Hunks(asText(f.old), asText(f.new), 0); len(hunks) > 0 && f.new != nil {
		p.span.Start.Line = uint32(max(hunks[0].NewStart-1, 0))
	}
	return p
}

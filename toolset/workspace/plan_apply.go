// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/toolset"
)

// planApproval returns the question about the plan.
func (c *call) planApproval(ctx context.Context, p *plan) *toolset.Approval {
	if p.pieces != nil {
		return c.piecesApproval(ctx, p)
	}
	diff := &toolset.Diff{Path: p.path, New: new(p.shown(p.new))}
	title := "Write "
	switch {
	case p.exists && p.hidden:
		title = "Replace "
	case p.exists && !p.doc.Uncertain:
		diff.Old, title = new(p.shown(p.old)), "Edit "
	case !p.exists && !p.blind:
		title = "Create "
	}
	title += c.titled(p)
	a := &toolset.Approval{Title: title, Preview: []toolset.Preview{{Diff: diff}}, Basis: p.basis()}
	facts := append(p.facts(), p.notes...)
	if p.exists && p.hidden {
		facts = []string{"The file must not be read, so it is not shown what is replaced."}
	}
	for _, note := range facts {
		a.Preview = append(a.Preview, toolset.Preview{Text: note})
	}
	c.affects(a, c.planEffects(p))
	c.scope(ctx, a)
	return a
}

// scope fills in what "always" covers. Its title is not longer than others.
func (c *call) scope(ctx context.Context, a *toolset.Approval) {
	c.options.scope(ctx, c.ws, c.tool, a)
	a.ScopeTitle = cutText(a.ScopeTitle, maxTitle)
}

// titled returns the name of the file, with what it leads to.
func (c *call) titled(p *plan) string {
	if p.file == p.path {
		return p.name
	}
	return p.name + " (a link to " + printable(shortPath(c.ws, p.file)) + ")"
}

// piecesApproval returns the question about edits of a file that has not been read: they alone
// say what will happen.
func (c *call) piecesApproval(ctx context.Context, p *plan) *toolset.Approval {
	a := &toolset.Approval{Title: "Edit " + c.titled(p), Basis: p.basis()}
	for i := range p.pieces {
		e := &p.pieces[i]
		a.Preview = append(a.Preview, toolset.Preview{
			Diff: &toolset.Diff{Path: p.path, Old: &e.OldText, New: &e.NewText},
		})
		if e.ReplaceAll {
			a.Preview = append(a.Preview, toolset.Preview{Text: "This is done wherever the text occurs in the file."})
		}
	}
	c.affects(a, c.planEffects(p))
	c.scope(ctx, a)
	return a
}

// shown returns contents as people see them.
func (p *plan) shown(data []byte) string {
	if text, ok := DecodeText(data); ok {
		return string(text.Data)
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}

// facts tell people about the file that is changed.
func (p *plan) facts() (facts []string) {
	if p.blind {
		return []string{"What the file holds now cannot be read here. If it exists, it is replaced."}
	}
	if p.doc.Uncertain {
		facts = append(facts, "The file is empty or does not exist: the editor does not say which.")
	}
	if p.doc.Bypass != "" {
		facts = append(facts, "This is written to disk, not through the editor: "+p.doc.Bypass+".")
	}
	switch {
	case !p.exists || p.text != nil:
	case p.doc.Disk == nil:
		facts = append(facts, "What the editor shows of the file now is not text.")
	default:
		facts = append(facts, fmt.Sprintf("The file as it is now is not text (%d bytes).", len(p.old)))
	}
	if p.doc.Unsaved {
		facts = append(facts, "The editor has text that is not on disk. It is saved with this change:\n"+p.unsaved())
	}
	return facts
}

// unsaved shows the difference between what is on disk and what the editor has.
func (p *plan) unsaved() string {
	name := p.short
	if !p.doc.Disk.Exists {
		name = ""
	}
	return strings.TrimSuffix(
		linediff.Unified(name, p.short, p.shown(p.doc.Disk.Data), p.shown(p.doc.Buffer.Data)), "\n",
	)
}

// carryOut makes the change of a plan, if it is the one that was approved, and returns what is
// there afterwards. If the file is another one by now, the change is worked out and asked about
// anew.
func (c *call) carryOut(ctx context.Context, p *plan, fill func(*plan) error) (*Document, error) {
	if !c.approved || c.approval != nil && c.approval.Basis != p.basis() {
		return nil, toolset.ApprovalRequired(*c.planApproval(ctx, p))
	}
	c.plans.clear()
	change := p.change
	if p.pieces != nil { // the file is read now, for the first time
		found, err := c.current(ctx, p.path, false)
		if err == nil {
			err = fill(found)
		}
		if err != nil {
			return nil, err
		}
		*p = *found
		change = func() Change {
			made := p.change()
			made.Found = p.doc
			return made
		}
	}
	doc, err := ApplyChange(ctx, c.ws, p.path, change())
	if err == nil {
		return doc, nil
	}
	if errors.Is(err, ErrChanged) && ctx.Err() == nil && !p.blind {
		again, planErr := c.current(ctx, p.path, false)
		if planErr == nil {
			planErr = fill(again)
		}
		switch {
		case planErr != nil:
			return nil, planErr
		case again.basis() != p.basis() && !again.unchanged():
			return nil, toolset.ApprovalRequired(*c.planApproval(ctx, again))
		case again.basis() == p.basis(): // the same content, by another version
			if doc, err = ApplyChange(ctx, c.ws, again.path, again.change()); err == nil {
				return doc, nil
			}
		}
	}
	return nil, c.failed(ctx, "write "+p.name, err)
}

// unchanged reports whether the file has the new content already. It is not told of a file that
// must not be read, because guesses would find out what it holds.
func (p *plan) unchanged() bool {
	return p.exists && !p.hidden && !p.doc.Uncertain && bytes.Equal(p.old, p.new)
}

// written is the result of a plan.
type written struct {
	plan *plan
	doc  *Document
	// before and after are the text of the file.
	before, after []byte
}

func (p *plan) written(doc *Document) *written {
	return &written{p, doc, []byte(p.shown(p.old)), []byte(p.shown(doc.Current().Data))}
}

// meta returns the result for programs.
func (w *written) meta() FileWritten {
	return FileWritten{
		Bytes: len(
			w.doc.Current().Data,
		), Changed: true, Created: w.doc.Current().Exists && !w.plan.exists && !w.plan.blind,
		Reformatted: !bytes.Equal(w.doc.Current().Data, w.plan.new), Unsaved: w.doc.Unsaved,
	}
}

// where says whose bytes the result counts, if they are not those on disk.
func (w *written) where() string {
	switch {
	case w.doc.Disk != nil || w.doc.Unsaved:
		return ""
	case w.doc.Unchecked:
		return " sent to the editor"
	}
	return " in the editor"
}

// notes tell the model where the file is not what the change made of it. They begin with a line
// break.
func (w *written) notes() string {
	if !w.doc.Current().Exists {
		return "\n[The file was not found after it was written.]"
	}
	var b strings.Builder
	if lines := w.reformatted(); lines != "" {
		when := " while saving"
		if w.doc.Disk == nil { // and nobody knows what was saved
			when = ""
		}
		fmt.Fprintf(&b, "\n[The editor reformatted %s%s.]", lines, when)
	}
	if w.doc.Unsaved {
		b.WriteString("\n[The editor has the change and has not saved it: the file on disk is another one.]")
	}
	return b.String()
}

// reformatted names the lines that the editor has changed by itself; it is empty for none.
func (w *written) reformatted() string {
	now := w.doc.Current()
	if bytes.Equal(now.Data, w.plan.new) {
		return ""
	}
	const most = 5
	var places []string
	for _, h := range linediff.Hunks(w.plan.shown(w.plan.new), string(w.after), 0) {
		switch {
		case len(places) == most:
			return strings.Join(places, ", ") + " and more"
		case h.NewLines > 1:
			places = append(places, fmt.Sprintf("lines %d-%d", h.NewStart, h.NewStart+h.NewLines-1))
		case h.NewLines == 1:
			places = append(places, fmt.Sprintf("line %d", h.NewStart))
		default:
			places = append(places, fmt.Sprintf("what followed line %d", h.NewStart))
		}
	}
	if len(places) == 0 {
		return "the file"
	}
	return strings.Join(places, ", ")
}

// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/toolset"
)

// plan is a change of a file, made from one version of it.
type plan struct {
	path   string // absolute
	file   string // what the path leads to, as [Follow] names it
	name   string // as it is shown
	short  string // the name without quotes
	exists bool
	// doc is the document that the plan was made from, and old its content. text is old as text,
	// nil for binary files.
	doc  *Document
	old  []byte
	text *Text
	new  []byte
	// notes are what people have to know beside the difference.
	notes []string
	// pieces are edits of a file that has not been read: the question shows them, and they are made
	// once it is.
	pieces []Edit
	// blind is set if the workspace cannot read: the present content is unknown.
	blind bool
	// hidden is set if the file must not be read: its present content is shown and told to nobody.
	hidden bool
}

// basis identifies what the plan was made from, for [toolset.Approval]. It is never empty, which
// makes sure that the file is checked again.
func (p *plan) basis() string {
	switch {
	case p.blind:
		return ""
	case p.pieces != nil:
		return "pieces" + p.linked()
	case !p.exists:
		return "new" + p.linked()
	}
	// The version would not do: a workspace may give the same content another one, such as when
	// time has passed since its last change.
	return "content " + p.doc.digest() + p.linked()
}

// linked is the file that the path leads to, if that is another one.
func (p *plan) linked() string {
	if p.file == p.path {
		return ""
	}
	return " of " + p.file
}

// change is the plan for [ApplyChange].
func (p *plan) change() Change {
	c := Change{Data: p.new, File: p.file, IfVersion: AnyVersion}
	if !p.blind {
		c.IfVersion = p.doc.Version
	}
	return c
}

// current reads what a plan is to change. quick permits an answer that may be out of date. The
// error is for the model.
func (c *call) current(ctx context.Context, path string, quick bool) (*plan, error) {
	name := c.name(path)
	at, err := LocateIn(c.ws, path)
	if err != nil {
		return nil, c.failed(ctx, "write "+name, err)
	}
	p := &plan{path: at.Path, file: Follow(ctx, c.ws, at.Path), name: name, short: shortPath(c.ws, at.Path)}
	p.hidden = c.tool == ToolWriteFile && c.withheld(ctx, at.Path) // who edits may read it
	if !c.ws.Features().Read {
		p.blind = true
		return p, nil
	}
	p.doc, err = OpenDocument(ctx, c.ws, path, quick)
	if err != nil {
		return nil, c.failed(ctx, "write "+name+", because its present content cannot be read", err)
	}
	if p.doc.Unread {
		return p, nil
	}
	if p.doc.Blocked != "" {
		return nil, toolset.Failed("Could not write %s: %s.", name, p.doc.Blocked)
	}
	if side := p.doc.Current(); side.Exists {
		p.exists, p.old = true, side.Data
		if text, ok := DecodeText(p.old); ok {
			p.text = &text
		}
	}
	return p, nil
}

// planned returns the plan for a call. One that was made for the preview is used again as long as
// it seems to hold: then an editor is not asked a second time, and [ApplyChange] finds out
// whether the file has changed. fill makes what is new.
func (c *call) planned(ctx context.Context, path string, args any, fill func(*plan) error) (*plan, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(append([]byte(c.tool+"\x00"), raw...))
	if p := c.plans.get(key); p != nil && p.file == Follow(ctx, c.ws, p.path) {
		if c.approved && c.approval != nil && c.approval.Basis == p.basis() || c.holds(ctx, p) {
			return p, nil
		}
	}
	p, err := c.plan(ctx, path, fill)
	if err == nil && !p.blind {
		c.plans.put(key, p)
	}
	return p, err
}

// holds reports whether the file of a plan seems unchanged, after a quick look.
func (c *call) holds(ctx context.Context, p *plan) bool {
	if _, ok := c.ws.(Opener); ok {
		doc, err := OpenDocument(ctx, c.ws, p.path, true)
		return err == nil && doc.digest() == p.doc.digest()
	}
	info, err := c.ws.Stat(ctx, p.path)
	return err == nil && p.exists && info.Version == p.doc.Version || errors.Is(err, fs.ErrNotExist) && !p.exists
}

// plan makes a plan, from a quick look at the file if that is enough: what would be told to the
// model at once needs the truth.
func (c *call) plan(ctx context.Context, path string, fill func(*plan) error) (p *plan, err error) {
	for _, quick := range []bool{true, false} {
		p, err = c.current(ctx, path, quick)
		if err == nil {
			err = fill(p)
		}
		unchecked := p != nil && p.doc != nil && (p.doc.Unchecked || p.doc.Unread && p.pieces == nil)
		if unread := unchecked && !p.doc.Unchecked; unread {
			continue
		}
		if !unchecked || err == nil && !p.unchanged() {
			break
		}
	}
	return p, err
}

// planCache keeps the last plans, because a file is looked at for the preview, before the call,
// and in it. It is safe for concurrent use.
type planCache struct {
	mu      sync.Mutex
	entries []planEntry // the oldest first
}

type planEntry struct {
	key  [sha256.Size]byte
	plan *plan
}

// maxPlans is how many plans are kept; calls that change files run one after the other.
const maxPlans = 4

func (p *planCache) get(key [sha256.Size]byte) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.key == key {
			return e.plan
		}
	}
	return nil
}

// clear forgets all plans.
func (p *planCache) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = nil
}

func (p *planCache) put(key [sha256.Size]byte, made *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = slices.DeleteFunc(p.entries, func(e planEntry) bool { return e.key == key })
	if len(p.entries) >= maxPlans {
		p.entries = slices.Delete(p.entries, 0, 1)
	}
	p.entries = append(p.entries, planEntry{key, made})
}

// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

type saveArgs struct {
	Name string `json:"name" jsonschema_description:"What the note is about, such as user-preferences." validate:"required,max=64"`
	Text string `json:"text" jsonschema_description:"The full text of the note, as Markdown. Begin with a line that summarizes it." validate:"required,max=8192"`
}

type removeArgs struct {
	Name string `json:"name" validate:"required,max=64"`
}

type searchArgs struct {
	Query string `json:"query" jsonschema_description:"Words to look for, or the name of a note to read all of it." validate:"required,max=500"`
}

func (m *notes[D]) checkSave(_ context.Context, _ *toolset.RunContext[D], in saveArgs) error {
	if err := checkName(in.Name); err != nil {
		return toolset.Retry("name: %v", err)
	}
	if len(in.Text) > MaxNote {
		return toolset.Retry("text: a note has at most %d bytes; this one has %d. Shorten it, or write several", MaxNote, len(in.Text))
	}
	return nil
}

// change is a change of a note that is to be approved.
type change struct {
	name, version string
	// file is the name of the note in the preview.
	file     string
	old, new *string
}

// fileOf returns what a note is called in previews.
func fileOf(store Store, name string) string {
	if s, ok := store.(interface{ Path(name string) string }); ok {
		return s.Path(name)
	}
	return name + extension
}

func (c *change) approval() *toolset.Approval {
	title := "Remember " + c.name
	switch {
	case c.new == nil:
		title = "Forget " + c.name
	case c.old != nil:
		title = "Change the note " + c.name
	}
	return &toolset.Approval{
		Title: title, Basis: c.basis(), Scope: "memory", ScopeTitle: "changes to the agent's notes",
		Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: c.file, Old: c.old, New: c.new}}},
	}
}

// basis identifies what the note says now. Its version may change though it says the same: see
// package workspace/local.
func (c *change) basis() string {
	if c.old == nil {
		return "new"
	}
	sum := sha256.Sum256([]byte(*c.old))
	return "content " + hex.EncodeToString(sum[:])
}

// planSave returns what saving a note would do now.
func (m *notes[D]) planSave(ctx context.Context, store Store, in saveArgs) (*change, error) {
	old, err := find(ctx, store, in.Name)
	if err != nil {
		return nil, err
	}
	c := &change{name: in.Name, file: fileOf(store, in.Name), new: &in.Text}
	switch {
	case old != nil && old.Cut:
		return nil, toolset.Failed("The note %s is too long to be replaced. Save another note, or ask the user to shorten it.", in.Name)
	case old != nil:
		c.old, c.version = &old.Text, old.Version
	}
	return c, nil
}

func (m *notes[D]) planRemove(ctx context.Context, store Store, name string) (*change, error) {
	old, err := find(ctx, store, name)
	if err != nil {
		return nil, err
	}
	switch {
	case old == nil:
		return nil, toolset.Failed("Unknown note %q.", clean.Short(name, 100))
	case old.Cut:
		return nil, toolset.Failed("The note %s is too long to be shown before it is removed. Ask the user to remove it.", name)
	}
	return &change{name: name, file: fileOf(store, name), old: &old.Text, version: old.Version}, nil
}

func (m *notes[D]) approveSave(ctx context.Context, run *toolset.RunContext[D], in saveArgs) (*toolset.Approval, error) {
	return asked(m.planSave(ctx, m.store(run.Deps), in))
}

func (m *notes[D]) approveRemove(ctx context.Context, run *toolset.RunContext[D], in removeArgs) (*toolset.Approval, error) {
	return asked(m.planRemove(ctx, m.store(run.Deps), in.Name))
}

// asked returns the approval of a change. An impossible change needs none: the call returns the
// error.
func asked(c *change, err error) (*toolset.Approval, error) {
	if _, failed := toolset.Outcome(err).(*toolset.FailedError); failed {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.approval(), nil
}

// settled checks that a change equals the approved one.
func (m *notes[D]) settled(call *toolset.Call, c *change) error {
	if !m.options.Unasked && (!call.Approved || call.Approval != nil && call.Approval.Basis != c.approval().Basis) {
		return toolset.ApprovalRequired(*c.approval())
	}
	return nil
}

func (m *notes[D]) save(ctx context.Context, run *toolset.RunContext[D], in saveArgs) (string, error) {
	store := m.store(run.Deps)
	c, err := m.planSave(ctx, store, in)
	if err == nil {
		err = m.settled(&run.Call, c)
	}
	if err != nil {
		return "", err
	}
	if err := store.Put(ctx, c.name, *c.new, c.version); err != nil {
		return "", failure(ctx, err)
	}
	return "Saved the note " + c.name + ".", nil
}

func (m *notes[D]) remove(ctx context.Context, run *toolset.RunContext[D], in removeArgs) (string, error) {
	store := m.store(run.Deps)
	c, err := m.planRemove(ctx, store, in.Name)
	if err == nil {
		err = m.settled(&run.Call, c)
	}
	if err != nil {
		return "", err
	}
	if err := store.Remove(ctx, c.name, c.version); err != nil {
		return "", failure(ctx, err)
	}
	return "Removed the note " + c.name + ".", nil
}

// failure tells the model what it can do something about.
func failure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, ErrChanged):
		return toolset.Failed("Nothing was changed: the note has changed since it was last read. Read it with %s and try again.", ToolSearchNotes)
	case errors.Is(err, ErrFull):
		return toolset.Failed("Not saved: there are %d notes. Remove one that is not needed, or add to another.", MaxNotes)
	}
	return err
}

func (m *notes[D]) search(ctx context.Context, run *toolset.RunContext[D], in searchArgs) (string, error) {
	all, err := m.store(run.Deps).All(ctx)
	if err != nil {
		return "", err
	}
	return show(all, in.Query), nil
}

// show returns the notes that fit a query, the best first: a note of that name in full, of the
// others the beginning.
func show(all []Note, query string) string {
	type hit struct {
		note         *Note
		limit, score int
	}
	var hits []hit
	words := strings.Fields(strings.ToLower(query))
	for i := range all {
		n := &all[i]
		name, text := strings.ToLower(n.Name), strings.ToLower(n.Text)
		h := hit{note: n, limit: maxEach}
		if strings.EqualFold(n.Name, strings.TrimSpace(query)) {
			h.limit = MaxRead
		}
		for _, w := range words {
			if strings.Contains(name, w) {
				h.score += 200
			}
			if c := strings.Count(text, w); c > 0 {
				h.score += 100 + min(c, 20)
			}
		}
		if h.score > 0 {
			hits = append(hits, h)
		}
	}
	if len(hits) == 0 {
		return "No matching notes. Try a different query."
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.limit-a.limit, b.score-a.score) })
	var b strings.Builder
	for i, h := range hits {
		room := maxResult - b.Len()
		rest := fmt.Sprintf("Search for %q to read more of it.", h.note.Name)
		if i == 0 && h.limit == MaxRead { // it is asked for by name, and comes first
			room, rest = MaxRead, "This is all of it that can be read."
		}
		text, cut := clean.Cut(clean.Text(h.note.Text), min(h.limit, room))
		if i == maxFound || room < 200 {
			fmt.Fprintf(&b, "[%d more notes fit. Use more words, or the name of a note.]", len(hits)-i)
			break
		}
		fmt.Fprintf(&b, "# Note %s\n%s", h.note.Name, text)
		if !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
		if cut || h.note.Cut {
			fmt.Fprintf(&b, "[The note is longer. %s]\n", rest)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

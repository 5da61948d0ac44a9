// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

// The names of the tools.
const (
	ToolSaveNote    = "save_note"
	ToolSearchNotes = "search_notes"
	ToolRemoveNote  = "remove_note"
)

// Options changes [New]. The zero value will do.
type Options struct {
	// Unasked lets the model write and remove notes without approval.
	Unasked bool
	// MaxList bounds the list of notes in the instructions, in bytes. 0 means 4 KiB.
	MaxList int
}

const (
	// maxFound bounds the notes that a search returns, maxResult their text in bytes unless one is
	// asked for by name, maxEach the text of one that is not.
	maxFound  = 10
	maxResult = 32 << 10
	maxEach   = 2 << 10
	maxLine   = 200
)

const header = "You have notes from earlier sessions. They reflect what was known at the time. Search them with " + ToolSearchNotes + " before you ask the user about something that may be in them. " +
	"Save a note with " + ToolSaveNote + " if the user asks you to remember something, or tells you something that later sessions will need. Do not save secrets, or information that is in the project's files."

// New returns the capability. store returns the store of a run; nil means that the run gets none of
// the tools.
//
// agent.New reports invalid options.
func New[D any](store func(deps D) Store, o Options) agent.Capability[D] {
	m := &notes[D]{store: store, options: o}
	if o.MaxList == 0 {
		m.options.MaxList = 4 << 10
	}
	write := []toolset.Option{toolset.OfKind(toolset.KindEdit, "Save note"), toolset.Sequential(), toolset.Check(m.checkSave)}
	remove := []toolset.Option{toolset.OfKind(toolset.KindDelete, "Remove note"), toolset.Sequential()}
	if !o.Unasked {
		write, remove = append(write, toolset.Approve(m.approveSave)), append(remove, toolset.Approve(m.approveRemove))
	}
	m.tools = []*toolset.Tool[D]{
		toolset.Func(ToolSaveNote, "Save a note for later sessions. It replaces the note of that name, if there is one.", m.save, write...),
		toolset.Func(ToolSearchNotes, "Search the notes of earlier sessions, or read one by its name.", m.search, toolset.OfKind(toolset.KindSearch, "Search notes")),
		toolset.Func(ToolRemoveNote, "Remove a note that is wrong or no longer needed.", m.remove, remove...),
	}
	return agent.Capability[D]{
		Name:     "memory",
		Toolsets: []toolset.Toolset[D]{m},
		Commands: []agent.Command[D]{{Name: "memory", Description: "Show the notes that the agent keeps.", Hint: "words to search for", Run: m.command}},
	}
}

// notes is a toolset for the notes of a store.
type notes[D any] struct {
	store   func(D) Store
	options Options
	tools   []*toolset.Tool[D]
}

func (m *notes[D]) Name() string { return "memory" }

// Check implements [toolset.Checker].
func (m *notes[D]) Check() error {
	switch {
	case m.store == nil:
		return errors.New("memory: New: the function is nil")
	case m.options.MaxList < 0:
		return fmt.Errorf("memory: Options.MaxList is %d; it must not be negative", m.options.MaxList)
	}
	return nil
}

// opened is the instance of a run.
type opened[D any] struct{ listing toolset.Listing[D] }

func (o *opened[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return o.listing, nil
}

func (o *opened[D]) Close(context.Context) error { return nil }

func (m *notes[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	o := &opened[D]{}
	store := m.store(run.Deps)
	if store == nil {
		return o, nil
	}
	all, err := store.All(ctx)
	if err != nil {
		return nil, err
	}
	o.listing = toolset.Listing[D]{Tools: m.tools, Instructions: header + m.list(all)}
	return o, nil
}

// list returns the names and first lines of the notes.
func (m *notes[D]) list(all []Note) string {
	if len(all) == 0 {
		return " There are no notes yet."
	}
	var b strings.Builder
	b.WriteString("\n")
	for i, n := range all {
		line := "\n- " + n.Name
		if first := firstLine(n.Text); first != "" {
			line += ": " + first
		}
		if b.Len()+len(line) > m.options.MaxList {
			fmt.Fprintf(&b, "\n[%d more: search for them.]", len(all)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// firstLine returns the first line that says anything.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(clean.Short(line, maxLine), "#-* "); line != "" {
			return line
		}
	}
	return ""
}

// find returns a note, or nil if there is none.
func find(ctx context.Context, store Store, name string) (*Note, error) {
	all, err := store.All(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, nil
}

// command shows the notes.
func (m *notes[D]) command(ctx context.Context, call agent.CommandCall[D]) (agent.CommandResult, error) {
	store := m.store(call.Deps)
	if store == nil {
		return agent.CommandResult{Notice: "No memory is available."}, nil
	}
	all, err := store.All(ctx)
	if err != nil {
		return agent.CommandResult{}, err
	}
	if call.Args != "" {
		return agent.CommandResult{Notice: show(all, call.Args)}, nil
	}
	lines := []string{"Notes:"}
	for _, n := range all {
		lines = append(lines, "- "+n.Name+": "+firstLine(n.Text))
	}
	if len(all) == 0 {
		lines = []string{"There are no notes."}
	}
	return agent.CommandResult{Notice: strings.Join(lines, "\n")}, nil
}

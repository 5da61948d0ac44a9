// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/show"
)

// notesValue is the name of the session's value with what the model is told of files that were
// taken back, or were not.
const notesValue = "file_notes"

// Prefixes of notes.
const (
	undone    = "The user took back earlier messages and the changes of files that belong to them.\n"
	notUndone = "The user tried to take back earlier messages and the changes of files that belong to them. The messages above still hold. " +
		"Read files before changing them.\n"
)

// fileNote is something that the model is told with the next prompt.
type fileNote struct {
	Text string `json:"text"`
	// Turn is the turn whose prompt has the note. It is empty until there is one.
	Turn string `json:"turn,omitempty"`
}

const (
	maxNotes    = 16
	maxNoteText = 4096
)

// notes returns the notes of the session.
func (s *Session) notes() (all []fileNote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.Unmarshal(s.info.Values[notesValue], &all) // only this file writes them
	return all
}

// saveNotes stores the notes of the session. The oldest are dropped.
func (s *Session) saveNotes(ctx context.Context, c *conversation, all []fileNote) {
	change := session.Change{Values: map[string]json.RawMessage{notesValue: encodeNotes(all)}}
	if err := s.updateHeld(ctx, c.w, change); err != nil {
		s.logError("notes for the model about changed files are not recorded", err)
	}
}

func encodeNotes(all []fileNote) json.RawMessage {
	all = all[max(0, len(all)-maxNotes):]
	data, err := json.Marshal(all)
	if err != nil || len(all) == 0 { // only strings
		return nil
	}
	return data
}

// forkedNotes returns the notes for a fork of a session. The fork may not have the prompts that
// they came with.
func forkedNotes(parent *session.Info) json.RawMessage {
	var all []fileNote
	_ = json.Unmarshal(parent.Values[notesValue], &all)
	for i := range all {
		all[i].Turn = ""
	}
	return encodeNotes(all)
}

// addNote adds a note, unless it is empty. Notes of the turns that are gone from the conversation
// are told again.
func (s *Session) addNote(ctx context.Context, c *conversation, gone []string, text string) {
	all := s.notes()
	again := false
	for i := range all {
		if slices.Contains(gone, all[i].Turn) {
			all[i].Turn, again = "", true
		}
	}
	if text != "" {
		all = append(all, fileNote{Text: clean(text)})
	} else if !again {
		return
	}
	s.saveNotes(ctx, c, all)
}

// clean makes lines of what files are called, and bounds their length.
func clean(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = show.Line(lines[i])
	}
	text = strings.Join(lines, "\n")
	if len(text) > maxNoteText {
		text = strings.ToValidUTF8(text[:maxNoteText], "") + "\n[More is not shown.]"
	}
	return text
}

// untold returns what the model has to be told with the next prompt.
func (s *Session) untold() (parts []model.Part) {
	for _, n := range s.notes() {
		if n.Turn == "" {
			parts = append(parts, model.User("["+n.Text+"]"))
		}
	}
	return parts
}

// told notes that the prompt of a turn has what untold returned.
func (s *Session) told(ctx context.Context, c *conversation, turn string) {
	all := s.notes()
	changed := false
	for i := range all {
		if all[i].Turn == "" {
			all[i].Turn, changed = turn, true
		}
	}
	if changed {
		s.saveNotes(ctx, c, all)
	}
}

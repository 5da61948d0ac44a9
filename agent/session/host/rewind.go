// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// FilesStayError is the error of [Session.Rewind] if files could not be taken back. The
// conversation stays as well, and the model knows of the files. Other files may have been taken
// back.
type FilesStayError struct {
	// Note lists what was taken back; it may be empty.
	Note string
	// Err names the files that stay, and why. It is from [Files].
	Err error
}

func (e *FilesStayError) Error() string { return "host: rewind: " + e.text() }

// Unwrap returns Err.
func (e *FilesStayError) Unwrap() error { return e.Err }

// Text describes the error to users.
func (e *FilesStayError) Text() string {
	return "The conversation was not taken back, because not all files were.\n\n" + e.text()
}

func (e *FilesStayError) text() string { return joined(e.Note, e.Err.Error()) }

// Rewind takes the session back to the moment before a prompt, which is named by its id
// ([transcript.PromptID]). That turn and those after it are no longer part of the conversation, and
// are not shown. With [Config].Files, what they changed is taken back. The note says what happened
// to the files. It is shown in the session, and the model is told with the next prompt. If a file
// cannot be taken back, the conversation stays as it is: the error is a [*FilesStayError], which is
// shown and told in the same way.
//
// If the prompt took the place of answers to a pending run, what became of its calls stays. Rewind
// fails with [ErrBusy] while a turn is running.
func (s *Session) Rewind(ctx context.Context, prompt string) (note string, err error) {
	quiet, err := s.quiet(ctx)
	if err != nil {
		return "", err
	}
	defer quiet()
	c, done, err := s.useSoon(ctx, true)
	if err != nil {
		return "", err
	}
	defer done()
	to := ""
	for _, m := range c.Messages() {
		root, _, _ := strings.Cut(m.RunID, "/")
		if root != "" && transcript.PromptID(root) == prompt && !isSummary(m) {
			to = root
			break
		}
	}
	if to == "" {
		if err = noPrompt("rewind", s.id, prompt); slices.ContainsFunc(c.Messages(), isSummary) {
			err = fmt.Errorf("%w: it may have only a summary of it", err)
		}
		return "", err
	}
	note, err = s.rewind(ctx, c, to)
	class, shown := "info", note
	if stay, ok := errors.AsType[*FilesStayError](err); ok {
		class, shown = "warning", stay.Text()
	}
	if shown != "" {
		s.noteOf(ctx, c, class, shown)
	}
	return note, err
}

// noteOf shows a notice that belongs to no turn.
func (s *Session) noteOf(ctx context.Context, c *conversation, class, text string) {
	id := rand.Text()
	c.Start(id)
	c.Notice(class, text)
	c.Stop(transcript.Done)
	if err := c.Keep(context.WithoutCancel(ctx)); err != nil {
		s.logError("entities that were shown are not recorded", err)
	}
}

// rewind takes the session back to the beginning of a turn, with its files, and keeps what the
// model has to be told. The note is for the user. No other turn may be running.
func (s *Session) rewind(ctx context.Context, c *conversation, to string) (note string, err error) {
	if files := s.instance.files(); files != nil {
		var stay error
		note, stay = files.Undo(ctx, to)
		if stay != nil && (ctx.Err() != nil || hasCalls(c.Messages(), to)) {
			failed := &FilesStayError{note, stay}
			s.addNote(ctx, c, nil, notUndone+failed.text())
			return note, failed
		}
		if stay != nil { // the conversation has nothing of the files that stay
			note = joined(note, stay.Error())
		}
		ctx = context.WithoutCancel(ctx) // the files have gone back, and so must the conversation
	}
	gone, err := c.Rewind(ctx, to)
	switch {
	case note == "":
		s.addNote(ctx, c, gone, "")
	case err != nil:
		s.addNote(ctx, c, gone, notUndone+note)
	default:
		s.addNote(ctx, c, gone, undone+note)
	}
	if err != nil {
		return note, err
	}
	s.takeResults(c)
	s.touch(c)
	return note, nil
}

// isSummary reports whether a message has history.MetaSummary: its run is that of what it replaces.
func isSummary(m *model.Message) bool { return m.Metadata["ponte.history.summary"] != "" }

// joined joins lines that are not empty.
func joined(a, b string) string { return strings.Trim(a+"\n"+b, "\n") }

// hasCalls reports whether the model called tools since a turn began.
func hasCalls(history []*model.Message, turn string) bool {
	from := slices.IndexFunc(history, func(m *model.Message) bool { return m.RunID == turn })
	return from >= 0 && slices.ContainsFunc(history[from:], (*model.Message).HasToolCalls)
}

func noPrompt(op, id, prompt string) error {
	return &session.Error{Op: op, Session: id, Err: fmt.Errorf(
		"%w: the conversation has no prompt %q", session.ErrInvalid, prompt,
	)}
}

// headBefore returns the number of the last entry before the turn with a prompt.
func headBefore(ctx context.Context, store session.Store, id, prompt string) (int64, error) {
	last, before := int64(0), transcript.New(id, transcript.Options{})
	for e, err := range store.Load(ctx, id, 0) {
		if err != nil {
			return 0, err
		}
		root, _, _ := strings.Cut(e.Run, "/")
		if root != "" && transcript.PromptID(root) == prompt {
			return last, nil // what comes after the prompt does not matter
		}
		if err := before.Append(e); err != nil {
			return 0, err
		}
		last = e.Seq
	}
	return 0, noPrompt("fork", id, prompt)
}

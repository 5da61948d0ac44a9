// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/projection"
	"github.com/ponte-go/ponte/agent/session/turn"
)

// Rewind takes the session back to the moment before a prompt, which is named by its id ([projection.PromptID]). That turn and those after it are
// no longer part of the conversation, and are not shown. With [Config].Files, what they changed is taken back; the note says to people which files
// that are, and what could not be taken back. If the prompt took the place of answers to a pending run, what became of its calls stays. It fails with [ErrBusy] while a turn is running.
func (s *Session) Rewind(ctx context.Context, prompt string) (note string, err error) {
	quiet, err := s.quiet(ctx)
	if err != nil {
		return "", err
	}
	defer quiet()
	c, done, err := s.use(ctx, true)
	if err != nil {
		return "", err
	}
	defer done()
	to := ""
	for _, m := range c.Messages() {
		root, _, _ := strings.Cut(m.RunID, "/")
		if root != "" && projection.PromptID(root) == prompt {
			to = root
			break
		}
	}
	if to == "" {
		return "", noPrompt("rewind", s.id, prompt)
	}
	return s.rewind(ctx, c, to)
}

// rewind takes the session back to the beginning of a turn. The note is for the user. No other turn may be running.
func (s *Session) rewind(ctx context.Context, c *conversation, to string) (note string, err error) {
	if files := s.instance.files(); files != nil {
		if note, err = files.Undo(ctx, to); err != nil {
			return "", err
		}
	}
	if _, err := c.Rewind(ctx, to); err != nil {
		return note, err
	}
	s.takeResults(c)
	c.proj.Begin(to)
	c.proj.Rewind(to)
	s.touch(c)
	return note, nil
}

func noPrompt(op, id, prompt string) error {
	return &session.Error{Op: op, Session: id, Err: fmt.Errorf("%w: the conversation has no prompt %q", session.ErrInvalid, prompt)}
}

// headBefore returns the number of the last entry before the turn with a prompt.
func headBefore(ctx context.Context, store session.Store, id, prompt string) (int64, error) {
	last, found := int64(0), false
	_, err := turn.ReadWith(ctx, store, id, func(i *turn.Item) {
		root, _, _ := strings.Cut(i.Run, "/")
		if found = found || root != "" && projection.PromptID(root) == prompt; !found {
			last = max(last, i.Seq)
		}
	})
	if found && errors.Is(err, session.ErrCorrupt) {
		err = nil // what comes after the prompt does not matter
	}
	if err == nil && !found {
		err = noPrompt("fork", id, prompt)
	}
	return last, err
}

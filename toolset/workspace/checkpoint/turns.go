// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Turns takes the files of a session along when the session goes back: it is a host.Files for
// package agent/session/host. It marks each turn in a recorder. What it knows is in the
// recorder's log, so with a recorder of [Keep] it survives the process. The zero value is of no
// use; see [NewTurns].
type Turns struct{ recorder *Recorder }

// NewTurns returns the turns of a session that works on r. It panics if r is nil.
func NewTurns(r *Recorder) *Turns {
	if r == nil {
		panic("checkpoint: NewTurns: the recorder is nil")
	}
	return &Turns{r}
}

// Mark marks the beginning of a turn. title is for people.
func (t *Turns) Mark(turn, title string) { t.recorder.mark(title, turn, false) }

// begun returns the checkpoint with which a turn began, 0 if there is none.
func (r *Recorder) begun(turn string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.log.Checkpoints) - 1; i >= 0; i-- {
		if c := &r.log.Checkpoints[i]; c.Turn == turn && turn != "" {
			return c.ID
		}
	}
	return 0
}

// ErrNotRecorded means that a recorder does not know a turn.
var ErrNotRecorded = errors.New("checkpoint: the turn is not recorded")

// Undo takes back what was written since a turn began: see [Recorder.Undo]. The note says which
// files were taken back, and which commands ran, whose changes are not known. The error says what
// could not be taken back, and why. Its text is for people. It wraps an [*IncompleteError],
// [ErrNotRecorded] or the cause of ctx.
func (t *Turns) Undo(ctx context.Context, turn string) (note string, err error) {
	id := t.recorder.begun(turn)
	if id == 0 {
		return "", &stays{"Files stay as they are: their changes are not recorded here.", ErrNotRecorded}
	}
	commands := t.recorder.commandsSince(id)
	res, err := t.recorder.Undo(ctx, Since(id))
	var notes []string
	if names := res.done(); len(names) > 0 {
		notes = append(notes, "Files taken back: "+strings.Join(names, ", "))
	}
	if len(commands) > 0 {
		notes = append(notes, "Not taken back is what commands changed: "+strings.Join(commands, "; "))
	}
	note = strings.Join(notes, "\n")
	if err == nil {
		return note, nil
	}
	text := "Files were not taken back: " + err.Error()
	if incomplete, ok := errors.AsType[*IncompleteError](err); ok {
		text = "Not taken back: " + strings.Join(incomplete.left(), ", ")
	}
	return note, &stays{text, errors.Join(err, context.Cause(ctx))}
}

// stays is an error that says to people which files stay as they are.
type stays struct {
	text  string
	cause error
}

func (e *stays) Error() string { return e.text }

func (e *stays) Unwrap() error { return e.cause }

// commandsSince returns the last commands that ran since a checkpoint.
func (r *Recorder) commandsSince(id int) (titles []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.log.Commands {
		if c.Checkpoint >= id && !slices.Contains(titles, c.Title) {
			titles = append(titles, c.Title)
		}
	}
	if more := len(titles) - maxCommandsTold; more > 0 {
		titles = append(titles[:maxCommandsTold:maxCommandsTold], fmt.Sprintf("and %d more", more))
	}
	return titles
}

// maxCommandsTold is how many commands a note names.
const maxCommandsTold = 5

// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Turns takes the files of a session along when the session goes back: it is a host.Files for package agent/session/host. It marks each turn in
// a recorder. What it knows is in the recorder's log, so with a recorder of [Keep] it survives the process. The zero value is of no use; see
// [NewTurns].
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

// Undo takes back what was written since a turn began: see [Recorder.Undo]. The note says to people which files were taken back, and what could
// not be, such as the changes of a turn that is not recorded. The error is that of ctx.
func (t *Turns) Undo(ctx context.Context, turn string) (note string, err error) {
	id := t.recorder.begun(turn)
	if id == 0 {
		return "Files stay as they are: their changes are not recorded here.", nil
	}
	res, err := t.recorder.Undo(ctx, Since(id))
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return "", cause
	}
	var incomplete *IncompleteError
	switch {
	case errors.As(err, &incomplete):
		return strings.TrimPrefix(incomplete.Error(), "checkpoint: "), nil
	case err != nil:
		return "Files were not taken back: " + err.Error(), nil
	}
	var names []string
	for i := range res.Files {
		if f := &res.Files[i]; f.Done {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return fmt.Sprintf("Files taken back: %s", strings.Join(names, ", ")), nil
}

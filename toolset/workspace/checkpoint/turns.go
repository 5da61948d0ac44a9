// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Turns takes the files of a session along when the session goes back: it is a host.Files for package agent/session/host. It marks each turn in
// a recorder. The zero value is of no use; see [NewTurns].
type Turns struct {
	recorder *Recorder

	mu  sync.Mutex
	ids map[string]int
}

// NewTurns returns the turns of a session that works on r.
func NewTurns(r *Recorder) *Turns { return &Turns{recorder: r, ids: map[string]int{}} }

// Mark says that a turn begins. title is for people.
func (t *Turns) Mark(turn, title string) {
	c := t.recorder.Mark(title)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids[turn] = c.ID
}

// Undo takes back what was written since a turn began: see [Recorder.Undo]. The note says to people which files were taken back, and what could
// not be, such as the changes of a turn of an earlier process. The error is that of ctx.
func (t *Turns) Undo(ctx context.Context, turn string) (note string, err error) {
	t.mu.Lock()
	id, ok := t.ids[turn]
	t.mu.Unlock()
	if !ok {
		return "Files stay as they are: their changes were not recorded in this process.", nil
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

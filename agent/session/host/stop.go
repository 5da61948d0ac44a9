// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ponte-go/ponte/agent/session"
)

// A turn that was cut off can be stopped before it goes on, in any process: an item of the inbox
// names it. Whoever takes the turn up looks for the item once it has the lease, and hears of one that
// comes later: see [Turn.taking].

// stop returns the item for a turn that is to end, because a person has stopped it.
func stop(turn string) session.Item {
	data, err := json.Marshal(stopJSON{turn})
	if err != nil {
		panic(err) // it is a string
	}
	return session.Item{ID: "stopped-" + turn, Kind: session.ItemContinue, Data: data}
}

// stopJSON is the data of an item that [stop] has made.
type stopJSON struct {
	Stopped string `json:"stopped"`
}

// stoppedBy returns the turn that an item stops, or the empty string.
func stoppedBy(i *session.Item) string {
	var data stopJSON
	if i.Kind != session.ItemContinue || json.Unmarshal(i.Data, &data) != nil {
		return ""
	}
	return data.Stopped
}

// isStopped reports whether a person has stopped a turn that was cut off.
func (s *Session) isStopped(ctx context.Context, turn string) (bool, error) {
	items, err := session.Waiting(ctx, s.host.store, s.id)
	return slices.ContainsFunc(items, func(i session.Item) bool { return stoppedBy(&i) == turn }), err
}

// stopCutOff stops the turn that was cut off and that nobody has taken up yet, if there is one.
func (s *Session) stopCutOff(ctx context.Context) error {
	c, done, err := s.look(ctx)
	if err != nil {
		return err
	}
	defer done()
	turn := c.Going()
	if turn == "" {
		return nil
	}
	i := stop(turn)
	i.By = s.host.holder
	if _, err := (&patient{Store: s.host.store, to: s}).Put(ctx, s.id, i); err != nil {
		return err
	}
	if s.host.away {
		s.wakeRunner(ctx)
	}
	return nil
}

// taking notes which turn is taken up. From now on an item that stops it is heard of here.
func (t *Turn) taking(id string) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	t.takesUp = id
}

// cancelTaken cancels a turn that is taken up here.
func (s *Session) cancelTaken(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.takesUp == id && !t.isEnded() {
			t.cancel(ErrCancelled)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/view"
)

// shown has the part of a session that a page shows.
type shown struct {
	fold     *view.Fold
	partial  []view.Change
	position string // where it goes on, empty if nothing was loaded yet
	running  bool
	refused  string // why nothing was loaded
}

func (s *shown) loaded() bool { return s.position != "" }

// text has a line for each entity.
func (s *shown) text() string {
	var b strings.Builder
	for e := range s.fold.Snapshot().All() {
		if e.Kind != view.Session && e.Kind != view.Usage {
			fmt.Fprintf(&b, "%s %s %s %s %q %q\n", e.Kind, e.ID, e.Role, e.Status, e.Title, e.Text())
		}
	}
	return b.String()
}

// says reports whether a message has a text.
func (s *shown) says(text string) bool {
	for e := range s.fold.Snapshot().Of(view.Message) {
		if strings.Contains(e.Text(), text) {
			return true
		}
	}
	return false
}

// questions returns the open questions.
func (s *shown) questions() (all []*view.Entity) {
	for e := range s.fold.Snapshot().Of(view.Question) {
		if e.Status == view.Pending {
			all = append(all, e)
		}
	}
	return all
}

// asks reports whether a question is open, as it was shown before.
func (s *shown) asks(q *view.Entity) bool {
	e := s.fold.Snapshot().Get(q.ID)
	return e != nil && e.Status == view.Pending && e.Digest == q.Digest
}

// look loads a session, as a page that is reloaded.
func (s *servers) look(id string) *shown {
	o := &shown{fold: new(view.Fold)}
	s.follow(id, o)
	return o
}

// follow follows a session for a moment, from where the page is.
func (s *servers) follow(id string, o *shown) {
	took := time.Duration(200+rand.IntN(300)) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), took)
	defer cancel()
	query := url.Values{"follow": {id}, "from": {o.position}}
	res, err := s.open(ctx, "GET", "/api/events?"+query.Encode(), nil)
	if err != nil {
		return
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		data, _ := io.ReadAll(res.Body)
		o.refused = fmt.Sprint(res.StatusCode, " ", string(data))
		return
	}
	o.partial = nil
	kind, lines := "", bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
		case "event":
			kind = value
		case "data":
			if err := o.take(kind, value); err != nil {
				s.t.Errorf("%s: %v: %s", kind, err, value)
			}
		}
	}
}

// take takes an event.
func (o *shown) take(kind, data string) error {
	if kind != "sessions" {
		return nil
	}
	var u struct {
		Sessions []struct {
			Changes     []view.Change
			Position    string
			Running     bool
			Reset, More bool
			End         json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(data), &u); err != nil {
		return err
	}
	var errs []error
	for _, s := range u.Sessions {
		if s.End != nil {
			o.refused = string(s.End)
			continue
		}
		if s.Reset {
			o.fold, o.partial = new(view.Fold), nil
		}
		if o.partial = append(o.partial, s.Changes...); s.More {
			continue
		}
		for _, c := range o.partial {
			// A page that resumes may be told to remove an entity it never had.
			if err := o.fold.Apply(c); c.Op != view.Remove {
				errs = append(errs, err)
			}
		}
		o.partial, o.position, o.running = nil, s.Position, s.Running
	}
	return errors.Join(errs...)
}

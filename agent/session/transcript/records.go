// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
)

// opMerge is the operation of a record whose entity has the fields that differ from what the
// messages say.
const opMerge view.Op = "merge"

// record is the data of a view: a change, or what a message does not say of an entity.
type record struct {
	Version int            `json:"v"`
	Op      view.Op        `json:"op"`
	ID      string         `json:"id"`
	Entity  *view.Entity   `json:"entity,omitempty"`
	Text    string         `json:"text,omitempty"`
	Content []view.Content `json:"content,omitempty"`
	// Without reports that the entity has no content, although the messages have some.
	Without bool `json:"without_content,omitempty"`
	// After is the entity that was shown last when this one was first shown. Messages may be
	// recorded later than what was shown after them.
	After string `json:"after,omitempty"`
}

// recordVersion is the version of records that this package writes. New fields do not change it.
const recordVersion = 1

// records are the records that have not been taken.
type records struct {
	queue []*queued
	known map[string]*queued
	last  map[string][]byte // of the calls that have a record
}

type queued struct {
	id      string
	changes []record // none for a call, of which the latest state counts
}

func (r *records) of(id string) *queued {
	q := r.known[id]
	if q == nil {
		q = &queued{id: id}
		if r.known == nil {
			r.known = map[string]*queued{}
		}
		r.known[id] = q
		r.queue = append(r.queue, q)
	}
	return q
}

// touch notes that a call may have something to record.
func (r *records) touch(id string) { r.of(id) }

// record queues a record. While entries are read there is nothing to record.
func (p *Transcript) record(rec record) {
	if p.replay != nil {
		return
	}
	p.mu.Lock()
	q := p.records.of(rec.ID)
	switch n := len(q.changes); {
	case n > 0 && rec.Op == view.Append && q.changes[n-1].Op == view.Append && q.changes[n-1].Content == nil && rec.Content == nil:
		q.changes[n-1].Text += rec.Text
	case rec.Op == view.Append:
		q.changes = append(q.changes, rec)
	default: // what was there is replaced
		if rec.Entity != nil {
			e := *rec.Entity
			rec.Entity = &e
		}
		if rec.Op == view.Upsert {
			rec.After = cmp.Or(rec.After, p.last)
			if n > 0 {
				rec.After = q.changes[0].After
			}
		}
		q.changes = append(q.changes[:0], rec)
	}
	p.mu.Unlock()
	p.changed()
}

// keepInPlace records an entity that is shown, behind the one before it.
func (p *Transcript) keepInPlace(id string) {
	after := ""
	for e := range p.fold.Snapshot().All() {
		if e.ID == id {
			p.record(record{Op: view.Upsert, ID: id, Entity: e, After: after})
			return
		}
		after = e.ID
	}
}

func (p *Transcript) changed() {
	if p.tell != nil && p.replay == nil {
		p.tell()
	}
}

// unrecorded returns entries of a run with what was shown since the last call, in order and without
// repetition.
func (p *Transcript) unrecorded(run string) []session.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.records.queue
	p.records.queue, p.records.known = nil, nil
	var all []session.Entry
	for _, q := range queue {
		changes := q.changes
		c := p.calls[q.id]
		if c != nil && len(changes) == 0 {
			changes = c.recorded()
			if changes == nil && p.records.last[q.id] != nil { // the messages say all of it now
				changes = []record{{Op: opMerge, ID: q.id, Entity: &view.Entity{}}}
			}
		}
		for _, rec := range changes {
			rec.Version = recordVersion
			data, err := json.Marshal(rec)
			if err != nil || c != nil && bytes.Equal(p.records.last[q.id], data) {
				continue
			}
			if c != nil {
				if p.records.last == nil {
					p.records.last = map[string][]byte{}
				}
				p.records.last[q.id] = data
			}
			all = append(all, session.Entry{Kind: session.KindView, Run: run, Key: viewKey, Data: data})
		}
		if c != nil && c.entity.Status.Ended() {
			delete(p.records.last, q.id)
		}
	}
	return all
}

// recorded returns the record of a call: the parts that its messages lack.
func (c *call) recorded() []record {
	e := c.entity
	if c.ending != nil && !e.Status.Ended() { // it is there after a crash, as what the tool has done is
		e.Merge(c.ending)
	}
	if c.base == nil {
		return []record{{Op: view.Upsert, ID: e.ID, Entity: &e, After: c.after}}
	}
	var d view.Entity
	differs := func(name string, field *string, of, base string) {
		if of != base {
			*field = of
		}
	}
	differs("title", &d.Title, e.Title, c.base.Title)
	differs("class", &d.Class, e.Class, c.base.Class)
	if e.Status.Ended() && e.Status != c.base.Status || c.waits && e.Status == view.Running {
		d.Status = e.Status
	}
	without := false
	if !reflect.DeepEqual(e.Content, c.base.Content) {
		d.Content, without = slices.Clone(e.Content), len(e.Content) == 0
	}
	if e.Status.Ended() && !c.base.Status.Ended() && len(e.Content) == 0 {
		without = true // the result, which is recorded behind this, may have some
	}
	d.Locations, d.Output, d.Meta = e.Locations, e.Output, e.Meta
	if !bytes.Equal(e.Input, c.base.Input) {
		d.Input = e.Input
	}
	if reflect.DeepEqual(&d, &view.Entity{}) && !without {
		return nil
	}
	return []record{{Op: opMerge, ID: e.ID, Entity: &d, Without: without}}
}

// overlaid returns what the messages say of a call with what was recorded.
func overlaid(c *call) view.Entity {
	if c.base == nil {
		return c.entity
	}
	e := *c.base
	if c.over != nil {
		e.Merge(c.over)
		if c.over.Status.Ended() {
			e.Status = c.over.Status
		}
	}
	return e
}

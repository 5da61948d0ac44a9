// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// patience is how long a rule may take.
var patience = 2 * time.Minute

// calm is how long nothing must have been told for a change to count as told.
const calm = 150 * time.Millisecond

var (
	errPatience = errors.New("the store takes too long")
	errStop     = errors.New("stop")
)

// probe is a store under test, and what was found wrong with it.
type probe struct {
	session.Store
	ctx    context.Context
	target *Target

	mu    sync.Mutex
	found []string
}

// another opens the sessions once more.
func (p *probe) another() session.Store {
	s, err := p.target.Open()
	p.ok(err, "open the store")
	return s
}

// report notes what is wrong.
func (p *probe) report(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.found) < 10 {
		p.found = append(p.found, fmt.Sprintf(format, args...))
	}
}

// stop ends the rule.
func (p *probe) stop(format string, args ...any) {
	p.report(format, args...)
	panic(errStop)
}

func (p *probe) result() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.found) == 0 {
		return nil
	}
	return errors.New(strings.Join(p.found, "\n"))
}

// ok ends the rule if there is an error.
func (p *probe) ok(err error, format string, args ...any) {
	if err != nil {
		p.stop("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// is reports if an error is not the one that the contract says.
func (p *probe) is(err, want error, format string, args ...any) *session.Error {
	what := fmt.Sprintf(format, args...)
	if !errors.Is(err, want) {
		p.report("%s: the error is %v, want one that wraps %q", what, err, want)
	}
	var e *session.Error
	if err != nil && !errors.As(err, &e) {
		p.report("%s: the error is a %T, want a *session.Error", what, err)
	}
	if e == nil {
		e = &session.Error{}
	}
	return e
}

// equal reports if two values are not the same.
func equal[T comparable](p *probe, got, want T, format string, args ...any) {
	if got != want {
		p.report("%s: got %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// create makes a session.
func (p *probe) create(n session.New) session.Info {
	info, err := p.Create(p.ctx, n)
	p.ok(err, "Create(%.40q)", n.ID)
	return info
}

func (p *probe) get(id string) session.Info {
	info, err := p.Get(p.ctx, id)
	p.ok(err, "Get(%q)", id)
	return info
}

func (p *probe) acquire(id, holder string) session.Lease {
	l, err := p.Acquire(p.ctx, id, session.Claim{Holder: holder})
	p.ok(err, "Acquire(%q)", id)
	return l
}

// append appends at the head of the session.
func (p *probe) append(l session.Lease, entries ...session.Entry) int64 {
	head, err := p.Append(p.ctx, l, p.get(l.Session).Head, batch(entries...))
	p.ok(err, "Append of %d entries", len(entries))
	return head
}

// load returns all entries after a position.
func (p *probe) load(s session.Store, id string, after int64) []session.Entry {
	var all []session.Entry
	for e, err := range s.Load(p.ctx, id, after) {
		p.ok(err, "Load(%q, %d)", id, after)
		all = append(all, e)
	}
	return all
}

// holds reports if a session does not have the entries with these texts.
func (p *probe) holds(id string, want ...string) {
	var got []string
	for _, e := range p.load(p.Store, id, 0) {
		got = append(got, textOf(e))
	}
	if !slices.Equal(got, want) {
		p.report("session %s has the entries %q, want %q", id, got, want)
	}
}

// text returns an entry with a text.
func text(s string) session.Entry {
	data, _ := json.Marshal(s)
	return session.Entry{Kind: session.KindMessage, Data: data}
}

func textOf(e session.Entry) string {
	var s string
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return string(e.Data)
	}
	return s
}

// same reports if two entries differ.
func (p *probe) same(got, want session.Entry, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if got.Seq != want.Seq || !got.Time.Equal(want.Time) || got.Kind != want.Kind || got.Run != want.Run || got.Key != want.Key || !bytes.Equal(got.Data, want.Data) {
		p.report("%s: the entry is %s, want %s", what, entry(got), entry(want))
	}
	if got.Time.Location() != time.UTC {
		p.report("%s: the time is in %v, want UTC", what, got.Time.Location())
	}
}

// entry shows an entry, for people.
func entry(e session.Entry) string {
	when := e.Time.Format(time.RFC3339Nano)
	return fmt.Sprintf("%d of %s, %s %q %q %.80q", e.Seq, when, e.Kind, e.Run, e.Key, e.Data)
}

// described reports what in a description is not as it is wanted.
func (p *probe) described(got, want session.Info, format string, args ...any) {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	what := fmt.Sprintf(format, args...)
	for i := range a.NumField() {
		if g, w := shown(a.Field(i).Interface()), shown(b.Field(i).Interface()); g != w {
			p.report("%s: %s is %s, want %s", what, a.Type().Field(i).Name, g, w)
		}
	}
}

// shown returns a field, for people. Only values that are equal are shown in the same way.
func shown(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case map[string]json.RawMessage:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%#v", v)
}

// size reports a session whose size is not that of its data.
func (p *probe) size(i session.Info, want int64) {
	if i.Size != want && (!p.target.Larger || i.Size < want) {
		p.report("the size of session %s is %d, want %d", i.ID, i.Size, want)
	}
}

// date is a time that is exact to the nanosecond.
func date(second int) time.Time { return time.Date(2024, 5, 6, 7, 8, second, 123456789, time.UTC) }

// batch returns a batch of entries.
func batch(entries ...session.Entry) session.Batch { return session.Batch{Entries: entries} }

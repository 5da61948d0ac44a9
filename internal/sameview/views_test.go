// SPDX-License-Identifier: Apache-2.0

package sameview_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/webbridge"
)

// lines are entities as JSON, one a line, in order.
func lines(s *view.Snapshot, keep func(*view.Entity) bool) string {
	var b strings.Builder
	for e := range s.All() {
		if keep(e) {
			data, err := json.Marshal(e)
			if err != nil {
				panic(err)
			}
			b.Write(append(data, '\n'))
		}
	}
	return b.String()
}

func all(*view.Entity) bool { return true }

// ofEntries reports whether an entity comes from the entries of a session, and is not the session's own.
func ofEntries(e *view.Entity) bool {
	switch e.Kind {
	case view.Session, view.Options, view.Commands:
		return false
	}
	return true
}

// inPlace is like ofEntries, without the usage, whose place among the others nobody shows.
func inPlace(e *view.Entity) bool { return ofEntries(e) && !isUsage(e) }

func isUsage(e *view.Entity) bool { return e.Kind == view.Usage }

// page is a page that follows a session by its events.
type page struct {
	mu      sync.Mutex
	fold    *view.Fold
	rest    []byte
	header  http.Header
	problem string
}

func (p *page) Header() http.Header { return p.header }
func (p *page) WriteHeader(int)     {}
func (p *page) Flush()              {}

// Write takes whole events, and a part of one.
func (p *page) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, data...)
	for {
		event, rest, ok := bytes.Cut(p.rest, []byte("\n\n"))
		if !ok {
			return len(data), nil
		}
		p.rest = rest
		p.take(string(event))
	}
}

func (p *page) take(event string) {
	if !strings.HasPrefix(event, "event: update\n") {
		return
	}
	_, data, _ := strings.Cut(event, "data: ")
	data, _, _ = strings.Cut(data, "\n")
	var u struct {
		Changes []view.Change
		Reset   bool
	}
	if err := json.Unmarshal([]byte(data), &u); err != nil {
		p.problem = err.Error()
		return
	}
	if u.Reset {
		p.fold = new(view.Fold)
	}
	for _, c := range u.Changes {
		if err := p.fold.Apply(c); err != nil {
			p.problem = err.Error()
		}
	}
}

const token = "0123456789abcdef"

// watch follows a session until the returned function is called.
func watch(ctx context.Context, h *webbridge.Handler, id string) (p *page, done func()) {
	p = &page{fold: new(view.Fold), header: http.Header{}}
	ctx, cancel := context.WithCancel(ctx)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/sessions/"+id+"/events", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(p, r)
	}()
	return p, func() {
		cancel()
		<-ended
	}
}

// shown returns what the page shows.
func (p *page) shown(t *testing.T) string {
	time.Sleep(time.Second) // events are sent in frames
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(t, p.problem)
	return lines(p.fold.Snapshot(), all)
}

// peer is a client of the Agent Client Protocol that folds what it is told.
type peer struct {
	acp.UnimplementedClient
	fold acpclient.Fold
	to   *acpview.Client
}

var takes = acpview.Options{Notices: true, Compactions: true, Prompts: true}

func newPeer(fold *view.Fold) *peer {
	p := new(peer)
	p.to = acpview.New(p, "s", fold, nil, takes)
	p.to.Skip(view.Options, view.Commands, view.Question)
	return p
}

// SessionUpdate implements [acp.Client]. What was told goes over the wire.
func (p *peer) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	back := new(acp.SessionNotification)
	if err := json.Unmarshal(data, back); err != nil {
		return err
	}
	return p.fold.Apply(&back.Update)
}

// told returns what a peer has folded.
func (p *peer) told(t *testing.T) []*view.Entity {
	require.NoError(t, p.to.ShowAll(t.Context()))
	return peerView(p.fold.View().Snapshot(), func(*view.Entity) string { return "" })
}

// peerView returns entities as peers know them, whose ids of messages are their own and who are told of no agents.
func peerView(s *view.Snapshot, agent func(*view.Entity) string) (all []*view.Entity) {
	for e := range s.All() {
		c := *e
		c.Parent = ""
		switch e.Kind {
		case view.Message, view.Thought, view.Notice:
			c.ID = ""
		case view.ToolCall:
			if name := agent(e); name != "" {
				c.Title = name + ": " + c.Title
			}
			if c.Status == view.Cancelled {
				c.Status = view.Failed
			}
		case view.SubAgent, view.Question, view.Options, view.Commands:
			continue
		}
		if e.Kind == view.Plan {
			c.ID = ""
		}
		all = append(all, &c)
	}
	return all
}

// peerLines returns entities as JSON, one a line.
func peerLines(all []*view.Entity) string {
	var b strings.Builder
	for _, e := range all {
		data, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// equal compares lines, and shows those that differ.
func equal(t *testing.T, want, got, what string) {
	t.Helper()
	if want == got {
		return
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		one, other := "", ""
		if i < len(a) {
			one = a[i]
		}
		if i < len(b) {
			other = b[i]
		}
		if one != other {
			t.Errorf("line %d\n  is %s\n not %s", i+1, other, one)
		}
	}
	t.Fatal(what)
}

// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
)

// A Replay plays one side of a recording that package acpproxy has made: the agent's for tests of a
// client, or the client's for tests of an agent. It may be used several times, also at once.
type Replay struct{ entries []recorded }

// recorded is a message of a recording.
type recorded struct {
	acpproxy.Entry
	acp.Header
	asks string // the method that a response answers
	came bool   // it has come, in a replay
}

// ReadReplay reads a recording.
func ReadReplay(r io.Reader) (*Replay, error) {
	entries, err := acpproxy.ReadRecording(r)
	if err != nil {
		return nil, fmt.Errorf("acptest: %w", err)
	}
	replay := &Replay{}
	methods := map[acpproxy.Side]map[acp.RequestID]string{acpproxy.FromClient: {}, acpproxy.FromAgent: {}}
	for _, e := range entries {
		m := recorded{Entry: e, Header: acp.ParseHeader(e.Message)}
		switch m.Kind {
		case acp.KindRequest:
			methods[e.From][m.ID] = m.Method
		case acp.KindResponse, acp.KindError:
			m.asks = methods[other(e.From)][m.ID]
		case acp.KindInvalid:
			continue
		}
		replay.entries = append(replay.entries, m)
	}
	if len(replay.entries) == 0 {
		return nil, errors.New("acptest: the recording has no messages")
	}
	return replay, nil
}

func other(s acpproxy.Side) acpproxy.Side {
	if s == acpproxy.FromClient {
		return acpproxy.FromAgent
	}
	return acpproxy.FromClient
}

// ServeAgent plays the agent: it is a [ServeFunc]. A message of the recording's agent is sent when
// all that its client had sent before has come. The client's messages are told by their methods;
// what they say may differ, and so may their ids. A request that the recording does not have is
// answered with an error.
//
// It returns when the client has ended its side. The error names what of the recording has not
// come, or has come besides it.
func (r *Replay) ServeAgent(ctx context.Context, in io.Reader, out io.Writer) error {
	return r.serve(ctx, acpproxy.FromAgent, in, out)
}

// ServeClient plays the client, for an agent that reads what is written to out, and whose messages
// are read from in. A message of the recording's client is sent when all requests and answers of
// its agent before have come; notifications may differ in number, but for a message that follows
// one, such as a cancellation, one of the same method must have come since the client's last
// message. Ids of sessions that the agent has made take the place of recorded ones.
//
// It returns when everything has been sent and answered, and closes out if it is an [io.Closer].
// The error names what of the recording has not come, or has come besides it. A test looks at what
// the agent said with an [acpproxy.Config.Record] between, and [Replay.Differs].
func (r *Replay) ServeClient(ctx context.Context, in io.Reader, out io.Writer) error {
	return r.serve(ctx, acpproxy.FromClient, in, out)
}

// player plays a side.
type player struct {
	side    acpproxy.Side
	entries []recorded
	out     io.Writer

	next     int                             // of entries: the first that has not been sent or has not come
	ids      map[acp.RequestID]acp.RequestID // of the peer's requests: recorded to real
	sessions map[acp.SessionID]acp.SessionID // recorded to real
	seen     map[string]bool                 // methods of notifications since our last message
	problems []string
}

func (r *Replay) serve(ctx context.Context, side acpproxy.Side, in io.Reader, out io.Writer) error {
	p := &player{
		side: side, entries: slices.Clone(r.entries), out: out, ids: map[acp.RequestID]acp.RequestID{},
		sessions: map[acp.SessionID]acp.SessionID{}, seen: map[string]bool{},
	}
	closeBoth := func() {
		for _, s := range []any{in, out} {
			if c, ok := s.(io.Closer); ok {
				_ = c.Close()
			}
		}
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	lines := acp.NewLineReader(in, 0)
	for {
		if err := p.play(); err != nil {
			return fmt.Errorf("acptest: replay: %w", cmp.Or(context.Cause(ctx), err))
		}
		if side == acpproxy.FromClient && p.finished() {
			return p.err(nil)
		}
		line, err := lines.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return p.err(cmp.Or(context.Cause(ctx), err))
		}
		p.receive(line)
	}
}

// finished reports whether nothing is left to send or to wait for.
func (p *player) finished() bool {
	for i := p.next; i < len(p.entries); i++ {
		if e := &p.entries[i]; !e.came && (e.From == p.side || e.Kind != acp.KindNotification) {
			return false
		}
	}
	return true
}

// play sends what can be sent.
func (p *player) play() error {
	for ; p.next < len(p.entries); p.next++ {
		e := &p.entries[p.next]
		if e.From != p.side {
			if !e.came && p.needed(p.next) {
				return nil
			}
			continue
		}
		if _, err := p.out.Write(append(p.translate(e), '\n')); err != nil {
			return err
		}
		clear(p.seen)
	}
	return nil
}

// needed reports whether a message that has not come holds up what follows it.
func (p *player) needed(i int) bool {
	e := &p.entries[i]
	if e.Kind != acp.KindNotification {
		return true
	}
	if p.side == acpproxy.FromAgent {
		return true
	}
	// An agent's updates may be cut differently. One of them is waited for where the recorded
	// client sent something right after it.
	follows := i+1 < len(p.entries) && p.entries[i+1].From == p.side
	return follows && !p.seen[e.Method]
}

// translate returns a recorded message with the ids of this replay.
func (p *player) translate(e *recorded) []byte {
	line := []byte(e.Message)
	if e.Kind == acp.KindResponse || e.Kind == acp.KindError {
		id, ok := p.ids[e.ID]
		if !ok {
			id = e.ID
		}
		if e.Kind == acp.KindError {
			failure := new(acp.Error)
			_ = json.Unmarshal(e.Error, failure) // what it cannot be read of is left out
			return acp.ResponseLine(id, nil, failure)
		}
		return acp.ResponseLine(id, e.Result, nil)
	}
	if real, ok := p.sessions[e.Session]; ok {
		quoted, _ := json.Marshal(real)
		if changed, err := acp.SetParam(line, "sessionId", func(json.RawMessage) (json.RawMessage, error) { return quoted, nil }); err == nil {
			line = changed
		}
	}
	return line
}

// receive finds the recorded message that has come.
func (p *player) receive(line []byte) {
	h := acp.ParseHeader(line)
	asks := ""
	if h.Kind == acp.KindResponse || h.Kind == acp.KindError {
		for i := range p.entries {
			if e := &p.entries[i]; e.From == p.side && e.Kind == acp.KindRequest && e.ID == h.ID {
				asks = e.Method
			}
		}
	}
	i := slices.IndexFunc(p.entries, func(e recorded) bool {
		return e.From != p.side && !e.came && e.Method == h.Method && e.asks == asks && (asks != "" && e.ID == h.ID || asks == "" && e.Kind == h.Kind)
	})
	switch {
	case h.Kind == acp.KindInvalid:
		if strings.TrimSpace(string(line)) != "" {
			p.problems = append(p.problems, "what came is not a message")
		}
	case i >= 0:
		p.match(i, &h)
	case h.Kind == acp.KindNotification && p.side == acpproxy.FromClient:
		p.seen[h.Method] = true // more updates than were recorded
	default:
		p.problems = append(p.problems, fmt.Sprintf("a %s %s came that is not in the recording", h.Kind, cmp.Or(h.Method, "of "+asks)))
		if h.Kind == acp.KindRequest {
			_, _ = p.out.Write(append(acp.ResponseLine(h.ID, nil, acp.Errorf(acp.CodeInternal, "%s is not in the recording", h.Method)), '\n'))
		}
	}
}

// match notes that a recorded message has come.
func (p *player) match(i int, h *acp.Header) {
	e := &p.entries[i]
	e.came = true
	if h.Kind != e.Kind {
		p.problems = append(p.problems, fmt.Sprintf("%s was answered with a %s %s, and in the recording with a %s", e.asks, h.Kind, h.Error, e.Kind))
	}
	switch h.Kind {
	case acp.KindRequest:
		p.ids[e.ID] = h.ID
	case acp.KindNotification:
		p.seen[h.Method] = true
	case acp.KindResponse:
		var before, now struct {
			SessionID acp.SessionID `json:"sessionId"`
		}
		if json.Unmarshal(e.Result, &before) == nil && json.Unmarshal(h.Result, &now) == nil && before.SessionID != "" && now.SessionID != "" {
			p.sessions[before.SessionID] = now.SessionID
		}
	}
}

// err describes how the replay differed from the recording.
func (p *player) err(err error) error {
	problems := p.problems
	for i := range p.entries {
		if e := &p.entries[i]; e.From != p.side && !e.came && (e.Kind != acp.KindNotification || p.side == acpproxy.FromAgent) {
			problems = append(problems, fmt.Sprintf("message %d of the recording has not come: a %s %s", i+1, e.Kind, cmp.Or(e.Method, "of "+e.asks)))
		}
	}
	if len(problems) > 5 {
		problems = append(problems[:5], fmt.Sprintf("and %d more", len(problems)-5))
	}
	if problems != nil {
		err = errors.Join(err, errors.New(strings.Join(problems, "; ")))
	}
	if err != nil {
		return fmt.Errorf("acptest: replay: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// UIStreamOptions are the options of [UIStream]. The zero value is useful.
type UIStreamOptions struct {
	// Path is the path of the chat. Empty means "/api/chat", which is the default of useChat.
	Path string
	// CancelOnLeave cancels a turn when the client closes the stream of the request that began or
	// resumed it. Then the stop function of useChat is enough to stop the agent, but reloading the
	// page or losing the connection stops it too. Without it the turn continues, and the page stops
	// it with POST PATH/ID/stop.
	CancelOnLeave bool
	// Results are the names of external tools (see [toolset.ExternalTool]) whose results the client may give, with addToolOutput. Results of other
	// tools are ignored.
	Results []string
}

// UIStream returns a protocol, for [Options].Protocols, that lets pages that use the Vercel AI SDK
// talk to the agent. It speaks the SDK's UI message stream, version v1. useChat works unchanged
// with its default transport.
//
//	h, err := webbridge.New(webbridge.Config[Deps, string]{
//		Host:    host.Config[Deps, string]{Agent: a, Store: store},
//		Options: webbridge.Options{User: user, Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{})}},
//	})
//
// # Routes
//
//	POST /api/chat               sends a message, an edited message, decisions; regenerates an answer
//	GET  /api/chat/ID/stream     shows an answer that is being written, from its beginning; 204 if there is none
//	GET  /api/chat/ID/messages   returns the messages of the chat, for a page that begins
//	POST /api/chat/ID/stop       cancels the turn
//
// ID is either chosen by the page or the id of one of the user's sessions: see Handler.named. The
// metadata of an answer has the session's id as "session", for the other routes of the handler.
//
// # Input
//
// The client sends all messages that it shows. Taken are the text and the files of the last one, if it is the user's, and otherwise the decisions
// about calls that the store knows to wait for one, in the last message. History, results of tools and approvals of anything else have no effect. What
// else the last message says tells what the client shows already, and decides only what is sent.
//
// A message that is sent anew, and an answer that is regenerated, take the session back: see [host.Session.Rewind].
//
// # Output
//
// An answer is one message, with a step for each response of the model. Tool calls of the run are tool parts: a call is sent when it starts, when
// it needs approval, or when it has failed. providerExecuted is set, because the tools run on the server. What else is shown comes as data parts, with
// the ids of their entities: data-plan, data-usage, data-notice, data-agent and data-call (agents inside calls, and their calls), data-command,
// data-question, data-compaction, data-ended (why an answer is not whole), and, for onData only, data-session. See [UIData].
//
// A call that needs approval ends the stream with a tool-approval-request for each call that waits. Its approvalDescriptor has what the person must
// see: see [UIApproval]. The approval's id holds for exactly that. Decisions come with the next request, in any process that has the store.
func UIStream(o UIStreamOptions) Protocol {
	o.Path = strings.TrimSuffix(cmp.Or(o.Path, "/api/chat"), "/")
	return &uiProtocol{o: o}
}

type uiProtocol struct {
	o UIStreamOptions
	h *Handler
}

// Register implements [Protocol].
func (p *uiProtocol) Register(h *Handler) {
	on := &uiProtocol{p.o, h}
	h.Handle("POST "+p.o.Path, on.post)
	h.Handle("GET "+p.o.Path+"/{id}/stream", on.resume)
	h.Handle("GET "+p.o.Path+"/{id}/messages", on.list)
	h.Handle("POST "+p.o.Path+"/{id}/stop", h.stopNamed)
}

// uiStream is the stream of an answer.
type uiStream struct {
	*uiTable
	session *openSession
	out     *eventStream
	follow  *follower
	batch   []view.Delta
	running bool // a turn was running when the stream began: the client may have stopped it since
}

func (p *uiProtocol) begin(w http.ResponseWriter, s *openSession, f *follower, prompt string) *uiStream {
	w.Header().Set("X-Vercel-AI-UI-Message-Stream", "v1")
	st := &uiStream{session: s, follow: f, running: s.Running(), out: p.h.stream(w)}
	st.uiTable = newUITable(prompt, nil, st.write)
	st.write(&uiChunk{Type: "start", MessageID: uiAnswerID(prompt), Metadata: &uiMetadata{s.ID()}})
	return st
}

func (st *uiStream) write(c *uiChunk) {
	if c.Delta == "" {
		st.out.data(c)
		return
	}
	st.out.Write(func(b []byte) []byte { // most chunks are of this kind
		b = append(append(append(b, `data: {"type":"`...), c.Type...), `","id":`...)
		b = append(plainjson.AppendString(b, c.ID), `,"delta":`...)
		return append(plainjson.AppendString(b, c.Delta), "}\n\n"...)
	})
}

// news shows what is new.
func (st *uiStream) news(c *view.Cursor) (more bool) {
	st.fold, st.batch = c.Fold(), taken(c, st.batch[:0])
	return st.show(st.batch)
}

// end writes what follows the answer. o is nil if it is not known how the turn ended.
func (st *uiStream) end(o *host.Outcome) {
	st.leave()
	reason, failure := "stop", failureOf(st.failure, o)
	switch {
	case failure != "":
		st.write(&uiChunk{Type: "error", ErrorText: failure})
		st.done()
		return
	case len(st.waiting()) > 0:
		reason = "tool-calls"
	case o == nil:
	case o.Reason == transcript.Cancelled:
		st.write(&uiChunk{Type: "abort", Reason: "cancelled"})
		reason = "interrupted"
	case o.Reason == transcript.Refused, o.Err == nil && o.Finish == model.FinishContentFilter:
		reason = "content-filter"
	case cutOff(o):
		reason = "length"
	case o.Reason != transcript.Done:
		reason = "other"
	}
	st.write(&uiChunk{Type: "finish", Finish: reason})
	st.done()
}

func (st *uiStream) done() {
	st.out.Write(func(b []byte) []byte { return append(b, "data: [DONE]\n\n"...) })
}

func (p *uiProtocol) post(w http.ResponseWriter, r *http.Request) error {
	body, err := p.h.body(w, r, p.h.o.Limits.Prompt)
	if err != nil {
		return err
	}
	q, err := uiParse(body)
	if err != nil {
		return err
	}
	role := q.last().Role
	if role != "user" && role != "assistant" || role == "assistant" && q.Trigger == "regenerate-message" {
		return refuse(KindInvalid, "the last message has the role %q: send a message of the user, or an answer with decisions", role)
	}
	s, done, err := p.h.useNamed(r, q.ID, role == "user")
	if err != nil {
		return err
	}
	defer done()
	f, err := s.Follow()
	if err != nil {
		return err
	}
	defer f.Close()
	if role == "user" {
		return p.prompt(w, r, q, s, f)
	}
	return p.decide(w, r, q, s, f)
}

// prompt begins a turn, and shows its answer.
func (p *uiProtocol) prompt(w http.ResponseWriter, r *http.Request, q *uiRequest, s *openSession, f *follower) error {
	uploads, err := q.prompt()
	if err != nil {
		return err
	}
	parts, shown, err := p.h.parts(uploads)
	if err != nil {
		return err
	}
	if q.MessageID != "" || q.Trigger == "regenerate-message" {
		if err := uiRewind(r.Context(), q, s); err != nil {
			return err
		}
	}
	turn := turn{Parts: parts, Shown: shown, AfterAnswers: q.isFirst()}
	g, prompt, err := s.reply(r.Context(), turn, p.o.CancelOnLeave)
	if err != nil {
		return err
	}
	p.show(r.Context(), p.begin(w, s, f, prompt), g)
	return nil
}

// uiRewind takes the session back to before the message.
func uiRewind(ctx context.Context, q *uiRequest, s *openSession) error {
	snapshot, _, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	prompt, err := q.target(snapshot)
	if err != nil || prompt == "" {
		return err
	}
	_, err = s.Rewind(ctx, prompt)
	return err
}

// show shows the answer of a turn until it ends.
func (p *uiProtocol) show(ctx context.Context, st *uiStream, g *going) {
	st.follow.Run(ctx, st.out, g.Done(), st.news)
	if ctx.Err() != nil || st.out.Err() != nil {
		p.left(g)
		return
	}
	select {
	case <-g.Done():
		st.end(g.Outcome())
	default:
		st.end(nil)
	}
}

func (p *uiProtocol) left(g *going) {
	if p.o.CancelOnLeave {
		g.Cancel()
	}
}

// decide takes the decisions of the last message and streams the rest of the answer.
func (p *uiProtocol) decide(w http.ResponseWriter, r *http.Request, q *uiRequest, s *openSession, f *follower) error {
	parts, err := q.parts()
	if err != nil {
		return err
	}
	snapshot, _, err := s.Snapshot(r.Context())
	if err != nil {
		return err
	}
	prompt, ok := uiPromptOf(q.last().ID)
	if !ok || prompt != "" && snapshot.Get(prompt) == nil {
		return refuse(KindInvalid, "the message %q is not an answer in this chat: load the messages of the chat first, see …/messages", q.last().ID)
	}
	open, err := s.Open(r.Context())
	if err != nil {
		return err
	}
	var going *going
	answered := map[*view.Entity]bool{}
	for i := range parts {
		question, answer := p.answer(&parts[i], open)
		if question == nil {
			continue
		}
		answer.Digest = question.Digest
		answered[question] = true
		g, err := s.Resolve(context.WithoutCancel(r.Context()), question.ID, answer, turn{Defer: true})
		var told *Error
		if errors.As(err, &told) && isLate(told) {
			continue // somebody was quicker, or the question has changed: what there is now is shown
		}
		if err != nil {
			return err
		}
		if g != nil {
			going = g
		}
	}
	st := p.begin(w, s, f, prompt)
	st.answered = answered
	st.claim(parts)
	if going != nil {
		p.show(r.Context(), st, going)
		return nil
	}
	p.watch(r.Context(), st)
	return nil
}

// answer returns the question that a part has an answer to, and the answer.
func (p *uiProtocol) answer(c *uiClaimed, open []asked) (question *view.Entity, a host.Answer) {
	for _, asked := range open {
		switch {
		case asked.External:
			if c.CallID != asked.Call.ID || !slices.Contains(p.o.Results, asked.Question.Name) || asked.Inside {
				continue
			}
			switch c.State {
			case "output-available":
				text := string(c.Output)
				var plain string
				if json.Unmarshal(c.Output, &plain) == nil {
					text = plain
				}
				return asked.Question, host.Answer{Result: &toolset.Result{Text: text}}
			case "output-error":
				return asked.Question, host.Answer{Result: &toolset.Result{Text: c.ErrorText, Outcome: model.OutcomeFailed}}
			}
		case c.Approval != nil && c.Approval.ID == asked.ID && c.State == "approval-responded" && c.Approval.Approved != nil:
			switch {
			case *c.Approval.Approved:
				return asked.Question, host.Answer{Choice: host.AllowOnce}
			case c.Approval.Reason == "":
				return asked.Question, host.Answer{Choice: host.RejectOnce}
			}
			d := toolset.Deny(c.Approval.Reason)
			return asked.Question, host.Answer{Decision: &d}
		}
	}
	return nil, host.Answer{}
}

// watch shows an answer until the session is idle.
func (p *uiProtocol) watch(ctx context.Context, st *uiStream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st.follow.Run(ctx, st.out, st.session.Idle(ctx), st.news)
	if ctx.Err() != nil {
		return
	}
	var last *host.Outcome
	if st.running && !st.session.Running() {
		last = st.session.Last()
	}
	st.end(last)
}

// uiJustNow is how long an answer can be resumed after its end, for pages that have read the messages before it.
const uiJustNow = 5 * time.Second

// resume shows an answer that is being written, from its beginning.
func (p *uiProtocol) resume(w http.ResponseWriter, r *http.Request) error {
	none := func(err error) error {
		var told *Error
		if err != nil && (!errors.As(err, &told) || told.Kind != KindNotFound) {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	s, done, err := p.h.useNamed(r, r.PathValue("id"), false)
	if err != nil {
		return none(err)
	}
	defer done()
	snapshot, _, err := s.Snapshot(r.Context())
	if err != nil {
		return err
	}
	running := s.Running()
	working, _ := s.Working()
	if d, ok := s.Since(); !running && !working && (!ok || d > uiJustNow) {
		return none(nil)
	}
	f, err := s.Follow()
	if err != nil {
		return err
	}
	defer f.Close()
	prompt := s.Asked(snapshot)
	st := p.begin(w, s, f, prompt)
	st.running = running
	p.watch(r.Context(), st)
	return nil
}

func (p *uiProtocol) list(w http.ResponseWriter, r *http.Request) error {
	s, done, err := p.h.useNamed(r, r.PathValue("id"), false)
	if err != nil {
		return err
	}
	defer done()
	snapshot, _, err := s.Snapshot(r.Context())
	if err != nil {
		return err
	}
	data, err := json.Marshal(uiMessages(snapshot, s.ID()))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
	return nil
}

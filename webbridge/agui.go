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

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// aguiVersion is the protocol version.
const aguiVersion = "1.0"

// AGUIOptions are the options of the protocol. The zero value is useful.
type AGUIOptions struct {
	// Path is the path of the agent. Empty means "/api/agui".
	Path string
	// CancelOnLeave cancels a turn when the client closes the stream of the run that began or
	// resumed it. Then abortRun is enough to stop the agent, but reloading the page or losing the
	// connection stops it too. Without it the turn continues, and the page stops it with POST
	// PATH/ID/stop.
	CancelOnLeave bool
	// Results are the names of external tools (see [toolset.ExternalTool]) whose results the client may give, as messages with the role tool. These
	// are the program's frontend tools. Results of other tools, and tools that the client describes, are ignored.
	Results []string
}

// AGUI returns a protocol, for [Options].Protocols, that lets clients of the AG-UI protocol talk to the agent. It speaks
// version 1.0 as server-sent events. HttpAgent of @ag-ui/client works unchanged.
//
//	h, err := webbridge.New(webbridge.Config[Deps, string]{
//		Host:    host.Config[Deps, string]{Agent: a, Store: store},
//		Options: webbridge.Options{User: user, Protocols: []webbridge.Protocol{webbridge.AGUI(webbridge.AGUIOptions{})}},
//	})
//
// # Routes
//
//	POST /api/agui            runs the agent: the body is a RunAgentInput
//	POST /api/agui/ID/stop    cancels the turn of a thread
//
// A thread id is either chosen by the client or the id of one of the user's sessions: see
// Handler.named.
//
// # Input
//
// The text and the files of the last message, if it is the user's, and the answers to interrupts
// that the store knows to be open. A run without either shows the thread as it is and follows a
// running turn, which a reloaded page needs. If the thread already has the last message, it is
// answered anew: the session is taken back to before it. History, state, context, tools and
// forwarded properties have no effect. Results of tools count for the external tools that
// [AGUIOptions].Results names; clients cannot define tools.
//
// # Output
//
// A run begins with RUN_STARTED, MESSAGES_SNAPSHOT, in which messages have the ids of the store,
// and STATE_SNAPSHOT. The state has session, plan and usage. Responses of the model are steps with
// text messages, reasoning and tool calls; agents inside tool calls are subagents, with tool calls.
// Notices, commands, compactions, files and sources are activities. An incomplete answer has an
// activity ENDED, with a status and a text for people.
//
// Calls that need approval, and questions of tools, end the run with interrupts. The payload that
// answers an approval has approved, and optionally reason and editedArgs, which replace the
// arguments; the payload of a question is the form. An interrupt's id covers exactly that question.
// A turn that is cancelled ends with the outcome cancelled, one that fails with RUN_ERROR.
func AGUI(o AGUIOptions) Protocol {
	o.Path = strings.TrimSuffix(cmp.Or(o.Path, "/api/agui"), "/")
	return &aguiProtocol{o: o}
}

type aguiProtocol struct {
	o AGUIOptions
	h *Handler
}

// Register implements [Protocol].
func (p *aguiProtocol) Register(h *Handler) {
	on := &aguiProtocol{p.o, h}
	h.Handle("POST "+p.o.Path, on.run)
	h.Handle("POST "+p.o.Path+"/{id}/stop", h.stopNamed)
}

// aguiRun is a run of the protocol.
type aguiRun struct {
	*aguiProtocol
	in     *aguiInput
	s      *openSession
	follow *follower
	w      http.ResponseWriter
	out    *eventStream
	r      *aguiTable
	going  *going // the turn of the run, nil if it only watches

	running bool // a turn was running when the events began: the client may have stopped it since
}

func (p *aguiProtocol) run(w http.ResponseWriter, r *http.Request) error {
	body, err := p.h.body(w, r, p.h.o.Limits.Prompt)
	if err != nil {
		return err
	}
	in, err := aguiParse(body)
	if err != nil {
		return err
	}
	user := in.last("user")
	s, done, err := p.h.useNamed(r, in.ThreadID, user != nil && len(in.Resume) == 0)
	if err != nil {
		return err
	}
	defer done()
	f, err := s.Follow()
	if err != nil {
		return err
	}
	defer f.Close()
	x := &aguiRun{aguiProtocol: p, in: in, s: s, follow: f, w: w}
	open, err := s.Open(r.Context())
	if err != nil {
		return err
	}
	var results []asked
	open = slices.DeleteFunc(open, func(a asked) bool {
		if a.External {
			results = append(results, a)
		}
		return a.External
	})
	switch {
	case len(in.Resume) > 0:
		return x.resume(r.Context(), open)
	case user != nil:
		snapshot, _, err := s.Snapshot(r.Context())
		if err != nil {
			return err
		}
		known := snapshot.Get(user.ID)
		again := known != nil && isPrompt(known)
		working, _ := s.Working()
		switch {
		case again && (working || s.Running()): // the page was loaded anew
		case len(open) > 0 && !again:
			return x.refuse("interrupts_open", aguiOpen)
		default:
			return x.prompt(r.Context(), user, again)
		}
	case len(results) > 0:
		if err := x.give(r.Context(), results); err != nil {
			return err
		}
	}
	x.begin("")
	return x.show(r.Context())
}

// begin begins the events of the run.
func (x *aguiRun) begin(prompt string) {
	x.running = x.s.Running()
	x.out = x.h.stream(x.w)
	x.r = newAGUITable(prompt, x.s.ID(), x.write)
	x.write(&aguiEvent{Type: "RUN_STARTED", ThreadID: x.in.ThreadID, RunID: x.in.RunID, Version: aguiVersion})
}

func (x *aguiRun) write(e *aguiEvent) {
	if e.Text == "" {
		x.out.data(e)
		return
	}
	x.out.Write(func(b []byte) []byte { // most events are of this kind
		b = append(append(append(b, `data: {"type":"`...), e.Type...), `","messageId":`...)
		b = append(plainjson.AppendString(b, e.MessageID), `,"delta":`...)
		return append(plainjson.AppendString(b, e.Text), "}\n\n"...)
	})
}

// refuse ends the run with an error. Nothing has happened.
func (x *aguiRun) refuse(code, text string) error {
	x.begin("")
	x.write(&aguiEvent{Type: "RUN_ERROR", Message: text, Code: code})
	return nil
}

// prompt begins a turn and streams its answer. again is set if the thread has the message already.
func (x *aguiRun) prompt(ctx context.Context, user *aguiIncoming, again bool) error {
	uploads, err := user.prompt()
	if err != nil {
		return err
	}
	parts, shown, err := x.h.parts(uploads)
	if err != nil {
		return err
	}
	if again {
		if _, err := x.s.Rewind(ctx, user.ID); err != nil {
			return err
		}
	}
	turn := turn{Parts: parts, Shown: shown, AfterAnswers: !again}
	g, prompt, err := x.s.reply(ctx, turn, x.o.CancelOnLeave)
	if errors.Is(err, host.ErrAsked) { // by a turn of another machine, which is over now
		return x.refuse("interrupts_open", aguiOpen)
	} else if err != nil {
		return err
	}
	x.going = g
	x.begin(prompt)
	return x.show(ctx)
}

// resume takes the answers to interrupts and streams the rest of the answer. Nothing is taken
// unless every entry is valid and every interrupt has one.
func (x *aguiRun) resume(ctx context.Context, open []asked) error {
	answers := map[string]host.Answer{}
	for _, entry := range x.in.Resume {
		i := slices.IndexFunc(open, func(a asked) bool { return a.ID == entry.ID })
		if i < 0 {
			if len(open) == 0 { // it was answered elsewhere: what became of it is shown
				continue
			}
			return x.refuse("unknown_interrupt", "the interrupt "+aguiQuote(entry.ID)+" is not waiting for an answer: the question has changed or was answered")
		}
		a, problem := aguiAnswerOf(&entry, open[i])
		if problem != "" {
			return x.refuse("invalid_payload", "the answer to the interrupt "+aguiQuote(entry.ID)+" is not valid: "+problem)
		}
		a.Digest = entry.ID
		var wrong *host.AnswerError
		if err := x.s.CheckAnswer(open[i].Question.ID, a); errors.As(err, &wrong) {
			return x.refuse("invalid_payload", "the answer to the interrupt "+aguiQuote(entry.ID)+" is not valid: "+wrong.Problem)
		}
		answers[open[i].Question.ID] = a
	}
	for _, a := range open {
		if _, ok := answers[a.Question.ID]; !ok {
			return x.refuse("interrupts_open", "the interrupt "+aguiQuote(a.ID)+" has no entry: answer all of them")
		}
	}
	c, err := x.follow.Begin(ctx)
	if err != nil {
		return err
	}
	before := taken(c, nil)
	for _, a := range open {
		g, err := x.s.Resolve(context.WithoutCancel(ctx), a.Question.ID, answers[a.Question.ID], turn{Defer: true})
		if err := aguiIgnoreLate(err); err != nil {
			return err
		}
		x.going = cmp.Or(g, x.going)
	}
	x.begin("")
	x.r.answered = map[*view.Entity]bool{}
	for _, a := range open {
		x.r.answered[a.Question] = true
	}
	x.r.cursor = c
	for i := range before {
		x.r.take(&before[i])
	}
	x.r.start()
	return x.show(ctx)
}

// aguiIgnoreLate drops errors about questions that were answered or changed meanwhile: the client is
// shown the current state instead.
func aguiIgnoreLate(err error) error {
	var told *Error
	if errors.As(err, &told) && isLate(told) {
		return nil
	}
	return err
}

func aguiQuote(id string) string {
	data, _ := json.Marshal(id[:min(len(id), 100)]) // a string always has a JSON form
	return string(data)
}

// aguiAnswerOf returns the answer of an entry. problem describes why it is invalid.
func aguiAnswerOf(entry *aguiResumed, a asked) (answer host.Answer, problem string) {
	switch {
	case entry.Status == "cancelled" && a.Form:
		return host.Answer{Reply: &toolset.Reply{Action: toolset.ActionCancel}}, ""
	case entry.Status == "cancelled":
		d := toolset.Deny("The user cancelled this. The tool was not run.")
		return host.Answer{Decision: &d}, ""
	case entry.Status != "resolved":
		return answer, "its status is neither resolved nor cancelled"
	case a.Form:
		return host.Answer{Reply: &toolset.Reply{Action: toolset.ActionAccept, Content: entry.Payload}}, ""
	}
	var payload struct {
		Approved *bool           `json:"approved"`
		Reason   string          `json:"reason"`
		Edited   json.RawMessage `json:"editedArgs"`
	}
	if json.Unmarshal(entry.Payload, &payload) != nil || payload.Approved == nil {
		return answer, "the payload must be an object with approved, which is true or false"
	}
	switch {
	case *payload.Approved && len(payload.Edited) > 0:
		d := toolset.AllowWith(payload.Edited)
		return host.Answer{Decision: &d}, ""
	case *payload.Approved:
		return host.Answer{Choice: host.AllowOnce}, ""
	case payload.Reason == "":
		return host.Answer{Choice: host.RejectOnce}, ""
	}
	d := toolset.Deny(payload.Reason)
	return host.Answer{Decision: &d}, ""
}

// give gives the results of frontend tools that the messages end with.
func (x *aguiRun) give(ctx context.Context, waiting []asked) error {
	for _, m := range x.in.results() {
		for _, a := range waiting {
			if m.CallID != a.Call.ID || a.Inside || !slices.Contains(x.o.Results, a.Question.Name) {
				continue
			}
			result := &toolset.Result{Text: m.text()}
			if m.Error != "" {
				result = &toolset.Result{Text: m.Error, Outcome: model.OutcomeFailed}
			}
			g, err := x.s.Resolve(context.WithoutCancel(ctx), a.Question.ID, host.Answer{Digest: a.ID, Result: result}, turn{Defer: true})
			if err := aguiIgnoreLate(err); err != nil {
				return err
			}
			x.going = cmp.Or(g, x.going)
		}
	}
	return nil
}

func (x *aguiRun) left() {
	if x.going != nil && x.o.CancelOnLeave {
		x.going.Cancel()
	}
}

// show shows the session until the turn has ended.
func (x *aguiRun) show(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	var done <-chan struct{}
	if x.going != nil {
		done = x.going.Done()
	} else {
		done = x.s.Idle(watching)
	}
	x.follow.Run(ctx, x.out, done, x.r.show)
	if ctx.Err() != nil || x.out.Err() != nil {
		x.left()
		return nil
	}
	var o *host.Outcome
	select {
	case <-done:
		if x.going != nil {
			o = x.going.Outcome()
		} else if x.running {
			o = x.s.Last()
		}
	default:
	}
	x.end(o)
	return nil
}

// end ends the run. o is nil if it is not known how the turn ended.
func (x *aguiRun) end(o *host.Outcome) {
	out := x.r.finish()
	failure := failureOf(x.r.failure, o)
	switch {
	case failure != "":
		x.write(&aguiEvent{Type: "RUN_ERROR", Message: failure, Code: "failed"})
		return
	case out.Type == "success" && o != nil && o.Reason == transcript.Cancelled:
		out = &aguiOutcome{Type: "cancelled"}
	}
	x.write(&aguiEvent{Type: "RUN_FINISHED", ThreadID: x.in.ThreadID, RunID: x.in.RunID, Outcome: out})
}

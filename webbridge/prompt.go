// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

func (h *Handler) postPrompt(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Parts []upload `json:"parts"`
		Busy  string   `json:"busy"`
	}
	if err := h.decode(w, r, h.o.Limits.Prompt, &in); err != nil {
		return err
	}
	busy, ok := map[string]host.Busy{"": host.BusyRefuse, "refuse": host.BusyRefuse, "wait": host.BusyQueue, "steer": host.BusySteer}[in.Busy]
	if !ok {
		return refuse(KindInvalid, "busy is %q: use refuse, wait or steer", in.Busy)
	}
	parts, shown, err := h.parts(in.Parts)
	if err != nil {
		return err
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	began, recorded := make(chan string, 1), make(chan struct{})
	record := sync.OnceFunc(func() { close(recorded) })
	t, err := s.Begin(context.WithoutCancel(r.Context()), turn{
		Parts: parts, Shown: shown, Busy: busy,
		Began: func(id string) {
			began <- id
			if strings.HasPrefix(parts[0].Text, "/") { // a command may take long, and has no prompt
				record()
			}
		},
		Prompted: record, Queued: record,
	})
	if err != nil {
		return err
	}
	answer := struct {
		Turn string `json:"turn,omitempty"`
	}{}
	if !t.queued {
		select {
		case <-recorded:
		case <-t.Done():
			if len(began) == 0 && t.Outcome().Err != nil || storeFailureOf(t.Outcome().Err) != nil && t.Outcome().Turn == "" {
				return t.Outcome().Err
			}
		}
		select {
		case answer.Turn = <-began:
		default:
		}
	}
	writeJSON(w, http.StatusAccepted, answer)
	return nil
}

// turn describes a prompt.
type turn struct {
	// Parts are what the model is given, and Shown what the user is shown of them, if it is something else.
	Parts []model.Part
	Shown []view.Content
	// Plain gives the text to the agent, even if it begins with a slash as commands do.
	Plain bool
	// Busy determines what happens to the prompt while another turn is running.
	Busy host.Busy
	// NoQuestions denies calls that need approval instead of asking. Defer ends the run pending at
	// once where a call needs approval, instead of waiting for [Options].Patience: its questions
	// are answered with openSession.Resolve. Questions of tools wait all the same.
	NoQuestions, Defer bool
	// AfterAnswers refuses the prompt while calls of the session wait for approval: see [host.Prompt].
	AfterAnswers bool
	// Began is told the id of the turn when it begins, Observe each event of the run, which is valid during the call. Nil is fine. They must
	// not block.
	Began   func(id string)
	Observe func(*agent.Event)
	// Prompted, if not nil, is called once the prompt is recorded. Said, if not nil, is called after each change with a
	// cursor that begins with the turn. They must not block.
	Prompted func()
	// Queued, if not nil, is called when the prompt waits in the session's inbox. It must not
	// block.
	Queued func()
	Said   func(*view.Cursor)
	// Options are options of the run.
	Options []agent.RunOption
}

// going is a running turn.
type going struct {
	turn    *host.Turn
	queued  bool
	begun   bool   // guarded by the handler's mu
	over    func() // tells Shutdown not to wait for it
	ended   chan struct{}
	outcome *host.Outcome
}

// Done is closed when the turn has ended.
func (g *going) Done() <-chan struct{} { return g.ended }

// Outcome returns how the turn ended. Call it after Done.
func (g *going) Outcome() *host.Outcome { return g.outcome }

// Failure returns what the user is told of the error of the turn, if there is one: see [host.Config].ErrorText. Call it
// after Done.
func (g *going) Failure() string { return g.outcome.Failure }

// Cancel cancels the turn.
func (g *going) Cancel() { g.turn.Cancel(host.ErrCancelled) }

// Begin begins a turn of the session, which runs by itself until ctx ends. It is charged to the
// user.
func (s *openSession) Begin(ctx context.Context, t turn) (*going, error) {
	h := s.handler
	if h.isClosing() {
		return nil, errClosing
	}
	free, err := s.charge()
	if err != nil {
		return nil, err
	}
	admitted, err := s.AdmitWith(ctx, t.Busy)
	if err != nil {
		free()
		return nil, err
	}
	running, _ := h.isRunning(s.live)
	return s.start(admitted, running, t, func(p host.Prompt) *host.Outcome {
		defer free()
		p.Parts, p.Shown, p.Plain = t.Parts, t.Shown, t.Plain
		return admitted.Run(p)
	}), nil
}

// start runs an admitted turn on a new goroutine.
func (s *openSession) start(admitted *host.Turn, queued bool, t turn, run func(host.Prompt) *host.Outcome) *going {
	h := s.handler
	g := &going{turn: admitted, queued: queued, ended: make(chan struct{}), over: func() {}}
	h.mu.Lock()
	closing := h.isClosing()
	if !closing {
		h.turns.Add(1)
		g.over = sync.OnceFunc(h.turns.Done)
	}
	l := s.live
	l.uses++
	if l.going = append(l.going, g); l.leave == nil {
		h.alone(l)
	}
	h.mu.Unlock()
	if closing {
		admitted.Cancel(errClosing)
	}
	h.turning(l, 1)
	meter := h.meter(s.user, admitted.Cancel)
	go func() {
		defer close(g.ended)
		defer h.leave(l)
		defer g.over()
		defer h.turning(l, -1)
		defer h.over(l, g)
		var said *view.Cursor
		var fold *view.Fold
		var prompt string
		g.outcome = run(host.Prompt{
			Asker: h.asker(t.NoQuestions), Defer: t.Defer, AfterAnswers: t.AfterAnswers,
			Options: t.Options, Queued: t.Queued,
			Began: func(t2 *host.Turn) {
				said, fold = t2.Fold().Cursor(t2.Fold().Snapshot()), t2.Fold()
				prompt = transcript.PromptID(t2.ID())
				h.mu.Lock()
				if g.begun = true; len(t.Parts) > 0 {
					l.prompt = prompt
				}
				h.alone(l)
				h.mu.Unlock()
				if t.Began != nil {
					t.Began(t2.ID())
				}
			},
			Ending: h.conclude,
			Show: func() {
				if t.Prompted != nil && fold.Get(prompt) != nil {
					t.Prompted()
					t.Prompted = nil
				}
				if t.Said != nil {
					t.Said(said)
				}
			},
			Observe: func(e *agent.Event) {
				meter(e)
				if t.Observe != nil {
					t.Observe(e)
				}
			},
		})
		h.counts.turn(g.outcome.Reason)
		s.note(g.outcome)
	}()
	return g
}

// over notes that a turn has ended.
func (h *Handler) over(l *live, g *going) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.going = slices.DeleteFunc(l.going, func(other *going) bool { return other == g })
	if g.begun || len(l.going) == 0 { // the next one has its own time
		h.alone(l)
	}
}

// conclude tells the user how a turn ended that did not go well.
func (h *Handler) conclude(t *host.Turn, o *host.Outcome) string {
	switch {
	case errors.Is(context.Cause(t.Context()), errSpent):
		return "Stopped: your quota is used up."
	case errors.Is(context.Cause(t.Context()), errClosing):
		return "Stopped: the server is shutting down. Send the prompt again."
	case o.Reason == transcript.Failed:
		t.Notice("error", o.Failure)
	case o.Reason == transcript.Refused:
		return o.Failure
	case cutOff(o):
		return "Stopped: the model hit its token limit before finishing."
	case o.Err == nil && o.Finish == model.FinishContentFilter:
		return "The answer was cut off by the provider's content filter."
	}
	return ""
}

// failureOf returns what a client is told of a turn that has failed or was left without an end,
// also if that was known only after all was shown.
func failureOf(shown string, o *host.Outcome) string {
	if o != nil && (o.Reason == transcript.Failed || o.Reason == transcript.Interrupted) {
		return cmp.Or(shown, o.Failure)
	}
	return shown
}

// cutOff reports whether a turn ended because the model reached its token limit.
func cutOff(o *host.Outcome) bool {
	return o.Err == nil && o.Finish == model.FinishLength ||
		errors.Is(o.Err, agent.ErrTokenLimit) || errors.Is(o.Err, agent.ErrIncompleteToolCall)
}

// asker waits for the answers of those who see the session, which come through the host. After a while, and when the server is shut down,
// approvals become pending.
func (h *Handler) asker(deny bool) toolset.Asker {
	return toolset.AskerFuncs{
		OnApprove: func(ctx context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
			if deny {
				return toolset.Deny("No one can be asked here, so calls that need approval are denied."), nil
			}
			if h.o.Patience < 0 {
				return toolset.Defer(), nil
			}
			patience := time.NewTimer(h.o.Patience)
			defer patience.Stop()
			select {
			case <-ctx.Done():
				return toolset.Decision{}, context.Cause(ctx)
			case <-patience.C:
			case <-h.closing:
			}
			return toolset.Defer(), nil
		},
		OnAnswer: func(ctx context.Context, _ toolset.Question) (toolset.Reply, error) {
			if deny {
				return toolset.Reply{}, toolset.ErrNobody
			}
			select {
			case <-ctx.Done():
				return toolset.Reply{}, context.Cause(ctx)
			case <-h.closing:
				return toolset.Reply{}, toolset.ErrNobody
			}
		},
	}
}

func (h *Handler) postCancel(w http.ResponseWriter, r *http.Request) error {
	if err := h.decode(w, r, h.o.Limits.Body, &struct{}{}); err != nil {
		return err
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	s.Cancel()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

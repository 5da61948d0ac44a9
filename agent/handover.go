// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// HandOver lets the model pass the run to another agent, whose output becomes the run's output. The model calls it like a tool,
// with a prompt. deps derives the other agent's dependencies from the run's. The validators of the run check the output like
// any other.
//
// The other agent gets the model's prompt, and with [PassHistory] also the history. Its messages to the user become part of the
// run's history, as responses with its name in [model.Message.HandOver], so the run's model sees them in later requests. Its tool
// calls do not. The next run belongs to the outer agent again, unless the conversation stays with the other agent
// ([Stay]).
//
// Its events appear in the outer stream as [Nested] with HandOver set, and its text in
// [Stream.Text] and [Stream.Partials]. Its usage also counts as the outer run's, whose limits bound
// both. If it fails, the outer run fails, and the history keeps what it told the user. If it has
// pending calls, the outer run is pending, as with [AsTool]. A prompt instead of answers goes to
// the agent that waits.
func HandOver[D, N, O any](name, description string, inner *Agent[N, O], deps func(D) N, opts ...HandOverOption) Alternative[D, O] {
	if inner == nil || deps == nil {
		return Alternative[D, O]{err: errs.Errorf("output %s: the agent or the function is nil", name)}
	}
	h := handOver[D, N, O]{inner: inner, deps: deps}
	for _, opt := range opts {
		if opt != nil {
			opt(&h.options)
		}
	}
	a := OutputFunc(name, description, func(context.Context, *toolset.RunContext[D], task) (out O, err error) {
		return out, errors.New("a hand-over is made by its run") // in over
	})
	h.name = a.def.Name
	a.over = h.run
	a.loop = func() *loop.HandOver {
		return loop.HandingOver(&engine.Tool{Name: h.name, Output: true, HandsOver: true})
	}
	a.prompt = decodedPrompt[D, O]
	return a
}

// decodedPrompt decodes a text that hands over. Text around the JSON is dropped, because histories
// cannot keep it.
func decodedPrompt[D, O any](a *Alternative[D, O], text []byte, complete bool) (decoded any, repaired []byte, err error) {
	if decoded, repaired, err = a.decodedText(string(text), complete); err == nil && repaired == nil {
		repaired, err = json.Marshal(decoded)
	}
	return decoded, repaired, err
}

// HandOverOption is an option of [HandOver].
type HandOverOption func(*handOverOptions)

type handOverOptions struct {
	stays bool
	pass  func([]*model.Message) []*model.Message
}

// PassHistory passes the history up to the last request to the other agent, before the model's prompt. filter selects what to
// pass. It returns a new slice and must not change the messages. A nil filter passes the whole history. The other agent then
// sees calls of tools that it may not have.
func PassHistory(filter func(history []*model.Message) []*model.Message) HandOverOption {
	if filter == nil {
		filter = func(history []*model.Message) []*model.Message { return history }
	}
	return func(o *handOverOptions) { o.pass = filter }
}

// Stay leaves the conversation with the other agent: it also answers the prompts of later runs of the outer agent, until it hands
// the conversation back ([HandBack]). The history records this and holds the other agent's history, so a stored conversation
// continues with the same agent in another process. If the outer agent no longer has the hand-over, it answers itself.
//
// Such a run makes no request to the outer model, and its limits bound the agent that answers. If a validator of the outer agent
// rejects the output, the conversation returns to the outer model.
func Stay() HandOverOption { return func(o *handOverOptions) { o.stays = true } }

// HandBack lets the model of an agent return a conversation that was handed over to it. The model calls it with a reason, and the
// outer run continues with its own model. If there was no hand-over, the model is told to answer itself.
func HandBack[D, O any](name, description string) Alternative[D, O] {
	return OutputFunc(name, description, func(_ context.Context, run *toolset.RunContext[D], in back) (out O, err error) {
		if !outside(run).returns {
			return out, toolset.Retry("There is no agent to hand the conversation back to. Answer the user yourself.")
		}
		return out, &handBackError{in.Reason}
	})
}

// back holds the arguments with which a model hands back.
type back struct {
	Reason string `json:"reason" jsonschema:"description=Why you hand the conversation back\\, and what the user wants" validate:"required"`
}

// handBackError ends the run that hands back.
type handBackError struct{ reason string }

func (e *handBackError) Error() string { return "the conversation is handed back: " + e.reason }

// handOver hands runs over to another agent.
type handOver[D, N, O any] struct {
	name    string
	inner   *Agent[N, O]
	deps    func(D) N
	options handOverOptions
}

// run runs the agent. See Alternative.over.
func (h *handOver[D, N, O]) run(ctx context.Context, run *toolset.RunContext[D], c *engine.Call, done *engine.Done) (out O, err error) {
	around := outside(run)
	around.handedOver = true
	prompt, base, opts, err := h.start(ctx, run, around, c)
	if err != nil {
		done.Err = err
		return out, errNoOutput
	}
	res, err := h.observed(ctx, run, around, prompt, append(opts, around.option(), WithHistory(base)))
	done.HandOver = new(engine.HandOver)
	turn := handOverTurn{agent: cmp.Or(h.inner.config.Name, h.name), base: base}
	if c.Resume != nil && !c.Resume.Stays {
		turn.prompt = c.Resume.Prompt
	}
	if err != nil {
		h.failed(ctx, run, around, c, &turn, err, done)
		return out, errNoOutput
	}
	turn.all, turn.fresh = res.Messages, res.NewMessages()
	told := turn.told()
	if text, silent := turn.silent(res.Output); silent {
		told = turn.tell(told, []model.Part{model.Text(text)}, nil)
	}
	done.HandOver.Told, done.HandOver.Cut = told, res.Cut
	if done.Err = h.keep(ctx, run, around, c, &turn, done.HandOver); done.Err != nil {
		return out, errNoOutput
	}
	return res.Output, nil
}

// failed sets the result of a run of the other agent that has no output.
func (h *handOver[D, N, O]) failed(ctx context.Context, run *toolset.RunContext[D], around *outerRun, c *engine.Call, turn *handOverTurn, err error, done *engine.Done) {
	var failed *RunError
	if errs.As(err, &failed) {
		turn.all, turn.fresh = failed.Messages, failed.NewMessages()
	}
	over := done.HandOver
	over.Told = turn.told()
	var back *handBackError
	if errs.As(err, &back) {
		over.Back, over.Reason = true, back.reason
		return
	}
	err = pendingInside(ctx, run, around, h.inner.config.Name, err)
	if pending, ok := toolset.Outcome(err).(*toolset.PendingError); ok {
		*done = suspended(pending)
		done.HandOver = over
		return
	}
	if n := len(over.Told); n > 0 && over.Told[n-1].Kind == model.KindResponse {
		over.Told[n-1].Interrupted = true
	}
	if done.Err = errs.Errorf("%s: %w", h.name, err); isPending(err) { // the context has ended
		done.Err = errs.Errorf("%s: %v", h.name, err)
	}
	if err := h.keep(ctx, run, around, c, turn, over); err != nil {
		done.Err = errors.Join(done.Err, err)
	}
}

// start returns the prompt, history and options of the other agent's run.
func (h *handOver[D, N, O]) start(ctx context.Context, run *toolset.RunContext[D], around *outerRun, c *engine.Call) (prompt string, base []*model.Message, opts []RunOption, err error) {
	resume := c.Resume
	switch {
	case resume == nil:
		in, ok := c.Decoded.(*task)
		if !ok {
			return "", nil, nil, errs.Errorf("hand-over is %T, want %T", c.Decoded, in)
		}
		if h.options.pass != nil {
			base = h.options.pass(slices.Clip(beforeCalls(run.Messages)))
		}
		return in.Prompt, base, nil, nil
	case resume.Stays:
		base, err = loadStayed(ctx, around.store, run.Messages)
		if len(resume.Prompt) == 0 {
			return "", base, []RunOption{WithResume()}, err
		}
	default:
		base, err = loadInside(ctx, around.store, resume.State)
		if resume.Results != nil {
			opts = []RunOption{WithResults(*resume.Results)}
		}
	}
	return "", base, append(opts, WithParts(resume.Prompt...)), err
}

// beforeCalls returns a history without the response in hand.
func beforeCalls(history []*model.Message) []*model.Message {
	if n := len(history); n > 0 && history[n-1].Kind == model.KindResponse {
		return history[:n-1]
	}
	return history
}

// observed runs the agent, streamed if the outer run is.
func (h *handOver[D, N, O]) observed(ctx context.Context, run *toolset.RunContext[D], around *outerRun, prompt string, opts []RunOption) (*Result[O], error) {
	if !around.streams {
		return h.inner.Run(ctx, h.deps(run.Deps), prompt, opts...)
	}
	if around.partials {
		opts = append(opts, WithPartials())
	}
	return observedInside(ctx, h.inner.Stream(ctx, h.deps(run.Deps), prompt, opts...), func(e Event) {
		run.Emit(Nested{Agent: h.inner.config.Name, HandOver: true, Event: e})
	})
}

// keep records in the history that the conversation stays with the other agent.
func (h *handOver[D, N, O]) keep(ctx context.Context, run *toolset.RunContext[D], around *outerRun, c *engine.Call, turn *handOverTurn, over *engine.HandOver) error {
	if !h.options.stays || len(turn.fresh) == 0 {
		return nil
	}
	state, known := insideState{Messages: turn.all}, len(turn.base)
	if c.Resume != nil && c.Resume.Stays && len(turn.all) >= known && slices.Equal(turn.all[:known], turn.base) {
		state = insideState{Messages: turn.all[known:], More: true}
	}
	data, err := saveInside(ctx, around.store, placeOf(&run.RunInfo, run.Call.ID), state)
	if err != nil {
		return err
	}
	if len(over.Told) == 0 {
		over.Told = []*model.Message{{Kind: model.KindRequest, Interrupted: true}}
	}
	args, _ := json.Marshal(c.Decoded) // a prompt
	stays := model.HandOver{Agent: turn.agent, Stays: true, ID: c.ID, Tool: h.name, Args: args, State: data}
	last := over.Told[len(over.Told)-1]
	if last.HandOver != nil {
		stays.Agent = last.HandOver.Agent
	}
	last.HandOver = &stays
	return nil
}

// loadStayed returns the history of the agent that a conversation stays with. Each of its turns has left a piece.
func loadStayed(ctx context.Context, store HistoryStore, outer []*model.Message) ([]*model.Message, error) {
	states := statesOf(outer)
	var pieces [][]*model.Message
	for i := len(states) - 1; i >= 0; i-- {
		state, err := loadState(ctx, store, states[i])
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, state.Messages)
		if !state.More {
			break
		}
	}
	slices.Reverse(pieces)
	return slices.Concat(pieces...), nil
}

// statesOf returns what the turns of the agent that a conversation stays with have left, since it was handed over last.
func statesOf(outer []*model.Message) (states []json.RawMessage) {
	for _, m := range outer {
		switch over := m.HandOver; {
		case over == nil:
		case over.Ended:
			states = nil
		case over.Stays:
			states = append(append(states, over.Earlier...), over.State)
		}
	}
	return states
}

// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// Run runs the loop until there is an output, the run fails, or ctx ends. The result is never nil. With an error it has the
// messages and usage so far, and the messages can be resumed. The error is an *engine.RunError.
func Run(ctx context.Context, eng engine.Engine, observer Observer, cfg *Config) (*Result, error) {
	if cfg.Memory == nil {
		cfg.Memory = new(Memory)
	}
	r := &cfg.Memory.run
	r.eng, r.observer, r.cfg, r.cancel = eng, observer, cfg, func(error) {}
	if cfg.Observed {
		r.event = new(engine.Event)
		ctx, r.cancel = context.WithCancelCause(ctx)
		defer r.cancel(nil)
	}
	if cfg.Stream {
		if cfg.Scratch == nil {
			cfg.Scratch = new(Scratch)
		}
		defer cfg.Scratch.giveBack()
	}
	err := r.begin(ctx)
	if err == nil {
		err = r.loop(ctx)
	}
	if err != nil {
		err = r.fail(ctx, err)
	}
	return r.result(), err
}

// fail leaves a history that can be continued.
func (r *run) fail(ctx context.Context, err error) error {
	err = r.failure(ctx, err)
	if r.resumed != nil { // not used: the history stays as it was
		r.messages = append(r.messages, r.resumed)
	}
	if last := r.last(); last != nil && last == r.own && last.HasToolCalls() {
		r.answer(nil, true)
		r.unstarted(last.Parts, nil)
	}
	return err
}

func (r *run) result() *Result {
	res := &Result{Steps: r.info.Step}
	res.Output, res.Cut, res.Messages = r.output, r.cut, r.messages
	res.RunID, res.ConversationID = r.info.RunID, r.info.ConversationID
	res.Usage = r.cfg.Meter.Usage()
	if last := r.last(); last != nil && last.HandOver != nil {
		res.Agent = last.HandOver.Agent
	}
	return res
}

// run is the state of one run. Everything except the caches is derived from the messages.
type run struct {
	eng      engine.Engine
	observer Observer
	cfg      *Config
	cancel   context.CancelCauseFunc

	// messages are those of the result, output is its output once there is one.
	messages []*model.Message
	output   any
	cut      model.FinishReason
	// info is the run's description for tasks. It changes only when a step is prepared, so tasks
	// may read it.
	info    toolset.RunInfo
	offer   *engine.Offer
	budgets budgets
	// repaired is the JSON that the text of the output was read as, if it had to be repaired.
	repaired []byte
	// instead is set if the prompt follows calls that the history leaves pending: those without an
	// answer are denied.
	instead bool
	// held is how far calls of the current response must wait.
	held held
	// custom is set if the current tasks have emitted events.
	custom  bool
	stopped bool
	// fuses is set if steps are fused, ahead if the checks of the current response were made with
	// it.
	fuses, ahead bool
	// here is set if the conversation no longer stays with another agent, because this agent no
	// longer hands over to it.
	here bool
	// earlier is how many steps the earlier parts of the run made, clock the time of the latest
	// result.
	earlier int
	clock   engine.Time
	// resumed is the request with the results of some of the calls that the history ends with, if there is one.
	resumed *model.Message

	// own is the message that this run appended last.
	own *model.Message
	// event is the current event, or nil if the run is not observed.
	event *engine.Event
	// task is the current lone task.
	task engine.Task
	// answers has one answer for each current call.
	answers []model.Part
	waiting [1]engine.Future
	// one is the current lone check.
	one [1]engine.Check
	// calls is memory for the calls of a response.
	calls []call
}

func (r *run) loop(ctx context.Context) error {
	if err := r.tell(engine.EventRunStart, false); err != nil {
		return err
	}
	if done, err := r.takeUpHistory(ctx); done || err != nil {
		return err
	}
	for {
		if r.cfg.Over != nil {
			if done, err := r.cfg.Over.stay(ctx, r); done || err != nil {
				return err
			}
		}
		resp, err := r.request(ctx)
		if err != nil {
			return err
		}
		if done, err := r.settle(ctx, resp); done || err != nil {
			return err
		}
	}
}

// takeUpHistory resumes a history that ends in a response. It is the first step of the run. It is a
// separate function to keep its frame off the stack of every run that waits for its model.
func (r *run) takeUpHistory(ctx context.Context) (bool, error) {
	resp := r.last()
	if o := r.cfg.Over; o != nil {
		if ok, done, err := o.resume(ctx, r); ok {
			return done, err
		}
	}
	switch {
	case r.instead:
		return r.settleInstead(ctx, resp)
	case resp == nil || resp.Kind != model.KindResponse:
		return false, nil
	case resp.Interrupted && !resp.HasToolCalls():
		r.append(&model.Message{Kind: model.KindRequest, Parts: []model.Part{model.User(textGoOn)}})
		return false, nil
	}
	r.info.Step++
	if err := r.nextOffer(ctx, false); err != nil {
		return false, err
	}
	done, err := r.settle(ctx, resp)
	over := r.cfg.Resume && (done || err != nil)
	if h := r.cfg.History; over && len(h) == len(r.messages) && finished(h[len(h)-1]) {
		r.messages = slices.Clip(h) // it has the answer already
	}
	return done, err
}

func (r *run) last() *model.Message {
	if n := len(r.messages); n > 0 {
		return r.messages[n-1]
	}
	return nil
}

// request makes one request to the model and appends the response. Its steps are separate
// functions, because its own frame is on the stack of every run that waits for its model.
func (r *run) request(ctx context.Context) (*model.Message, error) {
	if r.fuses && len(r.messages) > 0 {
		return r.fused(ctx)
	}
	task, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	return r.received(r.do(ctx, task))
}

// prepare prepares the next step and makes its request.
func (r *run) prepare(ctx context.Context) (*engine.Task, error) {
	if err := r.enterStep(ctx); err != nil {
		return nil, err
	}
	if err := r.nextOffer(ctx, r.cfg.Processed && len(r.messages) > 0); err != nil {
		return nil, err
	}
	return r.modelTask()
}

// enterStep begins the next step with what came in.
func (r *run) enterStep(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return &engine.RunError{Stage: engine.StageModel, Err: err}
	}
	r.info.Step++
	return r.inbox(ctx, false)
}

// modelTask makes the request of the step.
//
//go:noinline
func (r *run) modelTask() (*engine.Task, error) {
	last := r.last()
	if r.offer.Instructions == "" && len(asking(r.messages)) == 0 {
		return nil, &engine.RunError{Stage: engine.StagePrepare, Err: engine.ErrNoPrompt}
	}
	if last == nil {
		last = r.append(&model.Message{Kind: model.KindRequest})
	}
	if last == r.own {
		last.Instructions = r.offer.Instructions // nobody else has seen it yet
	}
	if err := r.mayAsk(); err != nil {
		return nil, err
	}
	if err := r.tell(engine.EventRequestStart, r.offer.Output != nil); err != nil {
		return nil, err
	}
	t := r.lone(engine.OpModel)
	t.Request = RequestOf(r.offer, slices.Clip(r.messages))
	return t, nil
}

// mayAsk returns an error if the limits do not allow the request of the step. The worker counts it.
func (r *run) mayAsk() error {
	before := r.info.Step - r.earlier - 2 // a step may be that of an earlier response
	if err := r.cfg.Meter.CheckRequest(r.asked(), before); err != nil {
		return &engine.RunError{Stage: engine.StageModel, Err: err}
	}
	return nil
}

// RequestOf returns the request of a step.
func RequestOf(o *engine.Offer, messages []*model.Message) *model.Request {
	return &model.Request{
		Instructions: o.Instructions, Messages: messages, Tools: o.Defs, ToolChoice: o.Choice, Output: o.Output, Settings: o.Settings,
	}
}

// received appends the response, or what was read of it.
func (r *run) received(done *engine.Done) (*model.Message, error) {
	err := done.Err
	if err == nil && done.Response == nil {
		err = errors.New("the model returned neither a response nor an error")
	}
	if err != nil {
		r.cutOff()
		return nil, &engine.RunError{Stage: engine.StageModel, Err: err}
	}
	resp := Normalise(done.Response, r.info.Step)
	resp.Interrupted = resp.Interrupted || r.cfg.unusable(resp) != nil || incomplete(resp) != nil
	r.append(resp)
	if err := r.responseEvents(resp); err != nil {
		return nil, err
	}
	if err := r.checkUsed(); err != nil {
		return nil, &engine.RunError{Stage: engine.StageModel, Err: err}
	}
	return resp, nil
}

// checkUsed looks at the limits on what responses use.
func (r *run) checkUsed() error {
	if err := r.cfg.Meter.CheckTokens(model.Usage{}); err != nil {
		return err
	}
	return r.cfg.Meter.CheckCost(0)
}

// asked is the model that requests go to.
func (r *run) asked() model.Info {
	if r.cfg.Model == nil {
		return model.Info{}
	}
	return *r.cfg.Model
}

// lone returns a task of the step that runs alone. It is valid until the next one is made.
//
//go:noinline
func (r *run) lone(op engine.Op) *engine.Task {
	r.task = engine.Task{Op: op, Info: &r.info, Options: r.cfg.Options, Stream: r.cfg.Stream}
	return &r.task
}

// do runs a lone task.
func (r *run) do(ctx context.Context, t *engine.Task) *engine.Done {
	r.waiting[0] = r.eng.Start(ctx, t)
	r.eng.WaitAny(r.waiting[:], r)
	done := r.waiting[0].Done()
	if Timed(t.Op) {
		r.at(done)
	}
	return done
}

// Timed reports whether messages are made of the results of such tasks, so that their time counts.
func Timed(op engine.Op) bool {
	return op != engine.OpPrepare && op != engine.OpCheck && op != engine.OpPreview
}

// at advances the clock to a result. It never goes back: results may come from machines whose
// clocks differ.
func (r *run) at(done *engine.Done) {
	if done.At > r.clock {
		r.clock = done.At
	}
}

// append adds a message of this run to the history. The slice that was passed in is not written to, because it was clipped at
// the start.
//
//go:noinline
func (r *run) append(m *model.Message) *model.Message {
	m.RunID, m.ConversationID = r.info.RunID, r.info.ConversationID
	if m.Kind == model.KindResponse {
		m.Step = r.info.Step
	}
	if m.Time.IsZero() {
		m.Time = r.clock.Time()
	}
	if t := r.cfg.Template; t != nil && m.Kind == model.KindRequest {
		m.Metadata = t.Metadata
	}
	r.own = m
	r.messages = append(r.messages, m)
	return m
}

// settle processes a response. It reports whether the run is over.
func (r *run) settle(ctx context.Context, resp *model.Message) (bool, error) {
	if err := r.cfg.unusable(resp); err != nil {
		return false, &engine.RunError{Stage: engine.StageOutput, Err: err}
	}
	var done bool
	var err error
	if resp.HasToolCalls() {
		done, err = r.settleCalls(ctx, resp)
	} else {
		done, err = r.settleText(ctx, resp)
	}
	if err == nil && done {
		return r.end(ctx)
	}
	return done, err
}

// failure adds the stage to an error. The cause of a cancellation takes precedence over the errors that it led to.
func (r *run) failure(ctx context.Context, err error) error {
	e, ok := err.(*engine.RunError)
	if !ok {
		e = &engine.RunError{Stage: engine.StageModel, Err: err}
	}
	cause := context.Cause(ctx)
	if r.stopped {
		cause = engine.ErrStopped
	}
	if cause != nil && !errors.Is(e.Err, cause) {
		led := errs.Errorf("%w (%w)", cause, e.Err)
		if isPending(e.Err) { // it does not wait for answers any more
			led = errs.Errorf("%w (%v)", cause, e.Err)
		}
		// e may be shared with a task's result: it is not changed.
		e = &engine.RunError{Stage: e.Stage, Tool: e.Tool, CallID: e.CallID, Attempt: e.Attempt, Err: led}
	}
	return e
}

// Normalise returns a copy of a response in which every call has a unique id. The message of the model may be shared and is not
// changed.
func Normalise(resp *model.Message, step int) *model.Message {
	m := *resp
	m.Kind = model.KindResponse
	cloned := false
	calls := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		id := callID(p.CallID, step, calls, func(id string) bool {
			for j := range i {
				if o := &m.Parts[j]; o.Kind == model.PartToolCall && o.CallID == id {
					return true
				}
			}
			return false
		})
		calls++
		if id == p.CallID {
			continue
		}
		if !cloned {
			m.Parts, cloned = slices.Clone(m.Parts), true
		}
		m.Parts[i].CallID = id
	}
	return &m
}

// callID returns the id of a call: the model's, or a new one if that is empty or taken. It depends only on the calls before it,
// so it is known when the call begins to stream.
func callID(given string, step, calls int, taken func(id string) bool) string {
	if given == "" {
		given = fmt.Sprintf("call_%d_%d", step, calls)
	}
	id := given
	for n := 2; taken(id); n++ {
		id = fmt.Sprintf("%s_%d", given, n)
	}
	return id
}

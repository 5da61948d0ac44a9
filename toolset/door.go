// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Generate sends a request to a model and counts it, with the usage and the cost of the response. It is the way in which runs, and all that
// works for them, ask models. If a limit does not allow the request, it is not sent, and the error is a [*LimitError] or a [*PriceError].
// A stream that exceeds a limit ends with a [*LimitError]. A complete response is returned even if it exceeds a limit:
// [Meter.CheckTokens] and [Meter.CheckCost] tell.
//
// If the model asks other models with [model.Ask], their requests count in place of its own. A failed request counts with the usage
// that was reported. Under a limit on cost, a response of unknown cost, and a request that timed out, was cancelled or broke off in the
// middle of its answer, count as much as was reserved for them: the price of the longest response that the request allows ([model.Settings.MaxTokens]) or, if that is
// unknown, a twentieth of the limit, and at least what was reported. [Usage.Unpriced] counts them.
func (m *Meter) Generate(ctx context.Context, to model.Model, req *model.Request, sink model.Sink) (*model.Message, error) {
	return m.send(ctx, to, req, sink, nil)
}

// Within returns a context in which requests of [model.Ask] count on m. Approvers get one: a judge that asks a model does so for the run.
func (m *Meter) Within(ctx context.Context) context.Context {
	return context.WithValue(ctx, model.GateKey{}, gate{m})
}

type gate struct{ *Meter }

// Ask implements [model.Gate].
func (g gate) Ask(ctx context.Context, to model.Model, req *model.Request, sink model.Sink) (*model.Message, error) {
	return g.Generate(ctx, to, req, sink)
}

// Unsent implements [model.Gate]: there is no request around it.
func (gate) Unsent() {}

// send is Generate. around is the request of the model that asks, or nil. Runs spend their time in here: its frame must be small.
func (m *Meter) send(ctx context.Context, to model.Model, req *model.Request, sink model.Sink, around *door) (resp *model.Message, err error) {
	d, err := m.enter(ctx, to, around)
	if err != nil {
		return nil, err
	}
	var t *tap
	if sink != nil {
		t = &tap{door: d, to: to, sink: sink}
		sink = t.take
	}
	defer func() { d.leave(to, req, t, resp, err) }() // even if the model panics
	return d.within(to).Generate(d, req, sink)
}

// door is a request that a meter counts. It is the context of the request, in which models find it that ask others.
type door struct {
	ctx   context.Context
	meter *Meter
	// asked is the model that was asked, if that asks others.
	asked model.Model
	state atomic.Int32
	// unknown is set if a budget does not know the cost of the request.
	unknown atomic.Bool
}

const (
	doorFree = iota
	// doorBusy: a request is under way.
	doorBusy
	// doorPassed: a request is under way that does not count. It was not sent, or other requests count in its place.
	doorPassed
)

var _ model.Gate = (*door)(nil)

// The methods of [context.Context] are not those of an embedded one, which would be generated twice.

func (d *door) Deadline() (time.Time, bool) { return d.ctx.Deadline() }
func (d *door) Done() <-chan struct{}       { return d.ctx.Done() }
func (d *door) Err() error                  { return d.ctx.Err() }

func (d *door) Value(key any) any {
	if _, ok := key.(model.GateKey); ok {
		return d
	}
	return d.ctx.Value(key)
}

// Ask implements [model.Gate].
func (d *door) Ask(ctx context.Context, to model.Model, req *model.Request, sink model.Sink) (*model.Message, error) {
	d.Unsent()
	return d.meter.send(ctx, to, req, sink, d)
}

// Unsent implements [model.Gate].
func (d *door) Unsent() {
	if d.state.CompareAndSwap(doorBusy, doorPassed) {
		d.meter.Add(Usage{Requests: -1})
	}
}

// enter counts a request that is about to be made.
//
//go:noinline
func (m *Meter) enter(ctx context.Context, to model.Model, around *door) (*door, error) {
	var err error
	if around != nil { // the price of the model that asks was checked
		err = m.spent()
	} else if m.countsCost() {
		err = m.CheckPrice(to.Info(), time.Now())
	}
	if err == nil {
		err = m.Request()
	}
	if err != nil {
		return nil, err
	}
	if around != nil {
		to = around.asked
	}
	m.mu.Lock()
	d := &m.door
	if m.shared || d.state.Load() != doorFree || !reflect.TypeOf(ctx).Comparable() || d.ctx != nil && d.ctx != ctx {
		d = &door{ctx: ctx, meter: m}
	} else if d.ctx == nil { // it never changes, because somebody may still have it
		d.ctx, d.meter = ctx, m
	}
	d.asked = to
	d.unknown.Store(false)
	d.state.Store(doorBusy)
	m.mu.Unlock()
	return d, nil
}

// leave counts what has become of a request.
//
//go:noinline
func (d *door) leave(to model.Model, req *model.Request, t *tap, resp *model.Message, err error) {
	if d.state.Load() == doorBusy {
		d.count(to, req, t, resp, err)
	}
	d.state.Store(doorFree)
}

// count counts the usage and the cost of a request.
func (d *door) count(to model.Model, req *model.Request, t *tap, resp *model.Message, err error) {
	var used Usage
	switch {
	case err == nil && resp != nil:
		used.Usage = resp.Usage
	case t != nil:
		used.Usage = t.usage
	}
	if d.unknown.Load() {
		used.Unpriced = 1
	}
	if d.meter.countsCost() {
		d.charge(&used, to, req, t, resp, err)
	}
	d.meter.Add(used)
}

// charge sets what a request has cost. used has its tokens.
//
//go:noinline
func (d *door) charge(used *Usage, to model.Model, req *model.Request, t *tap, resp *model.Message, err error) {
	got := model.Message{Usage: used.Usage} // what is known of the response
	failed := err != nil || resp == nil
	if !failed {
		got.Provider, got.Model, got.Time = resp.Provider, resp.Model, resp.Time
	}
	if got.Time.IsZero() {
		got.Time = time.Now()
	}
	price, known := d.meter.price(to.Info(), got.Provider, got.Model, got.Time)
	if known {
		used.Cost = price.Of(got.Usage)
	}
	switch none := got.Usage == (model.Usage{}); {
	case failed && unanswered(d, t != nil && t.began, err):
		known = known && price.Free()
	case failed && none: // the provider has refused it
		known, used.Cost = true, 0
	case none:
		known = known && price.Free()
	}
	if !known {
		used.Cost = d.reserve(to, req, &got)
		if d.meter.hasPrices() {
			used.Unpriced = 1
		}
	}
}

// unanswered reports whether a provider may have worked on a request although there is no response:
// its answer broke off (began), the model gave neither answer nor error, or the request has ended
// early. Then the error may be anything, such as the cause of a context.
//
//go:noinline
func unanswered(ctx context.Context, began bool, err error) bool {
	return began || err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// reserve returns what a request of unknown cost counts under a limit on cost: at least what was reported, at the price of the model
// that was asked.
func (d *door) reserve(to model.Model, req *model.Request, got *model.Message) float64 {
	bound := 0.0
	for m := d.meter; m != nil; m = m.parent {
		m.mu.Lock()
		if c := m.limits.Cost; c > 0 && (bound == 0 || c < bound) {
			bound = c
		}
		m.mu.Unlock()
	}
	if bound == 0 {
		return 0
	}
	price, ok := d.meter.price(to.Info(), "", "", got.Time)
	if !ok {
		price, ok = d.meter.price(d.asked.Info(), "", "", got.Time)
	}
	if longest := LongestAnswer(req); ok && longest > 0 {
		bound = price.Of(model.Usage{OutputTokens: longest}) * 20
	}
	return max(bound/20, price.Of(got.Usage))
}

// LongestAnswer returns how many tokens a request allows for the answer, or 0 if it does not say.
func LongestAnswer(req *model.Request) int64 {
	if req == nil || req.Settings == nil {
		return 0
	}
	return int64(max(req.Settings.MaxTokens, 0))
}

// tap watches what a streamed response uses.
type tap struct {
	door  *door
	to    model.Model
	sink  model.Sink
	usage model.Usage
	// began is set if more than usage has come.
	began bool
	// over is the limit that the usage exceeds.
	over error
}

// take is the sink of the model. A model that goes on after it has reported more than the limits allow is stopped. If the report was the
// last delta, the response is complete.
func (t *tap) take(d model.Delta) error {
	if t.door.state.Load() == doorPassed {
		return t.sink(d)
	}
	if d.Usage != nil {
		t.reported(d.Usage)
	}
	content := d.Kind != "" || d.Whole != nil
	t.began = t.began || content
	if t.over == nil || !content {
		return t.sink(d)
	}
	if d.Usage != nil {
		_ = t.sink(model.Delta{Usage: d.Usage}) // the response ends in any case
	}
	return t.over
}

func (t *tap) reported(u *model.Usage) {
	t.usage = *u
	m := t.door.meter
	if t.over = m.CheckTokens(t.usage); t.over != nil || !m.countsCost() {
		return
	}
	t.over = m.CheckCost(m.Cost(t.to.Info(), &model.Message{Usage: t.usage, Time: time.Now()}))
}

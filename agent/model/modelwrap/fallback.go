// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/hide"
)

// FallbackPolicy determines when [Fallback] asks the next model. The zero value is usable.
type FallbackPolicy struct {
	// On reports whether to ask the next model after an error. If nil, it does for every error that
	// is or wraps a [*model.APIError]. Include [model.ErrUnsupported] if the models differ in what
	// they support. On is not called when the context has ended, or for errors after the first
	// delta.
	On func(error) bool
	// Check, if not nil, checks a response. If it returns an error, the next model is asked.
	// [Usable] is such a function. Responses that have been streamed to the caller are not checked,
	// unless Buffered is set.
	Check func(*model.Message) error
	// Buffered holds back the deltas of a response until it is complete and has passed Check, so
	// that a model that fails in mid-stream can be replaced. The caller gets all deltas at the end.
	Buffered bool
	// Observe, if not nil, is called for every failure after which Fallback asks the next model, or
	// gives up after the last one.
	Observe func(ctx context.Context, failed model.Info, err error)
}

// Fallback returns a model that asks models in order until one answers. It asks the next model if
// one fails with an API error, including when a stream cannot be opened. Once a delta has reached
// the caller's sink, errors are returned unchanged, unless [FallbackPolicy.Buffered] is set. Usage
// and white space are held back until something else comes. If all models have failed, the error is
// a [*FallbackError]. After ctx has ended, no other model is asked.
//
// [model.Message.Provider] and Model identify the model that answered. Fallback sets them if the
// model does not. Info is that of the first model, except that NativeOutput is set only if all
// models have it, and NoForcedCalls if any has it: a request must suit every model. Adapters leave
// out signatures and opaque parts of other providers.
//
// Every model gets the same request, including its settings. Put [model.Settings] that suit only
// one model into that model's own configuration. Fallback panics if there is no model, or a nil
// one.
func Fallback(models []model.Model, policy FallbackPolicy) model.Model {
	if len(models) == 0 {
		panic("modelwrap: Fallback: no models")
	}
	f := &fallback{models: slices.Clone(models), policy: policy, chooses: policy.On != nil || policy.Check != nil}
	if f.policy.On == nil {
		f.policy.On = func(err error) bool { return errors.As(err, new(*model.APIError)) }
	}
	for i, m := range models {
		mustWrap("Fallback", m)
		info := m.Info()
		if i == 0 {
			f.can = info
		}
		can := &f.can
		can.NativeOutput, can.NoForcedCalls = can.NativeOutput && info.NativeOutput, can.NoForcedCalls || info.NoForcedCalls
		can.NativeSearch, can.NativeFetch = can.NativeSearch && info.NativeSearch, can.NativeFetch && info.NativeFetch
		can.NativeDomains, can.NativeCompaction = can.NativeDomains && info.NativeDomains, can.NativeCompaction && info.NativeCompaction
	}
	return f
}

type fallback struct {
	models []model.Model
	policy FallbackPolicy
	// chooses reports that a function of the policy decides which model answers.
	chooses bool
	// can has what all models can do: NativeOutput and the like, and NoForcedCalls if one of them
	// cannot be forced.
	can model.Info
}

func (f *fallback) Info() model.Info {
	info := f.models[0].Info()
	info.NativeOutput, info.NoForcedCalls = f.can.NativeOutput, f.can.NoForcedCalls
	info.NativeSearch, info.NativeFetch, info.NativeDomains = f.can.NativeSearch, f.can.NativeFetch, f.can.NativeDomains
	info.NativeCompaction = f.can.NativeCompaction
	return info
}

func (f *fallback) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if sink != nil && f.policy.Buffered {
		return f.buffered(ctx, req, sink)
	}
	shown, sink := show(sink)
	var failed []error
	for _, m := range f.models {
		resp, err := model.Ask(ctx, m, req, sink)
		if err == nil && !shown.anything() {
			err = f.check(resp)
		}
		if err == nil {
			err = shown.rest(ctx)
			if err != nil {
				return nil, err
			}
			return signed(resp, m), nil
		}
		if shown.anything() {
			return nil, err
		}
		if err = f.failed(ctx, m, err, &failed); err != nil {
			return nil, err
		}
		shown.forget()
	}
	return nil, &FallbackError{Errs: failed}
}

// showing passes deltas on, but keeps those that show nothing, usage and white space, until
// something else comes: another model may still be asked. Its methods may be called on nil.
type showing struct {
	sink  model.Sink
	held  []model.Delta
	began bool
}

// show returns the sink to pass to the models, and what it has shown. Both are nil if sink is nil.
func show(sink model.Sink) (*showing, model.Sink) {
	if sink == nil {
		return nil, nil
	}
	s := &showing{sink: sink}
	return s, s.take
}

func (s *showing) take(d model.Delta) error {
	if !s.began && isBlank(&d) {
		s.hold(d)
		return nil
	}
	s.began = true
	held := s.held
	s.held = nil
	for _, h := range held {
		if err := s.sink(h); err != nil {
			return err
		}
	}
	return s.sink(d)
}

// isBlank reports whether a delta shows nothing of a response.
func isBlank(d *model.Delta) bool {
	return d.Kind != model.PartToolCall && d.Whole == nil && strings.TrimSpace(d.Text) == ""
}

// hold keeps a delta. What a later one repeats or continues is kept once.
func (s *showing) hold(d model.Delta) {
	if d.Usage != nil {
		d.Usage = new(*d.Usage)
	}
	if n := len(s.held); n > 0 {
		last := &s.held[n-1]
		sameKind := d.Kind == last.Kind && d.Part == last.Part
		if sameKind && (d.Usage != nil) == (last.Usage != nil) {
			last.Text, last.Usage = last.Text+d.Text, d.Usage
			return
		}
	}
	s.held = append(s.held, d)
}

// anything reports whether a part of the response has been shown.
func (s *showing) anything() bool { return s != nil && s.began }

// rest shows what has been held of a response that shows nothing.
func (s *showing) rest(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for _, held := range s.held {
		if err := give(ctx, s.sink, held); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what has been held of a model that failed.
func (s *showing) forget() {
	if s != nil {
		s.held = nil
	}
}

// buffered implements Generate for a sink that gets only the deltas of the final response.
func (f *fallback) buffered(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	var deltas []model.Delta
	keep := func(d model.Delta) error {
		if d.Usage != nil {
			d.Usage = new(*d.Usage)
		}
		deltas = append(deltas, d)
		return nil
	}
	var failed []error
	for _, m := range f.models {
		deltas = deltas[:0]
		resp, err := model.Ask(ctx, m, req, keep)
		if err == nil {
			err = f.check(resp)
		}
		if err != nil {
			if err = f.failed(ctx, m, err, &failed); err != nil {
				return nil, err
			}
			continue
		}
		for _, d := range deltas {
			if ctx.Err() != nil {
				return nil, ended(ctx, nil)
			}
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		if ctx.Err() != nil {
			return nil, ended(ctx, nil)
		}
		return signed(resp, m), nil
	}
	return nil, &FallbackError{Errs: failed}
}

func (f *fallback) check(resp *model.Message) error {
	if f.policy.Check == nil {
		return nil
	}
	if err := f.policy.Check(resp); err != nil {
		return &ResponseError{Response: resp, Err: err}
	}
	return nil
}

// failed adds a failure to the list. It returns nil if the next model may be asked, otherwise the
// error to return.
func (f *fallback) failed(ctx context.Context, m model.Model, err error, list *[]error) error {
	if ctx.Err() != nil {
		return ended(ctx, err)
	}
	info := m.Info()
	if !errors.As(err, new(*ResponseError)) && !f.policy.On(err) {
		if len(*list) == 0 {
			return err
		}
		return &FallbackError{Errs: append(*list, named(info, err))}
	}
	if f.policy.Observe != nil {
		f.policy.Observe(ctx, info, err)
	}
	*list = append(*list, named(info, err))
	return nil
}

func named(info model.Info, err error) error {
	return fmt.Errorf("%s %s: %w", info.Provider, info.Name, err)
}

// signed returns a response that names the model that made it.
func signed(resp *model.Message, m model.Model) *model.Message {
	if resp.Provider != "" && resp.Model != "" {
		return resp
	}
	info := m.Info()
	c := *resp // the model may have retained it
	if c.Provider == "" {
		c.Provider = info.Provider
	}
	if c.Model == "" {
		c.Model = info.Name
	}
	return &c
}

// FallbackError is returned by [Fallback] if every model failed, or if a later model failed with an
// error that does not lead to the next. It wraps the errors of all models that were asked.
type FallbackError struct {
	// Errs holds an error for each model that was asked, in order. Each starts with the provider
	// and name of the model.
	Errs []error
}

// Error implements error. It returns a single line.
func (e *FallbackError) Error() string {
	var b strings.Builder
	b.WriteString("modelwrap: all models failed")
	for i, err := range e.Errs {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(err.Error())
	}
	return b.String()
}

// Unwrap returns the errors of the models.
func (e *FallbackError) Unwrap() []error { return e.Errs }

// ResponseError reports that [FallbackPolicy.Check] returned an error. It holds the response, which
// was paid for.
type ResponseError struct {
	// Response is the model's response.
	Response *model.Message
	// Err is what Check returned.
	Err error
}

// Error implements error.
func (e *ResponseError) Error() string {
	return hide.Controls("modelwrap: response failed the check: " + e.Err.Error())
}

// Unwrap returns what Check returned.
func (e *ResponseError) Unwrap() error { return e.Err }

// Errors returned by [Usable].
var (
	// ErrFiltered means that the provider withheld the response, or that the model refused to
	// answer.
	ErrFiltered = errors.New("response withheld by a content filter or refused by the model")
	// ErrFailed means that the provider failed in the middle of the response.
	ErrFailed = errors.New("response failed at the provider")
	// ErrEmpty means that the response has no text, tool call or media.
	ErrEmpty = errors.New("response is empty")
)

// Usable is a [FallbackPolicy.Check]. It returns [ErrEmpty] for an empty response, [ErrFiltered]
// for one that was withheld or refused, and [ErrFailed] for one that failed.
func Usable(resp *model.Message) error {
	switch resp.Finish {
	case model.FinishContentFilter, model.FinishRefusal:
		return ErrFiltered
	case model.FinishError:
		return ErrFailed
	}
	for i := range resp.Parts {
		switch p := &resp.Parts[i]; p.Kind {
		case model.PartToolCall, model.PartMedia:
			return nil
		case model.PartText:
			if strings.TrimSpace(p.Text) != "" {
				return nil
			}
		}
	}
	return ErrEmpty
}

// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// FallbackPolicy says when [Fallback] asks the next model. The zero value is useful.
type FallbackPolicy struct {
	// On says whether an error is a reason to ask the next model. Nil means every error that is or wraps a
	// [*model.APIError]; add [model.ErrUnsupported] for models that differ in what they can take. On is not asked about
	// the end of the context, nor about what comes after the first delta.
	On func(error) bool
	// Check, if not nil, says with an error that a response will not do and the next model should be asked; [Usable] is
	// one. A response that has been streamed to the caller already stands: set Buffered to have those checked too.
	Check func(*model.Message) error
	// Buffered keeps the deltas of a response back until it is complete and has passed Check, so that a model which
	// fails in mid-stream can be replaced. The caller then gets all deltas at once, at the end.
	Buffered bool
	// Observe, if not nil, is told of every failure that makes Fallback go on to the next model, or give up after the
	// last one.
	Observe func(ctx context.Context, failed model.Info, err error)
}

// Fallback returns a model that asks models in order until one answers. It goes on to the next when one fails with an API
// error, be it at once or when its stream cannot be opened. Once a delta has reached the caller's sink there is no going
// back: the error is returned as it is, unless [FallbackPolicy.Buffered] is set. When all have failed, the error is a
// [*FallbackError]. When ctx has ended, no other model is asked.
//
// [model.Message.Provider] and Model say who answered; Fallback fills them in if the model itself does not. Info is the
// first model's, but NativeOutput is set only if all models have it, and NoForcedCalls if any has: a request must be one
// that each of them can take. Other providers' signatures and opaque parts in a history are left out by the adapters.
//
// Each model gets the same request, settings included; [model.Settings] that suit one model only belong into that
// model's own configuration. It panics if there is no model, or a nil one.
func Fallback(models []model.Model, policy FallbackPolicy) model.Model {
	if len(models) == 0 {
		panic("modelwrap: Fallback: there is no model")
	}
	f := &fallback{models: slices.Clone(models), policy: policy}
	if f.policy.On == nil {
		f.policy.On = func(err error) bool { return errors.As(err, new(*model.APIError)) }
	}
	f.native = true
	for _, m := range models {
		mustWrap("Fallback", m)
		info := m.Info()
		f.native, f.unforced = f.native && info.NativeOutput, f.unforced || info.NoForcedCalls
	}
	return f
}

type fallback struct {
	models []model.Model
	policy FallbackPolicy
	// native and unforced are the NativeOutput and NoForcedCalls of all models together.
	native, unforced bool
}

func (f *fallback) Info() model.Info {
	info := f.models[0].Info()
	info.NativeOutput, info.NoForcedCalls = f.native, f.unforced
	return info
}

func (f *fallback) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if sink != nil && f.policy.Buffered {
		return f.buffered(ctx, req, sink)
	}
	seen, sink := watch(sink)
	var failed []error
	for _, m := range f.models {
		resp, err := m.Generate(ctx, req, sink)
		if err == nil && !seen.saw() {
			err = f.check(resp)
		}
		if err == nil {
			return signed(resp, m), nil
		}
		if seen.saw() {
			return nil, err
		}
		if err = f.failed(ctx, m, err, &failed); err != nil {
			return nil, err
		}
	}
	return nil, &FallbackError{Errs: failed}
}

// buffered is Generate for a sink that gets no delta of a response that is not the final one.
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
		resp, err := m.Generate(ctx, req, keep)
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

// failed adds a failure to the list and returns nil if the next model may be asked, or else the error to end with.
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

// signed returns a response that says who made it.
func signed(resp *model.Message, m model.Model) *model.Message {
	if resp.Provider != "" && resp.Model != "" {
		return resp
	}
	info := m.Info()
	c := *resp // the model may have kept it
	if c.Provider == "" {
		c.Provider = info.Provider
	}
	if c.Model == "" {
		c.Model = info.Name
	}
	return &c
}

// FallbackError is the error of [Fallback] when there is no model left to ask, or when one fails for a reason that is none
// to ask another after others have failed. It wraps the errors of all that were asked.
type FallbackError struct {
	// Errs has an error for each model that was asked, in order, that begins with the model's provider and name.
	Errs []error
}

// Error implements error, on one line.
func (e *FallbackError) Error() string {
	var b strings.Builder
	b.WriteString("modelwrap: no model has answered")
	for i, err := range e.Errs {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(err.Error())
	}
	return b.String()
}

// Unwrap returns the errors of the models.
func (e *FallbackError) Unwrap() []error { return e.Errs }

// ResponseError says that [FallbackPolicy.Check] did not let a response pass. The response was paid for, so it is here.
type ResponseError struct {
	// Response is what the model answered.
	Response *model.Message
	// Err is what Check returned.
	Err error
}

// Error implements error.
func (e *ResponseError) Error() string {
	return "modelwrap: the response will not do: " + e.Err.Error()
}

// Unwrap returns what Check returned.
func (e *ResponseError) Unwrap() error { return e.Err }

// Identities of what [Usable] finds.
var (
	// ErrFiltered means that the provider held the response back, or that the model refused.
	ErrFiltered = errors.New("held back by a content filter, or refused")
	// ErrEmpty means that there is neither text nor a tool call nor media in the response.
	ErrEmpty = errors.New("the response is empty")
)

// Usable is a [FallbackPolicy.Check] that lets a response pass unless it is empty ([ErrEmpty]) or was held back
// ([ErrFiltered]).
func Usable(resp *model.Message) error {
	if resp.Finish == model.FinishContentFilter {
		return ErrFiltered
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

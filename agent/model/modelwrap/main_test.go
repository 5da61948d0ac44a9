// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

var errBoom = errors.New("boom")

func ask(text string) *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText(text)}}
}

func say(text string) *model.Message {
	m := model.Response(model.Text(text))
	m.Finish, m.Usage = model.FinishStop, model.Usage{InputTokens: 10, OutputTokens: 5}
	return m
}

// named returns a model with the given name that calls the function.
func named(name string, generate func(ctx context.Context, sink model.Sink) (*model.Message, error)) model.Model {
	return model.Func(model.Info{Provider: "test", Name: name}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		return generate(ctx, sink)
	})
}

func saying(name, text string) model.Model {
	return named(name, func(ctx context.Context, sink model.Sink) (*model.Message, error) {
		m := say(text)
		if sink != nil {
			if err := modeltest.Emit(ctx, m, sink); err != nil {
				return nil, err
			}
		}
		return m, nil
	})
}

func failing(name string, err error) model.Model {
	return named(name, func(context.Context, model.Sink) (*model.Message, error) { return nil, err })
}

// breaking streams a little and then fails.
func breaking(name string, err error) model.Model {
	return named(name, func(_ context.Context, sink model.Sink) (*model.Message, error) {
		if sink != nil {
			if err := sink(model.Delta{Kind: model.PartText, Text: "half "}); err != nil {
				return nil, err
			}
		}
		return nil, err
	})
}

func overloaded(name string) *model.APIError {
	return &model.APIError{Provider: "test", Model: name, Status: 503, Message: "too busy", Retryable: true}
}

// counted returns a model and a count of its requests.
func counted(m model.Model) (model.Model, *atomic.Int64) {
	var n atomic.Int64
	return model.Func(m.Info(), func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		n.Add(1)
		return m.Generate(ctx, req, sink)
	}), &n
}

func stream(ctx context.Context, m model.Model, req *model.Request) (string, *model.Message, error) {
	var text string
	msg, err := m.Generate(ctx, req, func(d model.Delta) error {
		text += d.Text
		return nil
	})
	return text, msg, err
}

// everything and nothing are Keep functions for caches.
func everything(*model.Message) bool { return true }
func nothing(*model.Message) bool    { return false }

// wrappers returns each wrapper, configured to do nothing. keep is for caches.
func wrappers(keep func(*model.Message) bool) map[string]func(m model.Model) model.Model {
	return map[string]func(m model.Model) model.Model{
		"Fallback": func(m model.Model) model.Model {
			return modelwrap.Fallback([]model.Model{m, m}, modelwrap.FallbackPolicy{Check: func(*model.Message) error { return nil }})
		},
		"Retry": func(m model.Model) model.Model {
			return modelwrap.Retry(m, model.RetryPolicy{Base: time.Microsecond})
		},
		"Break": func(m model.Model) model.Model { return modelwrap.Break(m, modelwrap.BreakPolicy{}) },
		"Limit": func(m model.Model) model.Model { return modelwrap.Limit(m, 20) },
		"RateLimit": func(m model.Model) model.Model {
			return modelwrap.RateLimit(m, modelwrap.Rate{Requests: 1e6, Tokens: 1e9})
		},
		"Cache": func(m model.Model) model.Model {
			return modelwrap.Cache(m, modelwrap.NewMemory(modelwrap.MemoryLimits{}), modelwrap.CachePolicy{Keep: keep})
		},
		"Cache, coalesced": func(m model.Model) model.Model {
			return modelwrap.Cache(m, modelwrap.NewMemory(modelwrap.MemoryLimits{}), modelwrap.CachePolicy{Keep: keep, Coalesce: true})
		},
		"Cost": func(m model.Model) model.Model { return modelwrap.Cost(m, model.Prices{"*": {}}, nil) },
		"FetchMedia": func(m model.Model) model.Model {
			return modelwrap.FetchMedia(m, modelwrap.FetchPolicy{Always: true})
		},
		"all of them": func(m model.Model) model.Model {
			m = modelwrap.FetchMedia(m, modelwrap.FetchPolicy{})
			m = modelwrap.Cost(m, model.Prices{}, func(context.Context, modelwrap.Charge) {})
			m = modelwrap.RateLimit(m, modelwrap.Rate{Requests: 1e6})
			m = modelwrap.Limit(m, 20)
			m = modelwrap.Retry(m, model.RetryPolicy{Base: time.Microsecond})
			m = modelwrap.Break(m, modelwrap.BreakPolicy{})
			m = modelwrap.Fallback([]model.Model{m, m}, modelwrap.FallbackPolicy{})
			return modelwrap.Cache(m, modelwrap.NewMemory(modelwrap.MemoryLimits{}), modelwrap.CachePolicy{Keep: keep, Coalesce: true})
		},
	}
}

// played is a model in the process that plays a scenario and keeps the contract.
func played(t testing.TB, s modeltest.Scenario) model.Model {
	switch {
	case s.Rule == "Call ids are unique":
		t.Skip("wrappers return what the model says")
	case s.Fault != "":
		t.Skip("wrappers do not see the wire")
	case s.Error != nil && s.Error.RetryAfter > 0:
		t.Skip("Retry would wait that long")
	}
	info := model.Info{Provider: "played", Name: "one", NativeOutput: true}
	return model.Func(info, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		if err := model.CheckRequests(info); err != nil {
			return nil, err
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.MediaType == "video/mp4" {
					return nil, fmt.Errorf("played: video: %w", model.ErrUnsupported)
				}
			}
		}
		if s.Answer != nil && sink != nil {
			if err := modeltest.Emit(ctx, s.Answer, sink); err != nil {
				return nil, err
			}
		}
		switch {
		case s.Error != nil:
			e := *s.Error
			e.Provider, e.Model = info.Provider, info.Name
			return nil, &e
		case s.Silent:
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		answer := s.Answer.Clone()
		answer.Provider, answer.Model = info.Provider, info.Name
		return answer, nil
	})
}

func TestWrappersConform(t *testing.T) {
	for name, wrap := range wrappers(nothing) {
		t.Run(name, func(t *testing.T) {
			modeltest.Conformance(t, modeltest.Harness{
				Provider: true,
				New:      func(t testing.TB, s modeltest.Scenario) model.Model { return wrap(played(t, s)) },
			})
		})
	}
	t.Run("Cache, kept", func(t *testing.T) {
		modeltest.Conformance(t, modeltest.Harness{
			New: func(t testing.TB, s modeltest.Scenario) model.Model {
				m := played(t, s)
				switch {
				case s.Answer == nil || s.Silent || s.Error != nil:
					t.Skip("a cache stores complete responses")
				case s.Rule == "Unsupported requests are errors":
					t.Skip("the cache does not store errors")
				}
				return modelwrap.Cache(m, always{s.Answer}, modelwrap.CachePolicy{})
			},
		})
	})
	t.Run("Fallback, buffered", func(t *testing.T) {
		modeltest.Conformance(t, modeltest.Harness{
			Provider: true,
			New: func(t testing.TB, s modeltest.Scenario) model.Model {
				if s.Answer != nil && (s.Silent || s.Error != nil) {
					t.Skip("no deltas before the response is complete")
				}
				m := played(t, s)
				return modelwrap.Fallback([]model.Model{m, m}, modelwrap.FallbackPolicy{Buffered: true})
			},
		})
	})
}

// always is a store that returns the same response for every key.
type always struct{ resp *model.Message }

func (s always) Get(context.Context, modelwrap.Key) (*model.Message, bool) { return s.resp, true }
func (always) Put(context.Context, modelwrap.Key, *model.Message)          { panic("it was there") }

func TestWrappersKeepInfo(t *testing.T) {
	info := model.Info{Provider: "test", Name: "one", NativeOutput: true, Media: []string{"image"}, ContextWindow: 1000}
	for name, wrap := range wrappers(everything) {
		want := info
		if name == "FetchMedia" || name == "all of them" {
			want.MediaURLs = info.Media
		}
		require.Equal(t, want, wrap(model.Func(info, nil)).Info(), name)
	}
}

func TestIdleWrappersAllocateLittle(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes sync.Pool drop items at random")
	}
	resp := say("hello")
	m := model.Func(model.Info{Provider: "test", Name: "one"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if sink != nil {
			return resp, sink(model.Delta{Kind: model.PartText, Text: "hello"})
		}
		return resp, nil
	})
	resp.Provider, resp.Model = "test", "one"
	req := ask("hello")
	sink := func(model.Delta) error { return nil }
	for name, wrap := range wrappers(everything) {
		if name == "all of them" {
			continue
		}
		wrapped := wrap(m)
		for streamed, sink := range map[string]model.Sink{"complete": nil, "streamed": sink} {
			allocs := testing.AllocsPerRun(200, func() {
				if _, err := wrapped.Generate(t.Context(), req, sink); err != nil {
					panic(err)
				}
			})
			most := 2.0
			if (name == "Cache" || name == "Cache, coalesced") && sink != nil {
				most = 3 // the message, its parts and the delta's usage
			}
			if name == "Retry" && sink != nil {
				most = 3 // the context that disables retries of the inner model
			}
			require.LessOrEqual(t, allocs, most, "%s, %s", name, streamed)
		}
	}
}

func TestWrappersPanicOnMistakes(t *testing.T) {
	m := saying("one", "hello")
	store := modelwrap.NewMemory(modelwrap.MemoryLimits{})
	for want, mistake := range map[string]func(){
		"Fallback: no models":       func() { modelwrap.Fallback(nil, modelwrap.FallbackPolicy{}) },
		"Fallback: model is nil":    func() { modelwrap.Fallback([]model.Model{m, nil}, modelwrap.FallbackPolicy{}) },
		"Retry: model is nil":       func() { modelwrap.Retry(nil, model.RetryPolicy{}) },
		"Retry: Max of the policy ": func() { modelwrap.Retry(m, model.RetryPolicy{Max: -1}) },
		"FetchMedia: AllowPrivate[": func() {
			modelwrap.FetchMedia(m, modelwrap.FetchPolicy{AllowPrivate: []netip.Prefix{{}}})
		},
		"Break: model is nil":       func() { modelwrap.Break(nil, modelwrap.BreakPolicy{}) },
		"Break: policy has a neg":   func() { modelwrap.Break(m, modelwrap.BreakPolicy{CoolDown: -1}) },
		"Limit: model is nil":       func() { modelwrap.Limit(nil, 1) },
		"Limit: n is 0":             func() { modelwrap.Limit(m, 0) },
		"RateLimit: model is nil":   func() { modelwrap.RateLimit(nil, modelwrap.Rate{Requests: 1}) },
		"RateLimit: Requests 0":     func() { modelwrap.RateLimit(m, modelwrap.Rate{}) },
		"RateLimit: Requests -1":    func() { modelwrap.RateLimit(m, modelwrap.Rate{Requests: -1, Tokens: 1}) },
		"Cache: model is nil":       func() { modelwrap.Cache(nil, store, modelwrap.CachePolicy{}) },
		"Cache: store is nil":       func() { modelwrap.Cache(m, nil, modelwrap.CachePolicy{}) },
		"NewMemory: negative limit": func() { modelwrap.NewMemory(modelwrap.MemoryLimits{Entries: -1}) },
		"Cost: model is nil":        func() { modelwrap.Cost(nil, model.Prices{}, nil) },
		"Cost: price table is nil":  func() { modelwrap.Cost(m, nil, nil) },
	} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), "modelwrap: "+want) }()
			mistake()
		}()
	}
}

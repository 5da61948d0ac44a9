// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// eachPart changes the parts of a response.
func eachPart(change func(p *model.Part)) func(*provider) model.Model {
	return answered(func(m *model.Message) {
		for i := range m.Parts {
			change(&m.Parts[i])
		}
	})
}

// sending changes what is sent.
func sending(encode func(req *model.Request) string) func(*provider) model.Model {
	return func(p *provider) model.Model {
		p.encode = encode
		return p
	}
}

// pretending answers every request, even those with a fault, with a message.
func pretending(msg func(p *provider) *model.Message) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, _ *model.Request, sink model.Sink, _ generateFunc) (*model.Message, error) {
			m := msg(p)
			if sink != nil {
				if err := modeltest.Emit(ctx, m, sink); err != nil {
					return nil, err
				}
			}
			return m, nil
		})
	}
}

func TestRunFindsBrokenResponses(t *testing.T) {
	const wanted = "What the provider wants back"
	findsAll(t, map[string]broken{
		"an answer of nobody":       {"A response is what", `response has provider ""`, answered(func(m *model.Message) { m.Provider = "" })},
		"an answer of another":      {"A response is what", `response has provider "other"`, answered(func(m *model.Message) { m.Provider = "other" })},
		"an answer without a model": {"A response is what", `and model ""`, answered(func(m *model.Message) { m.Model = "" })},

		"lost usage of a cache": {"Usage is", "usage of a streamed response is", answered(func(m *model.Message) { m.Usage.CacheReadTokens = 0 })},
		"usage of a streamed answer alone": {"Usage is", "usage of a response is", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if msg != nil && sink == nil {
					msg.Usage = model.Usage{}
				}
				return msg, err
			})
		}},
		"what was held back":    {"A withheld response", `finish reason is "stop"`, answered(func(m *model.Message) { m.Finish = model.FinishStop })},
		"lost media":            {"Media in a response", "parts of kind media", answered(func(m *model.Message) { m.Parts = m.Parts[:1] })},
		"another type of media": {"Media in a response", "parts of kind media", eachPart(func(p *model.Part) { p.MediaType = strings.ToUpper(p.MediaType) })},
		"no id where none was":  {"Call ids are unique", "both must be set", answered(func(m *model.Message) { sameIDs(m, "") })},
		"other ids in deltas": {"Call ids are unique", "deltas add up to", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			if d.CallID != "" {
				d.CallID += "x"
			}
			return sink(d)
		})},
		"repaired arguments": {"Arguments that are not a JSON object", "parts of kind tool_call", eachPart(func(p *model.Part) {
			if !json.Valid(p.Args) {
				p.Args = append(p.Args, '"', '}')
			}
		})},
		"repaired arguments of a stream": {"Streamed arguments that are not a JSON object", "parts of kind tool_call", eachPart(func(p *model.Part) {
			if !json.Valid(p.Args) {
				p.Args = append(p.Args, '"', '}')
			}
		})},
		"a limit of arguments": {"Long arguments", "parts of kind tool_call", eachPart(func(p *model.Part) { p.Args = p.Args[:min(len(p.Args), 1<<16)] })},
		"arguments that are joined anew each time": {"Long arguments", "times as much", sunk(func() func(model.Delta, int, model.Sink) error {
			var all string
			return func(d model.Delta, n int, sink model.Sink) error {
				if n == 0 {
					all = ""
				}
				all += d.Text
				return sink(d)
			}
		}())},

		"a lost signature": {wanted, "lacks what the provider wants back", eachPart(func(p *model.Part) { p.Signature = nil })},
		"lost opaque data": {wanted, "lacks what the provider wants back", eachPart(func(p *model.Part) {
			if p.Kind == model.PartOpaque {
				p.Data = []byte("something else")
			}
		})},
		"what nobody made":               {wanted, `has provider "", the model's is "played"`, eachPart(func(p *model.Part) { p.Provider = "" })},
		"what does not survive JSON":     {wanted, "does not survive JSON", eachPart(func(p *model.Part) { p.Meta = json.RawMessage("{ }") })},
		"what cannot be encoded as JSON": {wanted, "cannot be encoded as JSON", eachPart(func(p *model.Part) { p.Meta = json.RawMessage("{") })},
		"what is kept for oneself": {wanted, "was not sent back to the provider", sending(func(req *model.Request) string {
			return words(req)
		})},
		"what is told to others": {wanted, "from another provider, was sent", sending(func(req *model.Request) string {
			all, _ := json.Marshal(req)
			return string(all)
		})},
	})
}

func TestRunFindsBrokenFaultHandling(t *testing.T) {
	half := func(p *provider) *model.Message {
		m := p.answer()
		m.Finish = model.FinishOther
		return m
	}
	nothing := func(*provider) *model.Message {
		return &model.Message{Kind: model.KindResponse, Finish: model.FinishStop, Provider: "played", Model: "one"}
	}
	final := failed(func(e *model.APIError) error { e.Retryable = false; return e })
	other := failed(func(e *model.APIError) error { return errors.New("it broke") })
	early := func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			return next(ctx, req, nil)
		})
	}
	more := sunk(func(d model.Delta, _ int, sink model.Sink) error {
		d.Text += "?"
		return sink(d)
	})
	findsAll(t, map[string]broken{
		"half an answer":            {"A truncated response", "is not an APIError but <nil>", pretending(half)},
		"half an answer, for good":  {"A truncated response", "not retryable", final},
		"half a stream":             {"A truncated stream", "is not an APIError but <nil>", pretending(half)},
		"half a stream, for good":   {"A truncated stream", "not retryable", final},
		"half a stream, hidden":     {"A truncated stream", "did not get what came before", early},
		"half a stream and more":    {"A truncated stream", "is not the beginning of the response", more},
		"an answer made of nothing": {"An empty response", "is not an APIError but <nil>", pretending(nothing)},
		"nothing, for good":         {"An empty response", "not retryable", final},
		"nothing, of no type":       {"An empty response", "is not an APIError but *errors.errorString", other},
		"deltas of nothing": {"An empty response", "but the sink got", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if sink != nil {
					_ = sink(model.Delta{Kind: model.PartText, Text: "hm"})
				}
				return next(ctx, req, sink)
			})
		}},
		"an unknown reason that fails": {"An unknown finish reason", "it broke", func(p *provider) model.Model {
			return around(p, func(context.Context, *model.Request, model.Sink, generateFunc) (*model.Message, error) {
				return nil, errors.New("it broke")
			})
		}},
		"an unknown reason that is known": {"An unknown finish reason", `finish reason is "stop"`, answered(func(m *model.Message) { m.Finish = model.FinishStop })},
		"a lost wait":                     {"An error of the provider is", "provider sent 7s", failed(func(e *model.APIError) error { e.RetryAfter = 0; return e })},
		"a message lost in a stream":      {"An error within a stream", "does not contain the provider's message", failed(func(e *model.APIError) error { e.Message = "no"; return e })},
		"another call in a stream": {"An error within a stream", "is not the beginning of the response", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			if d.Tool != "" {
				d.Tool = "other"
			}
			return sink(d)
		})},
	})
}

func TestRunChecksMediaInHistories(t *testing.T) {
	findsAll(t, map[string]broken{
		"media of models is refused": {"Every kind of history", "media?", asked(func(req *model.Request) error {
			for _, m := range req.Messages {
				if m.Kind == model.KindResponse && slices.ContainsFunc(m.Parts, func(p model.Part) bool { return p.Kind == model.PartMedia }) {
					return errors.New("media?")
				}
			}
			return nil
		})},
	})
}

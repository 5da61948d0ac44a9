// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

var errWire = errors.New("boom")

type generateFunc func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error)

// around wraps a model with f.
func around(good model.Model, f func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error)) model.Model {
	return model.Func(good.Info(), func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		return f(ctx, req, sink, good.Generate)
	})
}

// answered changes the responses of a model.
func answered(change func(msg *model.Message)) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			msg, err := next(ctx, req, sink)
			if msg != nil {
				change(msg)
			}
			return msg, err
		})
	}
}

// sunk changes the deltas a sink gets.
func sunk(change func(d model.Delta, n int, sink model.Sink) error) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			n, inner := -1, sink
			if sink != nil {
				inner = func(d model.Delta) error { n++; return change(d, n, sink) }
			}
			return next(ctx, req, inner)
		})
	}
}

// failed changes errors of the provider.
func failed(change func(e *model.APIError) error) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			msg, err := next(ctx, req, sink)
			var e *model.APIError
			if errors.As(err, &e) {
				return nil, change(e)
			}
			return msg, err
		})
	}
}

// asked calls f with each request first.
func asked(f func(req *model.Request) error) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			if err := f(req); err != nil {
				return nil, err
			}
			return next(ctx, req, sink)
		})
	}
}

// with replaces Info.
func with(info func() model.Info) func(*provider) model.Model {
	return func(p *provider) model.Model { return informed{p, info} }
}

type informed struct {
	model.Model
	info func() model.Info
}

func (i informed) Info() model.Info { return i.info() }

// broken is a model that breaks a rule, with the rule and the error expected from the suite.
type broken struct {
	rule, problem string
	model         func(*provider) model.Model
}

func TestRunFindsBrokenModels(t *testing.T) {
	var counter atomic.Int64
	findsAll(t, map[string]broken{
		"neither message nor error": {"A response is what", "neither a message nor an error", func(p *provider) model.Model {
			return around(p, func(context.Context, *model.Request, model.Sink, generateFunc) (*model.Message, error) {
				return nil, nil
			})
		}},
		"message and error": {"An error of the sink ends", "both a message and the error", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if err != nil {
					msg = model.Response()
				}
				return msg, err
			})
		}},
		"a request as the answer": {"A response is what", `of kind "request"`, answered(func(m *model.Message) { m.Kind = model.KindRequest })},
		"no finish reason":        {"A response is what", "no finish reason", answered(func(m *model.Message) { m.Finish = "" })},
		"another finish reason":   {"A response is what", `provider sent "length"`, answered(func(m *model.Message) { m.Finish = model.FinishOther })},
		"a user part":             {"A response is what", "must not occur in a response", answered(func(m *model.Message) { m.Parts = append(m.Parts, model.User("x")) })},
		"a part without kind":     {"A response is what", "cannot be encoded as JSON", answered(func(m *model.Message) { m.Parts = append(m.Parts, model.Part{}) })},
		"an opaque part of nobody": {"A response is what", "does not name its provider", answered(func(m *model.Message) {
			m.Parts = append(m.Parts, model.Part{Kind: model.PartOpaque})
		})},
		"a citation of nobody": {"A response is what", "does not name its provider", answered(func(m *model.Message) {
			m.Parts = append(m.Parts, model.Part{Kind: model.PartCitation, URL: "https://a.test/"})
		})},
		"a signature of nobody": {"A response is what", "does not name its provider", answered(func(m *model.Message) {
			m.Parts[0].Signature, m.Parts[0].Provider = []byte("s"), ""
		})},
		"equal call ids": {"Call ids are unique", `two calls have the id "call_a"`, answered(func(m *model.Message) { sameIDs(m, "call_a") })},
		"no call ids":    {"A response is what", "both must be set", answered(func(m *model.Message) { sameIDs(m, "") })},
		"a rounded integer": {"A response is what", "parts of kind tool_call", answered(func(m *model.Message) {
			for i := range m.Parts {
				m.Parts[i].Args = bytes.ReplaceAll(m.Parts[i].Args, []byte("9223372036854775807"), []byte("9223372036854776000"))
			}
		})},
		"lost text": {"A response is what", `text is ""`, answered(func(m *model.Message) { m.Parts = m.Parts[1:] })},
		"decoded arguments": {"A response is what", "parts of kind tool_call", answered(func(m *model.Message) {
			for i := range m.Parts {
				var b bytes.Buffer
				if json.Compact(&b, m.Parts[i].Args) == nil {
					m.Parts[i].Args = b.Bytes()
				}
			}
		})},
		"another message when streamed": {"A streamed response is", "differs from the unstreamed one", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if err == nil && sink != nil {
					msg.Parts[0].Text += "!"
				}
				return msg, err
			})
		}},
		"answers that change": {"Requests may be", "one of several concurrent responses differs", answered(func(m *model.Message) {
			m.Model = fmt.Sprint(counter.Add(1))
		})},
		"fails under load": {"Requests may be", "one of several concurrent requests", func(p *provider) model.Model {
			var n atomic.Int64
			return asked(func(*model.Request) error {
				if n.Add(1)%7 == 0 {
					return errWire
				}
				return nil
			})(p)
		}},

		"lost deltas": {"Deltas add up", "deltas add up to", sunk(func(d model.Delta, n int, sink model.Sink) error {
			if n == 1 {
				return nil
			}
			return sink(d)
		})},
		"skipped indexes": {"Deltas add up", "but the next new part", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			d.Part++
			return sink(d)
		})},
		"ids in later deltas": {"Deltas add up", "later delta of part", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			if d.Kind == model.PartToolCall {
				d.CallID, d.Tool = "x", "y"
			}
			return sink(d)
		})},
		"no ids in first deltas": {"Deltas add up", "first delta of a part of kind", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			d.CallID = ""
			return sink(d)
		})},
		"a part that changes its kind": {"Deltas add up", "and is now of kind", sunk(func(d model.Delta, n int, sink model.Sink) error {
			if n == 1 {
				d.Kind = model.PartThinking
			}
			return sink(d)
		})},
		"deltas of media": {"Deltas add up", "which is not streamed", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			d.Kind = model.PartMedia
			return sink(d)
		})},
		"empty deltas": {"Deltas add up", "neither a part nor usage", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			if err := sink(model.Delta{}); err != nil {
				return err
			}
			return sink(d)
		})},
		"other usage in the stream": {"Deltas add up", "last usage of the stream", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			if d.Usage != nil {
				d.Usage = &model.Usage{InputTokens: 1}
			}
			return sink(d)
		})},
		"one delta": {"An error of the sink ends", "must send the response in several", sunk(func(d model.Delta, n int, sink model.Sink) error {
			if n > 0 {
				return nil
			}
			return sink(d)
		})},

		"a wrapped error of the sink": {"An error of the sink ends", "but Generate returned wrapped: ", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if err != nil && sink != nil {
					err = fmt.Errorf("wrapped: %w", err)
				}
				return msg, err
			})
		}},
		"a sink that is called again": {"An error of the sink ends", "but was called", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			err := sink(d)
			if err != nil {
				_ = sink(d)
			}
			return err
		})},
		"a wait after the error of the sink": {"An error of the sink does not wait", "took", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			err := sink(d)
			if err != nil {
				time.Sleep(time.Minute)
			}
			return err
		})},
		"an ignored error of the sink": {"An error of the sink does not wait", "context deadline exceeded", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			_ = sink(d)
			return nil
		})},
		"a sink on another goroutine": {"The sink is called on", "the sink was called by goroutine", sunk(func(d model.Delta, _ int, sink model.Sink) error {
			err := make(chan error)
			go func() { err <- sink(d) }()
			return <-err
		})},
		"a sink that is called too late": {"The sink is called on", "after Generate returned", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if sink != nil {
					time.AfterFunc(5*time.Millisecond, func() { _ = sink(model.Delta{}) })
				}
				return next(ctx, req, sink)
			})
		}},
		"a stream that fails": {"The sink is called on", "boom", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if sink != nil {
					return nil, errWire
				}
				return next(ctx, req, sink)
			})
		}},

		"a context that is ignored": {"A request with an ended context", "the sink was called", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if p.Silent {
					return next(ctx, req, sink)
				}
				return next(context.WithoutCancel(ctx), req, sink)
			})
		}},
		"no cause": {"Generate ends with its context while", "but Generate returned: stopped", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if ctx.Err() != nil {
					return nil, errors.New("stopped")
				}
				return msg, err
			})
		}},
		"a slow end": {"Generate ends with its context within", "took", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if ctx.Err() != nil {
					time.Sleep(time.Minute)
				}
				return msg, err
			})
		}},

		"an error of no type":      {"An error of the provider is", "is not an APIError", failed(func(e *model.APIError) error { return errors.New(e.Message) })},
		"an error of nobody":       {"An error of the provider is", `error names provider ""`, failed(func(e *model.APIError) error { e.Provider = ""; return e })},
		"another status":           {"An error of the provider is", "status is 0", failed(func(e *model.APIError) error { e.Status = 0; return e })},
		"no message":               {"An error of the provider is", "does not contain the provider's message", failed(func(e *model.APIError) error { e.Message = "no"; return e })},
		"no identity":              {"An error of the provider is", "errors.Is \"context length exceeded\" is false", failed(func(e *model.APIError) error { e.Code = ""; return e })},
		"always to be tried again": {"An error of the provider is", "Retryable is true", failed(func(e *model.APIError) error { e.Retryable = true; return e })},
		"several lines":            {"An error of the provider is", "several lines", failed(func(e *model.APIError) error { return fmt.Errorf("two\nlines: %w", e) })},
		"deltas of a refusal": {"An error of the provider is", "the sink was called", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if sink != nil {
					_ = sink(model.Delta{Usage: &model.Usage{}})
				}
				return next(ctx, req, sink)
			})
		}},
		"a stream begun again": {"An error within a stream", "the sink got", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if p.Error != nil && p.Answer != nil {
					return next(ctx, req, sink)
				}
				return msg, err
			})
		}},
		"nothing before the error": {"An error within a stream", "did not get what came before", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if p.Error != nil {
					sink = nil
				}
				return next(ctx, req, sink)
			})
		}},
		"forbidden requests": {"Forbidden requests", "while requests were forbidden", func(p *provider) model.Model {
			return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return p.Answer.Clone(), nil })
		}},

		"a changed request": {"A request is not modified", "request was modified", asked(func(req *model.Request) error {
			req.Messages[len(req.Messages)-1].Parts[0].Text += "!"
			return nil
		})},
		"appending to a request": {"A request is not modified", "after the end of a slice", asked(func(req *model.Request) error {
			_ = append(req.Tools, model.ToolDef{})
			return nil
		})},
		"refusing foreign parts": {"Every kind of history", "Generate failed: opaque?", asked(func(req *model.Request) error {
			for _, m := range req.Messages {
				for _, p := range m.Parts {
					if p.Kind == model.PartOpaque {
						return errors.New("opaque?")
					}
				}
			}
			return nil
		})},
		"taking what it cannot take": {"Unsupported requests", "error is <nil>", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if msg, err := next(ctx, req, sink); !errors.Is(err, model.ErrUnsupported) {
					return msg, err
				}
				return p.Answer.Clone(), nil
			})
		}},
		"taking any schema": {"Unsupported requests", "no native output", with(func() model.Info { return model.Info{Provider: "p", Name: "m"} })},

		"no name":        {"Info is complete", "both must be set", with(func() model.Info { return model.Info{} })},
		"a shouted name": {"Info is complete", "not in lower case", with(func() model.Info { return model.Info{Provider: "OpenAI", Name: "m"} })},
		"another name":   {"Info is complete", "and is now", with(func() model.Info { return model.Info{Provider: "p", Name: fmt.Sprint(counter.Add(1))} })},
		"a slow Info": {"Info is complete", "Info took", with(func() model.Info {
			time.Sleep(time.Minute)
			return model.Info{Provider: "p", Name: "m"}
		})},
		"no model": {"A response is what", "New returned nil", func(*provider) model.Model { return nil }},
	})
}

// findsAll checks that the suite reports exactly the rules that the models break, in the words of a
// file in testdata/golden.
func findsAll(t *testing.T, models map[string]broken) {
	said := openWording(t)
	for _, name := range slices.Sorted(maps.Keys(models)) {
		test := models[name]
		t.Run(name, func(t *testing.T) {
			var w wires
			found := conform(t, w.watch(modeltest.Harness{
				Provider: true, Citations: true,
				New: func(t testing.TB, s modeltest.Scenario) model.Model {
					if !strings.HasPrefix(s.Rule, test.rule) {
						t.Skip("another rule")
					}
					return test.model(w.new(t, s))
				},
			}))
			require.NotEmpty(t, found.problems)
			require.Contains(t, strings.Join(found.problems, "\n"), test.problem)
			for _, problem := range found.problems {
				require.True(t, strings.HasPrefix(problem, test.rule), problem)
			}
			require.Empty(t, found.inside)
			said.same(t, name, described(found.problems, 200))
		})
	}
}

// wording is a file with what a test has found, by the names of its subtests.
type wording struct {
	file string
	want map[string]string
	got  strings.Builder
}

// openWording reads the file of a test, or writes it in the end.
func openWording(t *testing.T) *wording {
	w := &wording{file: filepath.Join("testdata", "golden", t.Name()+".txt"), want: map[string]string{}}
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(w.file), 0o755))
		t.Cleanup(func() { require.NoError(t, os.WriteFile(w.file, []byte(w.got.String()), 0o644)) })
		return w
	}
	data, err := os.ReadFile(w.file)
	require.NoError(t, err)
	for section := range strings.SplitSeq(strings.TrimPrefix(string(data), "= "), "\n= ") {
		name, text, _ := strings.Cut(section, "\n")
		w.want[name] = strings.TrimSuffix(text, "\n")
	}
	return w
}

// same compares what a subtest has found with the file.
func (w *wording) same(t *testing.T, name, got string) {
	t.Helper()
	got = strings.TrimSpace(got)
	if *update {
		fmt.Fprintf(&w.got, "= %s\n%s\n", name, got)
		return
	}
	require.Equal(t, w.want[name], got)
}

// varying matches what differs from run to run. Behind a random id, the order differs too.
var varying = regexp.MustCompile(`(goroutine |allocates |as much, |"Model":"(?:played )?)[0-9.]+|call_[A-Z0-9]{26}.*`)

// described returns problems in a fixed order, each shortened to a line of some characters.
func described(problems []string, most int) string {
	var lines []string
	for _, p := range problems {
		p = varying.ReplaceAllString(strings.Join(strings.Fields(p), " "), "${1}N")
		if runes := []rune(p); len(runes) > most {
			p = string(runes[:most]) + "…"
		}
		lines = append(lines, p)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

func sameIDs(m *model.Message, id string) {
	for i := range m.Parts {
		if m.Parts[i].Kind == model.PartToolCall {
			m.Parts[i].CallID = id
		}
	}
}

func TestHarnessNeedsNew(t *testing.T) {
	require.Equal(t, []string{": modeltest: Harness.New is nil"}, conform(t, modeltest.Harness{}).problems)
}

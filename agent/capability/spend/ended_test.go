// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// answering is a model with a price.
func answering(fn func(ctx context.Context, sink model.Sink) (*model.Message, error)) model.Model {
	return model.Func(model.Info{Provider: "p", Name: "known"}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		return fn(ctx, sink)
	})
}

// A request whose answer was not read to its end may have cost anything: whoever ended it, and however the model says so.
func TestRequestsThatAreBrokenOffCountAsTheirReservation(t *testing.T) {
	stop := errors.New("stop")
	words := func(ctx context.Context, sink model.Sink, usage *model.Usage) error {
		if usage != nil {
			if err := sink(model.Delta{Usage: usage}); err != nil {
				return err
			}
		}
		for range 40 {
			if err := sink(model.Delta{Kind: model.PartText, Text: "secret secret "}); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	}
	never := guardrails.New(guardrails.Guard[user]{Name: "g", On: guardrails.Output, Stream: 10, Check: func(_ context.Context, _ *toolset.RunContext[user], s *guardrails.Subject) (guardrails.Verdict, error) {
		if strings.Contains(s.Text, "secret") {
			return guardrails.Block("a secret"), nil
		}
		return guardrails.Pass(), nil
	}})
	trip := guardrails.New(guardrails.Guard[user]{Name: "g", On: guardrails.Input, Parallel: true, Check: func(context.Context, *toolset.RunContext[user], *guardrails.Subject) (guardrails.Verdict, error) {
		time.Sleep(time.Second)
		return guardrails.Block("no"), nil
	}})
	hang := answering(func(ctx context.Context, _ model.Sink) (*model.Message, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	inner := agent.Must(agent.New(agent.Config[user, string]{Model: hang}))
	for name, c := range map[string]struct {
		config agent.Config[user, string]
		cancel bool
		leave  bool
		want   float64
	}{
		"a guard stops it": {config: agent.Config[user, string]{
			Capabilities: []agent.Capability[user]{never},
			Model:        answering(func(ctx context.Context, sink model.Sink) (*model.Message, error) { return nil, words(ctx, sink, nil) }),
		}},
		"a guard stops it and usage was reported": {config: agent.Config[user, string]{
			Capabilities: []agent.Capability[user]{never},
			Model: answering(func(ctx context.Context, sink model.Sink) (*model.Message, error) {
				return nil, words(ctx, sink, &model.Usage{InputTokens: 70})
			}),
		}, want: 70},
		"the input is blocked meanwhile": {config: agent.Config[user, string]{Capabilities: []agent.Capability[user]{trip}, Model: hang}},
		"the run ends with a cause":      {config: agent.Config[user, string]{Model: hang}, cancel: true},
		"nobody reads on": {config: agent.Config[user, string]{
			Model: answering(func(ctx context.Context, sink model.Sink) (*model.Message, error) { return nil, words(ctx, sink, nil) }),
		}, leave: true},
		"the connection breaks": {config: agent.Config[user, string]{
			Model: answering(func(ctx context.Context, sink model.Sink) (*model.Message, error) {
				return nil, errors.Join(words(ctx, sink, nil), &model.APIError{Status: 200, Message: "unexpected EOF"})
			}),
		}},
		"the model panics": {config: agent.Config[user, string]{
			Model: answering(func(context.Context, model.Sink) (*model.Message, error) { panic("ouch") }),
		}},
		"a fallback breaks off": {config: agent.Config[user, string]{
			Model: modelwrap.Fallback([]model.Model{answering(func(ctx context.Context, sink model.Sink) (*model.Message, error) {
				return nil, errors.Join(words(ctx, sink, nil), &model.APIError{Status: 200, Message: "unexpected EOF"})
			})}, modelwrap.FallbackPolicy{}),
		}},
		"an agent in a tool that times out": {config: agent.Config[user, string]{
			Model: costs("done", model.ToolCall("1", "inner", `{"prompt":"go"}`)), ToolTimeout: time.Second,
			Tools: []*toolset.Tool[user]{agent.AsTool("inner", "Inner.", inner, func(u user) user { return u })},
		}, want: 60 + 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := hourly(new(session.Memory), 10_000, 60)
				o.Prices, o.Windows[0].Cost, o.Windows[0].Tokens = table{}, 10_000, 0
				c.config.Capabilities = append([]agent.Capability[user]{spend.New(o)}, c.config.Capabilities...)
				c.config.Prices, c.config.Limits.Cost = table{}, 1200 // of which a twentieth is 60
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.cancel {
					go func() {
						time.Sleep(time.Second)
						cancel(stop)
					}()
				}
				s := agent.Must(agent.New(c.config)).Stream(ctx, user{"ada"}, "Hello.")
				for e := range s.Events() {
					if c.leave && e.Kind == agent.EventPartDelta {
						break
					}
				}
				res, err := s.Result()
				if c.want == 0 {
					c.want = 60
				}
				var failed *agent.RunError
				if errors.As(err, &failed) {
					require.InDelta(t, c.want, failed.Usage.Cost, 0, name)
				} else {
					require.InDelta(t, c.want, res.Usage.Cost, 0, name)
				}
				o.Windows[0].Reserve = 10_000 // which does not fit beside what is used
				_, err = spender(1, o).Run(t.Context(), user{"ada"}, "Hello.")
				var spent *spend.Error
				require.ErrorAs(t, err, &spent, name)
				require.InDelta(t, c.want, spent.Used, 0, name)
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

type none struct{}

// newChats is a server of chat clients. done is told what the agent does.
func newChats(store session.Store, done func(name, key string) error) (*webbridge.Handler, error) {
	act := func(_ context.Context, rc *toolset.RunContext[none], in in) (string, error) {
		return "marked", done(in.To, rc.IdempotencyKey())
	}
	approve := func(
		_ context.Context, _ *toolset.RunContext[none], in in,
	) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Mark " + in.To}, nil
	}
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model: marker(), Tools: []*toolset.Tool[none]{
			toolset.Func("mark", "Mark.", act, toolset.Idempotent(), toolset.Approve(approve)),
		},
	}))
	silent := slog.New(slog.DiscardHandler)
	return webbridge.New(webbridge.Config[none, string]{
		Host: host.Config[none, string]{Agent: a, Store: store, Logger: silent, Attempts: 1000},
		Options: webbridge.Options{
			User:   func(*http.Request) (string, error) { return "ada", nil },
			Limits: webbridge.Limits{Streams: -1, UserStreams: -1, UserTurns: -1, UserPrompts: -1},
			Logger: silent,
			Protocols: []webbridge.Protocol{
				webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}),
				webbridge.OpenAI(webbridge.OpenAIOptions{}),
			},
		},
	})
}

// whole is the end of a whole answer of [marker].
func whole(name string) string { return name + " 9." }

// marker marks what the prompt names, once, and then counts to nine.
func marker() model.Model {
	info := model.Info{Provider: "test", Name: "marker"}
	return model.Func(info, func(
		ctx context.Context, req *model.Request, sink model.Sink,
	) (*model.Message, error) {
		name, marked := "", false
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					name = p.Text
				case model.PartToolReturn:
					marked = true
				}
			}
		}
		if !marked {
			call := model.ToolCall("c", "mark", fmt.Sprintf(`{"to":%q}`, name))
			return model.Response(call), nil
		}
		all := ""
		for i := range 10 {
			text := fmt.Sprintf("%s %d. ", name, i)
			all += text
			if sink != nil {
				if err := sink(model.Delta{Kind: model.PartText, Text: text}); err != nil {
					return nil, err
				}
			}
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(5 * time.Millisecond):
			}
		}
		return model.Response(model.Text(all)), nil
	})
}

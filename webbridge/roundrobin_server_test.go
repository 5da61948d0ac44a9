// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// fleetEnv has the directory of a server of a fleet, which is a process of its own.
const fleetEnv = "PONTE_WEB_FLEET"

// fleetMain is a server of a fleet, until it is killed. It prints its address.
func fleetMain(dir string) int {
	err := fleetServe(dir)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func fleetServe(dir string) error {
	store, err := sqlitestore.Open(dir, sqlitestore.Options{})
	if err != nil {
		return err
	}
	h, err := fleetHandler(store, func(name, key string) error {
		f, err := os.OpenFile(dir+"/marks", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, err = fmt.Fprintf(f, "%s %s\n", name, key)
		return err
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = h.Serve(context.Background()) }()
	fmt.Println(l.Addr())
	return http.Serve(l, h)
}

// fleetHandler is what a server of a fleet serves. done is told what the agent does.
func fleetHandler(store session.Store, done func(name, key string) error) (*webbridge.Handler, error) {
	mark := toolset.Func("mark", "Mark.", func(_ context.Context, rc *toolset.RunContext[none], in payment) (string, error) {
		return "marked", done(in.To, rc.IdempotencyKey())
	}, toolset.Idempotent(), toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Mark " + in.To}, nil
	}))
	return webbridge.New(webbridge.Config[none, string]{
		Host: host.Config[none, string]{
			Agent: agent.Must(agent.New(agent.Config[none, string]{Model: marker(), Tools: []*toolset.Tool[none]{mark}})),
			Store: store, Logger: slog.New(slog.DiscardHandler), Attempts: 1000,
		},
		Options: webbridge.Options{
			User: func(*http.Request) (string, error) { return "ada", nil }, Limits: unlimited, Logger: slog.New(slog.DiscardHandler),
			Protocols: []webbridge.Protocol{
				webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}),
				webbridge.OpenAI(webbridge.OpenAIOptions{}),
			},
		},
	})
}

// marker marks what the prompt names, once, and then counts to nine.
func marker() model.Model {
	return model.Func(model.Info{Provider: "test", Name: "marker"}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
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
			return model.Response(model.ToolCall("c", "mark", fmt.Sprintf(`{"to":%q}`, name))), nil
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

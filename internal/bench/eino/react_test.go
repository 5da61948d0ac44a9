// SPDX-License-Identifier: Apache-2.0

package eino_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/ponte-go/ponte/internal/bench/work"
)

func BenchmarkReAct(b *testing.B) {
	work.Benchmark(b, work.Peer{
		New:      func() { newReAct(steps(1), addTool()) },
		Steps:    func(n int) work.Run { return runReAct(newReAct(steps(n), addTool())) },
		Parallel: func(n int, d time.Duration) work.Run { return runReAct(newReAct(parallel(n), slowTool(d))) },
		Stream: func(n int) func(context.Context) (int, string, error) {
			a := newReAct(deltas(n))
			return func(ctx context.Context) (int, string, error) {
				r, err := a.Stream(ctx, input())
				if err != nil {
					return 0, "", err
				}
				return join(r)
			}
		},
		Structured: func(answers ...string) func(context.Context) (int, error) {
			a := newReAct(structured(answers))
			parser := schema.NewMessageJSONParser[city](nil)
			return func(ctx context.Context) (int, error) {
				m, err := a.Generate(ctx, input())
				if err != nil {
					return 0, err
				}
				out, err := parser.Parse(ctx, m)
				return out.Population, err
			}
		},
		Waiting: func(wait func()) work.Run { return runReAct(newReAct(waits(wait), addTool())) },
	})
}

func newReAct(m model.ToolCallingChatModel, tools ...tool.BaseTool) *react.Agent {
	return work.Must(react.NewAgent(context.Background(), &react.AgentConfig{
		ToolCallingModel: m,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: tools},
		MaxStep:          1000,
	}))
}

func input() []*schema.Message {
	return []*schema.Message{schema.SystemMessage(work.Instructions), schema.UserMessage(work.Prompt)}
}

func runReAct(a *react.Agent) work.Run {
	return func(ctx context.Context) (string, error) {
		m, err := a.Generate(ctx, input())
		if err != nil {
			return "", err
		}
		return m.Content, nil
	}
}

// join reads a stream to its end.
func join(r *schema.StreamReader[*schema.Message]) (n int, text string, err error) {
	defer r.Close()
	var b strings.Builder
	for {
		m, err := r.Recv()
		if errors.Is(err, io.EOF) {
			return n, b.String(), nil
		}
		if err != nil {
			return n, "", err
		}
		n++
		b.WriteString(m.Content)
	}
}

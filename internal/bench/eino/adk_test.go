// SPDX-License-Identifier: Apache-2.0

package eino_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/ponte-go/ponte/internal/bench/work"
)

func BenchmarkADK(b *testing.B) {
	work.Benchmark(b, work.Peer{
		New:      func() { newADK(steps(1), false, addTool()) },
		Steps:    func(n int) work.Run { return runADK(newADK(steps(n), false, addTool())) },
		Parallel: func(n int, d time.Duration) work.Run { return runADK(newADK(parallel(n), false, slowTool(d))) },
		Stream: func(n int) func(context.Context) (int, string, error) {
			a := newADK(deltas(n), true)
			return func(ctx context.Context) (n int, text string, err error) {
				err = eachOutput(a.Query(ctx, work.Prompt), func(out *adk.MessageVariant) error {
					if !out.IsStreaming {
						return nil
					}
					n, text, err = join(out.MessageStream)
					return err
				})
				return n, text, err
			}
		},
		Structured: func(answers ...string) func(context.Context) (int, error) {
			run := runADK(newADK(structured(answers), false))
			parser := schema.NewMessageJSONParser[city](nil)
			return func(ctx context.Context) (int, error) {
				text, err := run(ctx)
				if err != nil {
					return 0, err
				}
				out, err := parser.Parse(ctx, &schema.Message{Content: text})
				return out.Population, err
			}
		},
		Waiting: func(wait func()) work.Run { return runADK(newADK(waits(wait), false, addTool())) },
	})
}

func newADK(m model.ToolCallingChatModel, streaming bool, tools ...tool.BaseTool) *adk.Runner {
	ctx := context.Background()
	a := work.Must(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "adder", Description: "Adds.", Instruction: work.Instructions, Model: m,
		ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
		MaxIterations: 1000,
	}))
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: streaming})
}

func runADK(a *adk.Runner) work.Run {
	return func(ctx context.Context) (text string, err error) {
		err = eachOutput(a.Query(ctx, work.Prompt), func(out *adk.MessageVariant) error {
			if out.Message != nil {
				text = out.Message.Content
			}
			return nil
		})
		return text, err
	}
}

func eachOutput(events *adk.AsyncIterator[*adk.AgentEvent], do func(*adk.MessageVariant) error) error {
	for {
		e, ok := events.Next()
		switch {
		case !ok:
			return nil
		case e.Err != nil:
			return e.Err
		case e.Output == nil || e.Output.MessageOutput == nil:
			continue
		}
		if err := do(e.Output.MessageOutput); err != nil {
			return err
		}
	}
}

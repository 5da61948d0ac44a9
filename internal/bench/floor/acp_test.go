// SPDX-License-Identifier: Apache-2.0

package floor

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/internal/bench/work"
)

func BenchmarkACP(b *testing.B) {
	work.BenchmarkACP(b, work.ACP{
		SendChunk: func(testing.TB) func(context.Context) error {
			agent := NewConn(io.Discard, nil)
			return func(context.Context) error {
				return agent.Notify("session/update", &Update{work.Session, Chunk{"agent_message_chunk", Text{"text", work.Chunk}}})
			}
		},
		ReadFile: func(tb testing.TB, content string) func(context.Context) (string, error) {
			agent, _ := connect(tb, nil, func(_ string, params json.RawMessage) (any, error) {
				var p ReadFile
				err := json.Unmarshal(params, &p)
				return File{content}, err
			})
			return func(context.Context) (string, error) {
				var file File
				err := agent.Call("fs/read_text_file", &ReadFile{work.Session, work.Path}, &file)
				return file.Content, err
			}
		},
		Prompt: func(tb testing.TB) func(context.Context) error {
			_, client := connect(tb, func(_ string, params json.RawMessage) (any, error) {
				var p Prompt
				err := json.Unmarshal(params, &p)
				return Stop{"end_turn"}, err
			}, nil)
			return func(context.Context) error {
				var stop Stop
				return client.Call("session/prompt", &Prompt{work.Session, []Text{{"text", work.Prompt}}}, &stop)
			}
		},
	})
}

// connect returns both ends of a connection over the operating system's pipes.
func connect(tb testing.TB, handleAgent, handleClient func(string, json.RawMessage) (any, error)) (agent, client *Conn) {
	toAgent, fromClient, err1 := os.Pipe()
	toClient, fromAgent, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		tb.Fatal(err1, err2)
	}
	agent, client = NewConn(fromAgent, handleAgent), NewConn(fromClient, handleClient)
	var serving sync.WaitGroup
	serving.Go(func() { _ = agent.Serve(toAgent) })
	serving.Go(func() { _ = client.Serve(toClient) })
	tb.Cleanup(func() {
		_ = fromClient.Close()
		_ = fromAgent.Close()
		serving.Wait()
	})
	return agent, client
}

// SPDX-License-Identifier: Apache-2.0

package acpproxy_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
)

// closing is a stream that notes that it was closed.
type closing struct {
	io.Reader
	io.Writer
	closed *[]string
	name   string
	also   func()
}

func (c closing) Close() error {
	*c.closed = append(*c.closed, c.name)
	if c.also != nil {
		c.also()
	}
	return nil
}

// ends are the ends of a proxy whose context a test ends.
func proxied(t *testing.T, config acpproxy.Config) (editor, agent *end, cancel context.CancelCauseFunc, result chan error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	editorReads, toEditor := acp.Pipe()
	fromEditor, editorWrites := acp.Pipe()
	agentReads, toAgent := acp.Pipe()
	fromAgent, agentWrites := acp.Pipe()
	result = make(chan error, 1)
	go func() { result <- acpproxy.Serve(ctx, fromEditor, toEditor, fromAgent, toAgent, config) }()
	t.Cleanup(func() {
		cancel(nil)
		for _, c := range []io.Closer{editorWrites, agentWrites, editorReads, agentReads} {
			_ = c.Close()
		}
	})
	return newEnd(t, editorReads, editorWrites), newEnd(t, agentReads, agentWrites), cancel, result
}

// A context that ends says why, whatever the proxy waits for.
func TestContextThatEndsSaysWhy(t *testing.T) {
	stopped := errors.New("stopped")
	for name, before := range map[string]func(editor, agent *end){
		"nothing has ended":                           func(_, _ *end) {},
		"the editor has ended, and the agent has not": func(editor, _ *end) { _ = editor.out.Close() },
		"the agent has ended, and the editor does not read what is left": func(editor, agent *end) {
			agent.write(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
			_ = agent.out.Close()
		},
		"the agent does not read any more": func(editor, agent *end) {
			_ = agent.r.Close()
			editor.write(`{}`)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			editor, agent, cancel, result := proxied(t, acpproxy.Config{Grace: time.Hour})
			before(editor, agent)
			synctest.Wait()
			require.Empty(t, result, name)
			cancel(stopped)
			require.Equal(t, stopped, <-result, name)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		editor, agent, cancel, result := proxied(t, acpproxy.Config{Grace: time.Hour})
		agent.write(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
		_ = editor.out.Close()
		synctest.Wait()
		_ = agent.out.Close()
		synctest.Wait()
		require.Empty(t, result, "the editor has time to read what is left")
		cancel(stopped)
		require.NoError(t, <-result, "both have ended")
	})
}

// What is waited for ends after the grace.
func TestEverythingEndsAfterTheGrace(t *testing.T) {
	for name, c := range map[string]struct {
		before func(editor, agent *end)
		want   string
		after  time.Duration
	}{
		"the editor reads nothing more": {func(editor, agent *end) {
			agent.write(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
			_ = agent.out.Close()
		}, acpproxy.ErrAgentEnded.Error(), 7 * time.Second},
		"the agent reads nothing more": {func(editor, agent *end) {
			_ = agent.r.Close()
			editor.write(`{}`, `{}`)
			synctest.Wait()
			editor.write(`{}`)
		}, "acpproxy: pass on a message of the editor: io: read/write on closed pipe", 7 * time.Second},
		"both have ended, and the editor reads nothing more": {func(editor, agent *end) {
			agent.write(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
			synctest.Wait()
			_ = editor.out.Close()
			synctest.Wait()
			time.Sleep(3 * time.Second)
			_ = agent.out.Close()
		}, "", 7 * time.Second},
		"the editor reads nothing more, and writes": {func(editor, agent *end) {
			_ = editor.r.Close()
			agent.write(`{}`)
		}, "acpproxy: write to the editor: io: read/write on closed pipe", 100 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			editor, agent, _, result := proxied(t, acpproxy.Config{Grace: 7 * time.Second})
			began := time.Now()
			c.before(editor, agent)
			err := <-result
			require.Equal(t, c.after, time.Since(began), name)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want, name)
			}
		})
	}
}

// All streams that can be closed are, when the proxy ends.
func TestStreamsAreClosed(t *testing.T) {
	var closed []string
	r, w := io.Pipe()
	from := func(name string, r io.Reader) closing { return closing{Reader: r, closed: &closed, name: name} }
	err := acpproxy.Serve(t.Context(), from("from the editor", strings.NewReader("")), closing{Writer: io.Discard, closed: &closed, name: "to the editor"},
		from("from the agent", r), closing{Writer: io.Discard, closed: &closed, name: "to the agent", also: func() { _ = w.Close() }}, acpproxy.Config{})
	require.NoError(t, err)
	for _, name := range []string{"from the editor", "to the editor", "from the agent", "to the agent"} {
		require.Contains(t, closed, name)
	}
}

// A line that is too long is answered: a request to who has sent it, and an answer to who waits for it. Then it is not answered again.
func TestLongLinesAreAnsweredOnce(t *testing.T) {
	for _, from := range []string{"editor", "agent"} {
		synctest.Test(t, func(t *testing.T) {
			config := acpproxy.Config{MaxLine: 100}
			problem := problems(&config)
			editor, agent, _, result := proxied(t, config)
			long, other := editor, agent
			if from == "agent" {
				long, other = agent, editor
			}
			pad := strings.Repeat("x", 100)
			failure := `,"error":{"code":-32600,"message":"the message is longer than 100 bytes"}}`
			long.write(`{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"` + pad + `"}}`)
			long.expect(`{"jsonrpc":"2.0","id":7` + failure)
			require.Equal(t, "acpproxy: from the "+from+": acp: a request is longer than 100 bytes", problem())
			other.write(`{"jsonrpc":"2.0","id":8,"method":"m"}`)
			long.expect(`{"jsonrpc":"2.0","id":8,"method":"m"}`)
			long.write(`{"jsonrpc":"2.0","id":8,"result":{"a":"` + pad + `"}}`)
			other.expect(`{"jsonrpc":"2.0","id":8` + failure)
			long.write(`{"jsonrpc":"2.0","method":"m","params":{"a":"` + pad + `"}}`)
			synctest.Wait()
			require.NotEmpty(t, problem())
			require.NotEmpty(t, problem())
			require.Empty(t, problem())
			_ = agent.out.Close()
			require.Empty(t, editor.read(), "nothing is open")
			require.Equal(t, acpproxy.ErrAgentEnded, <-result)
		})
	}
}

// An added server keeps all that the configuration says of it.
func TestAddedServersAreWhole(t *testing.T) {
	header := acp.HTTPHeader{Name: "A", Value: "1"}
	web := &acp.MCPServerHTTP{Name: "web", URL: "https://a.example", Headers: []acp.HTTPHeader{header}}
	config := acpproxy.Config{MCPServers: []acp.MCPServer{{HTTP: web}, {HTTP: web}, {Stdio: &acp.MCPServerStdio{Name: "one", Command: "/bin/one", Args: []string{"-x"}, Env: []acp.EnvVariable{{Name: "B", Value: "2"}}}}}}
	editor, agent, _ := serve(t, config)
	editor.write(request(2, "initialize", `{}`))
	agent.read()
	agent.write(result(2, `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`))
	editor.read()
	editor.write(request(1, "session/new", `{"cwd":"/","mcpServers":[{"name":"web", "odd":1}]}`))
	require.JSONEq(t, request(1, "session/new", `{"cwd":"/","mcpServers":[{"name":"web","odd":1},{"type":"http","name":"web-2","url":"https://a.example","headers":[{"name":"A","value":"1"}]},{"type":"http","name":"web-3","url":"https://a.example","headers":[{"name":"A","value":"1"}]},{"name":"one","command":"/bin/one","args":["-x"],"env":[{"name":"B","value":"2"}]}]}`), agent.read())
	require.Equal(t, "web", web.Name, "the configuration is as it was")
}

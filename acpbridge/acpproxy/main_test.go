// SPDX-License-Identifier: Apache-2.0

package acpproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/internal/leaktest"
)

// TestMain also makes the test binary the agents that Run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "agent" {
		agentMain(os.Args[2])
		return
	}
	leaktest.Main(m)
}

// end is one end of a proxy: what an editor or an agent holds.
type end struct {
	t   *testing.T
	in  *bufio.Reader
	out io.WriteCloser
	r   io.Closer
}

func (e *end) write(lines ...string) {
	e.t.Helper()
	_, err := io.WriteString(e.out, strings.Join(lines, "\n")+"\n")
	require.NoError(e.t, err)
}

// read returns the next line, or "" at the end.
func (e *end) read() string {
	line, err := e.in.ReadString('\n')
	if err != nil {
		require.ErrorIs(e.t, err, io.EOF)
	}
	return strings.TrimSuffix(line, "\n")
}

// expect reads lines and compares them.
func (e *end) expect(lines ...string) {
	e.t.Helper()
	for _, line := range lines {
		require.Equal(e.t, line, e.read())
	}
}

// serve starts a proxy with an editor and an agent at its ends. wait returns how it ended.
func serve(t *testing.T, config acpproxy.Config) (editor, agent *end, wait func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	editorReads, toEditor := acp.Pipe()
	fromEditor, editorWrites := acp.Pipe()
	agentReads, toAgent := acp.Pipe()
	fromAgent, agentWrites := acp.Pipe()
	ended := make(chan struct{})
	var result error
	go func() {
		defer close(ended)
		result = acpproxy.Serve(ctx, fromEditor, toEditor, fromAgent, toAgent, config)
	}()
	wait = func() error { <-ended; return result }
	t.Cleanup(func() {
		cancel()
		for _, c := range []io.Closer{editorWrites, agentWrites, editorReads, agentReads} {
			_ = c.Close()
		}
		<-ended
	})
	return newEnd(t, editorReads, editorWrites), newEnd(t, agentReads, agentWrites), wait
}

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

func result(id int, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result)
}

// problems collects what a proxy could not do.
func problems(config *acpproxy.Config) func() string {
	ch := make(chan string, 100)
	config.OnProblem = func(err error) { ch <- err.Error() }
	return func() string {
		select {
		case p := <-ch:
			return p
		default:
			return ""
		}
	}
}

func newEnd(t *testing.T, r io.ReadCloser, w io.WriteCloser) *end {
	return &end{t, bufio.NewReaderSize(r, 1<<16), w, r}
}

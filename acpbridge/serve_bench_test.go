// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"bufio"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
)

// chatty is a model that answers with n deltas.
func chatty(n *int) model.Model {
	return model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for range *n {
			if err := sink(model.Delta{Kind: model.PartText, Text: "token "}); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("tokens")), nil
	})
}

// turnOf serves a turn of n deltas to a client that only counts lines, and returns what runs it.
func turnOf(t testing.TB, n *int) (run func()) {
	e := connect(t, config(t, chatty(n)))
	_, initialize := e.request(acp.MethodInitialize, `{"protocolVersion":1}`)
	_, session := e.request(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
	e.write(initialize, session)
	lines := bufio.NewReaderSize(e.r, 64<<10)
	read := func() string {
		line, err := lines.ReadSlice('\n')
		require.NoError(t, err)
		return string(line)
	}
	read()
	id := acp.SessionID(randomID.FindString(read()))
	return func() {
		e.sendPrompt(id, "go")
		for range *n {
			_, err := lines.ReadSlice('\n')
			require.NoError(t, err)
		}
		assert.Contains(t, read(), "end_turn")
	}
}

// BenchmarkTextDelta is the way of a delta from the model to the client's end of a pipe.
func BenchmarkTextDelta(b *testing.B) {
	n := 10_000
	run := turnOf(b, &n)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delta")
}

// SPDX-License-Identifier: Apache-2.0

//go:build !race

package mcptoolset_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

var benchArgs = json.RawMessage(`{"city":"Oslo"}`)

// direct returns a call of the SDK's client, without us.
func direct(t testing.TB, f *fake) func() {
	transport, err := f.dial(t.Context())
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	_, err = session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	return func() {
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: benchArgs}); err != nil {
			t.Fatal(err)
		}
	}
}

// through returns the same call of our tool, in a run with a host.
func through(t testing.TB, f *fake) func() {
	s := serve(t, f, func(c *mcptoolset.Config) { c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	tool := list(t, s, mcptoolset.Options[none]{})[0]
	run := &toolset.RunContext[none]{Host: &toolsettest.Host{}}
	return func() {
		args, err := tool.Decode(benchArgs)
		if err == nil {
			_, err = tool.Call(t.Context(), run, args)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(testing.TB, *fake) func()
	}{{"SDK", direct}, {"Tool", through}} {
		b.Run(c.name, func(b *testing.B) {
			f := newFake(nil)
			f.tool("echo", echo)
			call := c.make(b, f)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// TestCallAllocations compares a call with one of the SDK's client. Both sides of the connection are in this process.
func TestCallAllocations(t *testing.T) {
	f, g := newFake(nil), newFake(nil)
	f.tool("echo", echo)
	g.tool("echo", echo)
	sdk, ours := testing.AllocsPerRun(200, direct(t, f)), testing.AllocsPerRun(200, through(t, g))
	t.Logf("SDK %.0f, tool %.0f", sdk, ours)
	require.LessOrEqual(t, ours, sdk+45)
}

// SPDX-License-Identifier: Apache-2.0

package ledgertest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/ledgertest"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestTreesAreTheSameForASeed has trees work one call at a time: what they ask for, and what it comes to, depends on the seed alone. The trees
// are different, and what can happen to a request happens.
func TestTreesAreTheSameForASeed(t *testing.T) {
	var b strings.Builder
	happened := map[string]int{}
	for seed := range uint64(120) {
		for _, window := range []int64{0, 4 * ledgertest.MaxTokens} {
			ctx, cancel := context.WithCancel(t.Context())
			o := ledgertest.Options{Window: window, Parallel: 1}
			if seed%4 == 0 {
				o.Cancel = cancel
			}
			tree := ledgertest.New(seed, o)
			stream := tree.Agent.Stream(ctx, struct{}{}, "go", agent.WithPolicies(tree.Policy()))
			for range stream.Events() {
			}
			res, err := stream.Result()
			cancel()
			output, calls := "", ""
			if err == nil {
				output = res.Output
				for _, m := range res.Messages {
					for _, p := range m.Parts {
						if p.Kind == model.PartToolCall {
							calls += " " + p.Tool
						} else if p.Kind == model.PartToolReturn {
							calls += "=" + p.Text
						}
					}
				}
			}
			l := tree.Ledger()
			var what []string
			for name, n := range l.Happened {
				what = append(what, fmt.Sprint(name, " ", n))
				happened[name] += n
			}
			slices.Sort(what)
			used, held, unknown, refused := tree.Book.Used()
			fmt.Fprintf(&b, "%d/%d: %d requests, %d+%d tokens, %d nano, %d unknown, %d at once, %q, book %d %d %d %d, output %q, error %v, calls%s\n",
				seed, window, l.Requests, l.Usage.InputTokens, l.Usage.OutputTokens, l.Nano, l.Unknown, l.Parallel, what, used, held, unknown, refused, output, err, calls)
			counted := l.Counted()
			require.Equal(t, ledgertest.Ledger{Requests: l.Requests, Usage: l.Usage, Nano: l.Nano, Unknown: l.Unknown}, counted)
		}
	}
	for _, name := range []string{"refused", "cut off", "timed out", "cancelled", "unusable", "answered by another", "unknown cost", "not sent", "sent twice"} {
		require.Positive(t, happened[name], name)
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o700))
		require.NoError(t, os.WriteFile("testdata/trees.txt", []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/trees.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

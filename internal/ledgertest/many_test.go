// SPDX-License-Identifier: Apache-2.0

package ledgertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/ledgertest"
)

// TestManyTreesAreTheSameForASeed is [TestTreesAreTheSameForASeed] for more trees, and for the agent inside them, with all that is told while
// they work. What is told of twenty of them is compared as a hash.
func TestManyTreesAreTheSameForASeed(t *testing.T) {
	var b strings.Builder
	h := fnv.New64a()
	for seed := uint64(1000); seed < 1800; seed++ {
		for _, inner := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			o := ledgertest.Options{Parallel: 1}
			if seed%8 == 0 {
				o.Cancel = cancel
			}
			if seed%4 == 1 {
				o.Window = 3*ledgertest.MaxTokens + int64(seed)
			}
			tree := ledgertest.New(seed, o)
			a := tree.Agent
			if inner {
				a = tree.Inner
			}
			stream := a.Stream(ctx, struct{}{}, "go")
			for e := range stream.Events() {
				fmt.Fprintln(h, e.Kind, e.Step, e.Part, e.PartKind, e.CallID, e.Tool, e.Text)
			}
			res, err := stream.Result()
			cancel()
			fmt.Fprintln(h, seed, inner, err)
			if err == nil {
				for _, m := range res.Messages {
					m := *m
					m.Time = res.Messages[0].Time
					data, err := json.Marshal(m.Parts)
					require.NoError(t, err)
					fmt.Fprintln(h, m.Kind, m.Model, m.Usage, m.Finish, string(data))
				}
			}
			used, held, unknown, refused := tree.Book.Used()
			fmt.Fprintln(h, tree.Ledger(), used, held, unknown, refused)
		}
		if seed%20 == 19 {
			fmt.Fprintf(&b, "%d %x\n", seed, h.Sum64())
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/many.txt", []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/many.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

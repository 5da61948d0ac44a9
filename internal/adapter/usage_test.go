// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Whatever a provider counts, the result keeps what model.Usage promises.
func TestCountKeepsTheInvariantsOfUsage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	huge := false
	count := func() int64 {
		switch n := r.IntN(4); {
		case n == 0:
			return 0
		case n == 1 && huge:
			return r.Int64() - r.Int64()
		case n == 1:
			return r.Int64N(1<<40) - 1<<39
		}
		return r.Int64N(8)
	}
	for i := range 20_000 {
		huge = i%2 == 1
		total, in := count(), model.Usage{
			InputTokens: count(), OutputTokens: count(), CacheReadTokens: count(), CacheWriteTokens: count(), ReasoningTokens: count(),
		}
		u := adapter.Count(total, in)
		for _, n := range []int64{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens} {
			require.GreaterOrEqual(t, n, int64(0), "%+v", in)
		}
		require.LessOrEqual(t, u.CacheReadTokens+u.CacheWriteTokens, u.InputTokens, "%+v", in)
		require.LessOrEqual(t, u.ReasoningTokens, u.OutputTokens, "%+v", in)
		if !huge {
			require.Equal(t, u, adapter.Count(u.TotalTokens(), u), "counts that are right stay as they are: %+v", in)
		}
	}
}

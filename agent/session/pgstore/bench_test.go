// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/internal/pgtest"
)

// BenchmarkStore measures a store whose server syncs.
func BenchmarkStore(b *testing.B) {
	if server == nil {
		b.Skip(pgtest.ErrMissing)
	}
	durable, err := pgtest.Start(true)
	require.NoError(b, err)
	defer func() { require.NoError(b, durable.Close()) }()
	n := 0
	sessiontest.Benchmark(b, func(b *testing.B) session.Store {
		n++
		return store(b, durable.URL(), pgstore.Options{Schema: string(rune('a' + n))})
	})
}

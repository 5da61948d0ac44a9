// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"testing"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
)

func BenchmarkStore(b *testing.B) {
	sessiontest.Benchmark(b, func(b *testing.B) session.Store { return store(b, b.TempDir()) })
}

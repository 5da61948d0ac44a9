// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
)

func TestMemoryConforms(t *testing.T) {
	enginetest.JournalConformance(t, func(*testing.T) journal.Journal { return new(journal.Memory) })
}

func TestDirConforms(t *testing.T) {
	enginetest.JournalConformance(t, func(t *testing.T) journal.Journal { return newDir(t, t.TempDir()) })
}

func TestFuncConforms(t *testing.T) {
	enginetest.JournalConformance(t, func(t *testing.T) journal.Journal { return journal.Func(new(journal.Memory).Open) })
}

func newDir(t testing.TB, path string) *journal.Dir {
	t.Helper()
	d, err := journal.NewDir(path)
	require.NoError(t, err)
	return d
}

func open(t testing.TB, j journal.Journal, run string) journal.Log {
	t.Helper()
	l, err := j.Open(context.Background(), run)
	require.NoError(t, err)
	return l
}

func write(t testing.TB, l journal.Log, records ...string) {
	t.Helper()
	for _, r := range records {
		require.NoError(t, l.Append(context.Background(), []byte(r)))
	}
}

func read(t testing.TB, l journal.Log) []string {
	t.Helper()
	loaded, err := l.Load(context.Background())
	require.NoError(t, err)
	var records []string
	for _, r := range loaded {
		records = append(records, string(r))
	}
	return records
}

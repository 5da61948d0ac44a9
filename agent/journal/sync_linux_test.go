// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/journal"
)

// On Linux /dev/null takes every write and refuses to be synced.
func TestUnsyncedRecordIsNotWritten(t *testing.T) {
	d := newDir(t, t.TempDir())
	l := open(t, d, "run")
	write(t, l, three...)
	mend := journal.BreakSync(l)
	failed := l.Append(context.Background(), []byte(`{"lost":true}`))
	require.Error(t, failed)
	mend()
	require.ErrorIs(t, l.Append(context.Background(), []byte(`{"late":true}`)), failed, "the log has ended")
	require.NoError(t, l.Close())
	require.Equal(t, three, read(t, open(t, d, "run")))
}

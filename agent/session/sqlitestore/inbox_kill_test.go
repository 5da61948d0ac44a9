// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/internal/inboxtest"
)

var items = flag.Int("items", 1000, "how many items are put into inboxes whose runners are killed with kill -9")

func openInbox(dir string) (inboxtest.Store, error) {
	return sqlitestore.Open(dir, sqlitestore.Options{})
}

// TestKilledRunnersConsumeEachItemOnce has 8 processes put items, and 3 that are killed at random consume them.
func TestKilledRunnersConsumeEachItemOnce(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlitestore.Open(dir, sqlitestore.Options{})
	require.NoError(t, err)
	inboxtest.Run(t, s, dir, *items, 8, 3)
	require.NoError(t, s.Close())
}

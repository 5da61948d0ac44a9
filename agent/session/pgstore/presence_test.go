// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// TestServerAsksWhetherTheStoreIsThere looks at what the server does about the connection that holds the leases.
func TestServerAsksWhetherTheStoreIsThere(t *testing.T) {
	database, schema := database(t)
	s := store(t, database, pgstore.Options{Schema: schema, Lost: 60 * time.Second})
	for name, want := range map[string]string{"tcp_keepalives_idle": "20", "tcp_keepalives_interval": "20", "tcp_keepalives_count": "2", "tcp_user_timeout": "60000", "idle_session_timeout": "0"} {
		got, err := pgstore.SettingOfPresence(t.Context(), s, name)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

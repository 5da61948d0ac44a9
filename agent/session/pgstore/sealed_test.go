// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/sealtest"
)

// found returns which secrets are in the tables of a schema.
func found(t *testing.T, url, schema string, secrets []string) (all []string) {
	t.Helper()
	db := admin(t, url)
	rows, err := db.Query(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = $1", schema)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, tables, "blobs")
	for _, table := range tables {
		rows, err := db.Query(t.Context(), "SELECT r::text FROM "+pgx.Identifier{schema, table}.Sanitize()+" r")
		require.NoError(t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		for _, text := range texts {
			all = append(all, sealtest.Find(secrets, []byte(text))...)
		}
	}
	return all
}

// TestNoSecretIsInTheTablesOfAnEncryptedStore looks at the tables while a turn runs, as a kill would leave them, and after the end.
func TestNoSecretIsInTheTablesOfAnEncryptedStore(t *testing.T) {
	for name, sealed := range map[string]bool{"encrypted": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			url, schema := database(t)
			inner := store(t, url, pgstore.Options{Schema: schema})
			s := session.Store(inner)
			if sealed {
				var err error
				s, err = session.Encrypted(inner, sealtest.Ring())
				require.NoError(t, err)
			}
			var secrets []string
			t.Run("conversations", func(t *testing.T) {
				secrets = sealtest.Converse(t, s)
				if sealed {
					require.Empty(t, found(t, url, schema, secrets))
				} else {
					require.Greater(t, len(found(t, url, schema, secrets)), 40, "the search finds what is there")
				}
			})
			if sealed {
				require.Empty(t, found(t, url, schema, secrets))
			}
		})
	}
}

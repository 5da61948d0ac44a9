// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// What a server says of its connections, of its encoding and of the version of the tables decides
// whether a store opens, and what the error says.
func TestStoresOpenOnTablesThatServeThem(t *testing.T) {
	const pooler = "the address leads to a pooler that shares connections between transactions, and each lease needs its own connection: use the server itself, or a pooler in session mode"
	version := func(version, serves int, own bool) func(*fakeConn, string) *reply {
		return func(_ *fakeConn, sql string) *reply {
			if strings.HasPrefix(sql, "SELECT version, serves") {
				return &reply{row: []any{version, serves, own}}
			}
			return nil
		}
	}
	looks := 0
	for name, c := range map[string]struct {
		answer func(c *fakeConn, sql string) *reply
		want   error
		says   string
	}{
		"its own version":                 {version(1, 1, true), nil, ""},
		"a newer one that serves it":      {version(2, 1, true), nil, ""},
		"a much newer one that serves it": {version(3, 1, true), nil, ""},
		"a newer one that does not serve it": {version(3, 2, true), session.ErrVersion, `session: open: ` + session.ErrVersion.Error() +
			`: the tables in schema "mine" have version 3, this program has version 1: use a newer program, or restore a backup from before`},
		"a schema that was renamed": {version(1, 1, false), session.ErrInvalid, `session: open: ` + session.ErrInvalid.Error() +
			`: the schema "mine" was renamed, and its functions use the tables of the old name: give it its old name back`},
		"another encoding": {func(_ *fakeConn, sql string) *reply {
			if strings.Contains(sql, "server_encoding") {
				return &reply{row: []any{"LATIN1", true}}
			}
			return noTables(sql)
		}, session.ErrInvalid, "session: open: " + session.ErrInvalid.Error() + ": the database has the encoding LATIN1, must have UTF8"},
		"statements are shared": {func(c *fakeConn, sql string) *reply {
			if sql == "begin" {
				return &reply{code: "08P01"}
			}
			return nil
		}, session.ErrInvalid, "session: open: " + session.ErrInvalid.Error() + ": " + pooler + ": ERROR: made up (SQLSTATE 08P01)"},
		"the connection changes": {func(c *fakeConn, sql string) *reply {
			if c.number != 1 || !strings.Contains(sql, "pg_backend_pid") {
				return nil
			}
			looks++
			return &reply{row: []any{100 + looks}}
		}, session.ErrInvalid, "session: open: " + session.ErrInvalid.Error() + ": " + pooler},
		"the other one is the one after": {func(c *fakeConn, sql string) *reply {
			if !strings.Contains(sql, "pg_backend_pid") {
				return nil
			}
			looks++
			return &reply{row: []any{[]int{7, 8, 8}[(looks-1)%3]}}
		}, session.ErrInvalid, "session: open: " + session.ErrInvalid.Error() + ": " + pooler},
	} {
		synctest.Test(t, func(t *testing.T) {
			looks = 0
			f := &fakeServer{answer: c.answer}
			pool := f.pool(t)
			s, err := New(t.Context(), pool, Options{Schema: "mine"})
			require.ErrorIs(t, err, c.want, name)
			if err == nil {
				require.Empty(t, f.statements("UPDATE"), "%s: the tables are as they were", name)
				require.Empty(t, f.statements("CREATE"), name)
				require.NoError(t, s.Close())
			} else {
				require.EqualError(t, err, c.says, name)
			}
			pool.Close()
			f.end()
		})
	}
}

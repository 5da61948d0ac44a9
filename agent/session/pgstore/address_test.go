// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// The driver's own errors name parts of what it could not read, and its ParseConfigError has all of it.
func TestErrorsHaveNoPassword(t *testing.T) {
	for _, part := range []string{"SECRET", "SE@CRET", "SE/CRET", "SE?CRET", "SE#CRET", "SE:CRET", "SE CRET", "SE%CRET", "SE%zzCRET", "SE\nCRET", "[SECRET", "SE,CRET", "SE&CRET", "SE'CRET", "SE`: CRET", `SE\CRET`, "SE=CRET"} {
		for _, form := range []string{
			"postgres://user:%s@127.0.0.1:1/db", "postgresql://:%s@127.0.0.1:1", "postgres://user:%s@127.0.0.1:port/db", "postgres://user:%s", "postgres://user:%s@",
			"postgres://127.0.0.1:1/db?password=%s", "postgres://127.0.0.1:1/db?sslmode=what&password=%s", "postgres://127.0.0.1:1/db?pool_max_conns=x&sslpassword=%s",
			"postgres://127.0.0.1:1/db?user=a&pass%%77ord=%s", "postgres:user:%s@host/db", "postgres:/user:%s@host/db", "host=127.0.0.1 port=1 user=a password=%s",
			"host=127.0.0.1 port=x password='%s'", "host=127.0.0.1 port=1 password='%s", "password = %s host=127.0.0.1 port=x", "POSTGRES://user:%s@127.0.0.1:1/db", "%s",
		} {
			if form == "postgres://user:%s" && part == "SE@CRET" {
				continue // CRET is the host
			}
			address := fmt.Sprintf(form, part)
			store, err := pgstore.Open(t.Context(), address, pgstore.Options{})
			if err == nil {
				t.Fatal(errors.Join(errors.New("there is a server"), store.Close()))
			}
			text := fmt.Sprintf("%v %+v", err, err)
			require.NotContains(t, text, "CRET", address)
			require.NotContains(t, text, "SE", address)
			var parse *pgconn.ParseConfigError
			require.False(t, errors.As(err, &parse), "it has the whole address")
		}
	}
}

func TestMistakesInAddressesAreNamed(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://user:p@ss@host/db":          "write %40 for @",
		"postgres://user:pa/ss@host/db":         "%2F for /",
		"postgres://user:1?2@host/db":           "%3F for ?",
		"postgres://user:a b@host/db":           "write %20 for a space",
		"postgres://host:no/db":                 "invalid port",
		"postgres://host/db?sslmode=what":       "failed to configure TLS",
		"postgres://host/db?pool_max_conns=all": "pool_max_conns",
		"postgres://user:a%zz@host":             "want postgres://user:password@host:port/database",
		"what":                                  "want postgres://user:password@host:port/database",
	} {
		_, err := pgstore.Open(t.Context(), address, pgstore.Options{})
		require.ErrorIs(t, err, session.ErrInvalid, address)
		require.ErrorContains(t, err, want, address)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, silent.Close())
	_, err = pgstore.Open(t.Context(), "postgres://user:a%40b@"+silent.Addr().String()+"/db", pgstore.Options{})
	require.ErrorIs(t, err, session.ErrUnavailable)
}

// A server that accepts connections and says nothing counts as one that cannot be reached.
func TestSilentServerIsUnavailable(t *testing.T) {
	for address, want := range map[string]time.Duration{
		"postgres://host/db": 10 * time.Second, "host=host connect_timeout=0": 10 * time.Second, "postgres://host/db?connect_timeout=3": 3 * time.Second,
	} {
		bound, err := pgstore.ConnectTimeout(address)
		require.NoError(t, err)
		require.Equal(t, want, bound, address)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody calls Accept
	require.NoError(t, err)
	defer silent.Close()
	_, err = pgstore.Open(t.Context(), "postgres://user@"+silent.Addr().String()+"/db?connect_timeout=1", pgstore.Options{})
	require.ErrorIs(t, err, session.ErrUnavailable)
	pool, err := pgxpool.New(t.Context(), "postgres://user@"+silent.Addr().String()+"/db?connect_timeout=1")
	require.NoError(t, err)
	defer pool.Close()
	_, err = pgstore.New(t.Context(), pool, pgstore.Options{})
	require.ErrorIs(t, err, session.ErrUnavailable)
}

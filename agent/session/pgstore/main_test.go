// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/internal/fleettest"
	"github.com/ponte-go/ponte/internal/inboxtest"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/internal/pgtest"
)

// server is the server of the tests that do not end one. It is nil if there is no Postgres.
var server *pgtest.Server

func TestMain(m *testing.M) {
	if fleettest.Child(openFleet) || inboxtest.Child(openInbox) {
		return
	}
	if spec := os.Getenv(childEnv); spec != "" {
		child(spec)
		return
	}
	if spec := os.Getenv(turnsEnv); spec != "" {
		turnsChild(spec)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	server, err = pgtest.Start(false)
	switch {
	case errors.Is(err, pgtest.ErrMissing) && !pgtest.Required():
		fmt.Fprintln(os.Stderr, "tests are skipped:", err)
		return leaktest.Run(m)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := leaktest.Run(m)
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// database returns the address of a server, and a schema of its own.
func database(t testing.TB) (url, schema string) {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrMissing)
	}
	return server.URL(), "test " + rand.Text()
}

// store opens a store until the test is over.
func store(t testing.TB, url string, o pgstore.Options) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), url, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); !errors.Is(err, session.ErrClosed) {
			require.NoError(t, err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
		url, schema := database(t)
		var opened []*pgstore.Store
		return &sessiontest.Target{
			Open: func() (session.Store, error) {
				s, err := pgstore.Open(t.Context(), url, pgstore.Options{Schema: schema})
				if err == nil {
					opened = append(opened, s)
				}
				return s, err
			},
			Close: func() {
				for _, s := range opened {
					require.NoError(t, s.Close())
				}
			},
		}
	})
}

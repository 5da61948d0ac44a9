// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/internal/fleettest"
	"github.com/ponte-go/ponte/internal/inboxtest"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) {
	if fleettest.Child(openFleet) || inboxtest.Child(openInbox) {
		return
	}
	if spec := os.Getenv(childEnv); spec != "" {
		child(spec)
		return
	}
	leaktest.Main(m)
}

func TestConformance(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
		dir := t.TempDir()
		var opened []*sqlitestore.Store
		return &sessiontest.Target{
			Open: func() (session.Store, error) {
				s, err := sqlitestore.Open(dir, sqlitestore.Options{Poll: 1e6})
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

// store opens a store until the test is over.
func store(t testing.TB, dir string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(dir, sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); !errors.Is(err, session.ErrClosed) {
			require.NoError(t, err)
		}
	})
	return s
}

func TestEndedWatchesLeaveNothing(t *testing.T) {
	s := store(t, t.TempDir())
	for n := range 10 {
		id := fmt.Sprint(n)
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range s.Watch(ctx, id, 0) {
			require.ErrorIs(t, err, context.Canceled)
		}
		w, err := session.Open(t.Context(), s, id, session.Claim{})
		require.NoError(t, err)
		_, err = w.Append(t.Context(), value("x"))
		require.NoError(t, err)
		for _, err := range s.Watch(t.Context(), id, 0) {
			require.NoError(t, err)
			break
		}
		require.NoError(t, w.Close(t.Context()))
	}
	require.Zero(t, sqlitestore.Waiting(s))
}

// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

func TestBlobs(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	_, err := s.Blobs().Get(t.Context(), "a")
	require.ErrorIs(t, err, session.ErrNoBlob)
	for range 2 {
		require.NoError(t, s.Blobs().Put(t.Context(), "a", []byte("\x00hello\xff")))
	}
	require.NoError(t, s.Blobs().Put(t.Context(), "empty", nil))
	other := store(t, url, pgstore.Options{Schema: schema})
	data, err := other.Blobs().Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "\x00hello\xff", string(data))
	data, err = other.Blobs().Get(t.Context(), "empty")
	require.NoError(t, err)
	require.Empty(t, data)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Blobs().Put(ended, "a", nil), context.Canceled)

	for _, now := range []time.Time{time.Now(), time.Now().Add(1000 * time.Hour)} {
		removed, err := s.Blobs().RemoveBefore(t.Context(), now)
		require.NoError(t, err)
		require.Zero(t, removed, "they were put just now, whatever the time of the caller is")
	}
	age(t, url, schema, 13*time.Hour)
	require.NoError(t, s.Blobs().Put(t.Context(), "empty", nil))
	removed, err := s.Blobs().RemoveBefore(t.Context(), time.Now().Add(-2*time.Hour))
	require.NoError(t, err)
	require.Zero(t, removed, "the older one may have been put again until an hour ago")
	removed, err = s.Blobs().RemoveBefore(t.Context(), time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1, removed, "the other one was put again")
	_, err = other.Blobs().Get(t.Context(), "a")
	require.ErrorIs(t, err, session.ErrNoBlob)
	require.NoError(t, other.Close())
	require.ErrorIs(t, other.Blobs().Put(t.Context(), "a", nil), session.ErrClosed)
}

// age makes all blobs older.
func age(t *testing.T, url, schema string, by time.Duration) {
	t.Helper()
	_, err := admin(t, url).Exec(t.Context(), "UPDATE "+pgx.Identifier{schema}.Sanitize()+".blobs SET put = put - $1", by.Nanoseconds())
	require.NoError(t, err)
}

// TestBlobsThatArePutStay removes old blobs all the time, while the same ones are put again: what was put is there.
func TestBlobsThatArePutStay(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	blobs := s.Blobs()
	removing := make(chan error)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				removing <- nil
				return
			default:
			}
			if _, err := blobs.RemoveBefore(t.Context(), time.Now()); err != nil {
				removing <- err
				return
			}
		}
	}()
	conn := admin(t, url)
	for range 50 {
		require.NoError(t, blobs.Put(t.Context(), "a", []byte("data")))
		data, err := blobs.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, "data", string(data))
		// Now it is old, and the next one who puts it meets whoever removes it.
		_, err = conn.Exec(t.Context(), "UPDATE "+pgx.Identifier{schema}.Sanitize()+".blobs SET put = 1")
		require.NoError(t, err)
	}
	close(stop)
	require.NoError(t, <-removing)
}

// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"testing"
	"time"

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

	removed, err := s.Blobs().RemoveBefore(t.Context(), time.Now())
	require.NoError(t, err)
	require.Zero(t, removed, "they may have been put again in the meantime")
	removed, err = s.Blobs().RemoveBefore(t.Context(), time.Now().Add(24*time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 2, removed)
	_, err = other.Blobs().Get(t.Context(), "a")
	require.ErrorIs(t, err, session.ErrNoBlob)
	require.NoError(t, other.Close())
	require.ErrorIs(t, other.Blobs().Put(t.Context(), "a", nil), session.ErrClosed)
}

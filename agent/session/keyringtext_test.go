// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

func TestKeyringsAreText(t *testing.T) {
	first, err := session.Keyring{}.Rotated("a")
	require.NoError(t, err)
	second, err := first.Rotated("b")
	require.NoError(t, err)
	require.Equal(t, first.Index, second.Index)
	require.Equal(t, first.Keys[0], second.Keys[1])
	require.Len(t, first.Keys, 1, "it is another one")
	_, err = second.Rotated("a")
	require.ErrorIs(t, err, session.ErrInvalid)
	read, err := session.ParseKeyring(second.Reveal() + "\n")
	require.NoError(t, err)
	require.Equal(t, second, read)
	for _, text := range []string{
		"", "secret", "{}", `{"keys":[{"id":"a","secret":"c2VjcmV0"}]}`, second.Reveal() + "{}",
	} {
		_, err := session.ParseKeyring(text)
		require.ErrorIs(t, err, session.ErrInvalid)
		require.NotContains(t, err.Error(), "c2VjcmV0")
	}

	data, err := first.Seal([]byte("data"), "one")
	require.NoError(t, err)
	opened, err := second.Open(data, "one")
	require.NoError(t, err)
	require.Equal(t, "data", string(opened))
	_, err = second.Open(data, "two")
	require.ErrorIs(t, err, session.ErrCorrupt)
	_, err = ring("c").Open(data, "one")
	require.ErrorIs(t, err, session.ErrKey)
	require.Equal(t, first.Hide("a", "b"), second.Hide("a", "b"))
	require.NotEqual(t, first.Hide("a", "b"), first.Hide("a", "c"))
	require.Len(t, first.Hide("a", "b"), 64)
}

// blobs are blobs in memory.
type blobs map[string]string

func (b blobs) Put(_ context.Context, key string, data []byte) error {
	b[key] = string(data)
	return nil
}

func (b blobs) Get(_ context.Context, key string) ([]byte, error) {
	data, ok := b[key]
	if !ok {
		return nil, session.ErrNoBlob
	}
	return []byte(data), nil
}

func TestBlobsAreEncrypted(t *testing.T) {
	inner := blobs{}
	b, err := session.EncryptedBlobs(inner, ring("k"))
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), "the key", []byte("the secret")))
	data, err := b.Get(t.Context(), "the key")
	require.NoError(t, err)
	require.Equal(t, "the secret", string(data))
	_, err = b.Get(t.Context(), "another")
	require.ErrorIs(t, err, session.ErrNoBlob)
	for key, data := range inner {
		require.NotContains(t, key+data, "the ")
		inner[ring("k").Hide("another", "blob")] = data
	}
	_, err = b.Get(t.Context(), "another")
	require.ErrorIs(t, err, session.ErrCorrupt, "one that was moved")
	_, err = session.EncryptedBlobs(inner, session.Keyring{})
	require.ErrorIs(t, err, session.ErrInvalid)
}

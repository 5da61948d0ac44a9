// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
)

// Blobs keeps data by the hash of the data, beside the sessions of a store or elsewhere.
// Implementations are safe for concurrent use.
type Blobs interface {
	// Put keeps data under a key, which is the hash of the data: what is there already is the same.
	// When it returns, other processes can get the data.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns the data of a key. If there is none, the error wraps [ErrNoBlob].
	Get(ctx context.Context, key string) ([]byte, error)
}

// EncryptedBlobs returns blobs that encrypt what is put into b, and decrypt what is read. An HMAC
// takes the place of each key, because a hash tells whether data is what somebody guesses. It
// panics if b is nil, and fails if the keyring is not valid.
func EncryptedBlobs(b Blobs, keys Keyring) (Blobs, error) {
	if b == nil {
		panic("session: EncryptedBlobs: the blobs are nil")
	}
	if err := keys.check(); err != nil {
		return nil, fail("encrypt", "", err)
	}
	return encryptedBlobs{b, keys}, nil
}

type encryptedBlobs struct {
	blobs Blobs
	keys  Keyring
}

// Put implements [Blobs].
func (e encryptedBlobs) Put(ctx context.Context, key string, data []byte) error {
	data, err := e.keys.Seal(data, "blob "+key)
	if err != nil {
		return err
	}
	return e.blobs.Put(ctx, e.keys.Hide(key, "blob"), data)
}

// Get implements [Blobs].
func (e encryptedBlobs) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := e.blobs.Get(ctx, e.keys.Hide(key, "blob"))
	if err != nil {
		return nil, err
	}
	return e.keys.Open(data, "blob "+key)
}

// ErrNoBlob means that the key has no blob.
var ErrNoBlob = errors.New("no such blob")

// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
)

// Blobs keeps data by the hash of the data, beside the sessions of a store or elsewhere. Implementations are safe for concurrent use.
type Blobs interface {
	// Put keeps data under a key, which is the hash of the data: what is there already is the same. When it returns, other processes can
	// get the data.
	Put(ctx context.Context, key string, data []byte) error
	// Get returns the data of a key. If there is none, the error wraps [ErrNoBlob].
	Get(ctx context.Context, key string) ([]byte, error)
}

// ErrNoBlob means that the key has no blob.
var ErrNoBlob = errors.New("no such blob")

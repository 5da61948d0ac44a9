// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"bytes"
	"compress/flate"
	"context"
	"io"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
)

// squeezed are blobs in memory that are compressed: a long run has its history in many of them.
type squeezed struct{ temporalengine.MemoryBlobs }

func (s *squeezed) Put(ctx context.Context, key string, data []byte) error {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return s.MemoryBlobs.Put(ctx, key, b.Bytes())
}

func (s *squeezed) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := s.MemoryBlobs.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(flate.NewReader(bytes.NewReader(data)))
}

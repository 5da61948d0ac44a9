// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

func TestBytesWithoutAnEventAreBoundedExactly(t *testing.T) {
	const maxEvent = 10
	bound := maxEvent + 1<<20
	_, w := adapter.Watch(t.Context(), model.Timeouts{})
	defer w.Finish(false)
	body := w.Guard(io.NopCloser(strings.NewReader(strings.Repeat("x", 4*bound))))
	_, err := io.CopyN(io.Discard, body, 100) // what comes before the stream does not count
	require.NoError(t, err)
	w.Stream(maxEvent)
	for range 2 {
		_, err := io.ReadFull(body, make([]byte, bound))
		require.NoError(t, err)
		w.Event()
	}
	_, err = io.ReadFull(body, make([]byte, bound))
	require.NoError(t, err)
	_, err = body.Read(make([]byte, 1))
	var flood *adapter.FloodError
	require.ErrorAs(t, err, &flood)
	require.EqualValues(t, bound, flood.Bytes)
}

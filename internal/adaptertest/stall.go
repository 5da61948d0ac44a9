// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// CheckKeepAlives checks that what an endpoint sends to keep a connection alive does so for as long as slow providers need,
// and not for ever. newModel returns a model that makes one attempt; begin and end are two halves of a streamed answer, after
// which the connection may stay open.
func CheckKeepAlives(t *testing.T, newModel func(f Transport) model.Model, keepAlive, begin, end string) {
	sink := func(model.Delta) error { return nil }
	alive := func(n int) []string { return slices.Repeat([]string{keepAlive}, n) }
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			pieces := slices.Concat(alive(29*6), []string{begin}, alive(29*6), []string{end})
			_, err := newModel(Drip(10*time.Second, pieces...)).Generate(t.Context(), Hello(), sink)
			require.NoError(t, err, "29 minutes of keep-alives, twice")
		})
	})
	for name, before := range map[string][]string{"never begins": nil, "never ends": {begin}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := newModel(Drip(10*time.Second, append(before, alive(400)...)...)).Generate(t.Context(), Hello(), sink)
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				require.ErrorContains(t, err, "only keep-alives for 30m0s")
				require.True(t, errors.As(err, new(*model.APIError)))
				require.Equal(t, 30*time.Minute+10*time.Second, time.Since(start))
			})
		})
	}
	t.Run("complete", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := newModel(Drip(time.Second, append([]string{begin, end}, alive(400)...)...)).Generate(t.Context(), Hello(), sink)
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(start), 10*time.Second)
		})
	})
}

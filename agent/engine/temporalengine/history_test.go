// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// counted counts how often blobs are read.
type counted struct {
	MemoryBlobs
	reads atomic.Int64
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, error) {
	c.reads.Add(1)
	return c.MemoryBlobs.Get(ctx, key)
}

// talk is a run as its workflow sees it.
type talk struct {
	chain    chain
	messages []*model.Message
}

// step adds a response and the next request, of a number of bytes, and has a worker load the
// history.
func (r *talk) step(t *testing.T, on *histories, bytes int) {
	t.Helper()
	text := fmt.Sprint(len(r.messages), strings.Repeat("x", bytes))
	for range 2 {
		r.messages = append(r.messages, &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.User(text)}})
	}
	ref, tip, err := r.chain.next(r.messages)
	require.NoError(t, err)
	got, err := on.messages(t.Context(), ref)
	require.NoError(t, err)
	require.Len(t, got, len(r.messages))
	require.Equal(t, text, got[len(got)-1].Parts[0].Text)
	r.chain.keep(tip)
}

func TestInterleavedRunsAreReadFromMemory(t *testing.T) {
	blobs := new(counted)
	first, second := &histories{blobs: blobs}, &histories{blobs: blobs}
	runs := make([]talk, 400)
	for range 4 {
		for i := range runs {
			runs[i].step(t, first, i)
		}
	}
	require.Zero(t, blobs.reads.Load(), "one worker knows what it has kept")
	for i := range runs {
		runs[i].step(t, second, i)
	}
	require.LessOrEqual(t, blobs.reads.Load(), int64(4*len(runs)))
}

func TestHistoryIsReadFromFewBlobs(t *testing.T) {
	blobs := new(counted)
	worker := &histories{blobs: blobs}
	var run talk
	for n := range 200 {
		run.step(t, worker, 100)
		before := blobs.reads.Load()
		got, err := (&histories{blobs: blobs}).load(t.Context(), run.chain.kept.key)
		require.NoError(t, err)
		require.Equal(t, len(run.messages), len(got), n)
		for i, m := range got {
			require.Equal(t, run.messages[i].Parts, m.Parts)
		}
		require.LessOrEqual(t, blobs.reads.Load()-before, int64(maxLinks+1))
	}
}

func TestHistoriesInMemoryAreBoundedInBytes(t *testing.T) {
	defer func(was int) { maxRemembered = was }(maxRemembered)
	maxRemembered = 100_000
	blobs := new(counted)
	worker := &histories{blobs: blobs}
	runs := make([]talk, 50)
	for range 5 {
		for i := range runs {
			runs[i].step(t, worker, 1000+i)
			require.LessOrEqual(t, worker.bytes, maxRemembered)
			require.Equal(t, worker.used.Len(), len(worker.known))
		}
	}
	require.Positive(t, blobs.reads.Load(), "what has been forgotten is read again")
	var large talk
	large.step(t, worker, maxRemembered)
	before := blobs.reads.Load()
	for range 3 {
		large.step(t, worker, 10)
		require.Equal(t, 1, worker.used.Len(), "the last one stays, and no other")
	}
	require.Equal(t, before, blobs.reads.Load(), "it is not read again for each step")
	runs[0].step(t, worker, 10)
	require.LessOrEqual(t, worker.bytes, maxRemembered)
	sum := 0
	for e := worker.used.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*remembered).bytes
	}
	require.Equal(t, sum, worker.bytes)
}

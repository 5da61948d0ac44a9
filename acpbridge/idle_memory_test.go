// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// elsewhere is a store whose entries take no memory here, as with those on a disk. They are not read again.
type elsewhere struct {
	*session.Memory
	mu    sync.Mutex
	heads map[string]int64
}

func (s *elsewhere) Append(_ context.Context, l session.Lease, _ int64, b session.Batch) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads[l.Session] += int64(len(b.Entries))
	return s.heads[l.Session], nil
}

func (s *elsewhere) Load(context.Context, string, int64) iter.Seq2[session.Entry, error] {
	return func(func(session.Entry, error) bool) {}
}

// TestIdleSessionsTakeLittleMemory bounds what a session of 10 prompts takes while it sleeps, with what the bridge keeps of it. An editor may have
// many of them open.
func TestIdleSessionsTakeLittleMemory(t *testing.T) {
	n := 1
	c := config(t, chatty(&n))
	c.Host.Store = &elsewhere{Memory: new(session.Memory), heads: map[string]int64{}}
	c.Host.Idle, c.Host.Modes, c.Host.Commands = time.Millisecond, host.Modes(), host.BuiltIns(nil)
	var awake atomic.Int32
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) { awake.Add(1); return d, nil }
	c.Host.Release = func(_ context.Context, _ *host.Session, _ bare) error { awake.Add(-1); return nil }
	e := serve(t, c)
	e.initialize(`{}`)
	heap := func() uint64 {
		for awake.Load() > 0 {
			require.NoError(t, t.Context().Err())
			time.Sleep(time.Millisecond)
		}
		for range 3 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	open := func(sessions int) {
		for range sessions {
			id := e.newSession()
			for i := range 10 {
				e.prompt(id, fmt.Sprint("prompt ", i))
			}
			e.mu.Lock()
			e.lines = nil
			clear(e.answers)
			e.mu.Unlock()
		}
	}
	open(20)
	before := heap()
	const sessions = 150
	open(sessions)
	each := (int64(heap()) - int64(before)) / sessions
	t.Logf("%d bytes a session", each)
	require.Less(t, each, int64(8<<10))
}

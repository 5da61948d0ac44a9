// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// MemoryLimits bound what a [Memory] keeps. Fields that are 0 have the default that is named.
type MemoryLimits struct {
	// Entries is how many responses are kept at most: 1,000 by default.
	Entries int
	// Bytes is how much they may take, roughly: 64 MiB by default. A response that is larger by itself is not kept.
	Bytes int64
}

// Memory is a [Store] in memory that forgets what has not been used for longest. It is safe for concurrent use.
type Memory struct{ responses lru[Key, *model.Message] }

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store. It panics if a limit is negative.
func NewMemory(limits MemoryLimits) *Memory {
	if limits.Entries < 0 || limits.Bytes < 0 {
		panic(fmt.Sprintf("modelwrap: NewMemory: %d entries and %d bytes are no limits", limits.Entries, limits.Bytes))
	}
	if limits.Entries == 0 {
		limits.Entries = 1000
	}
	if limits.Bytes == 0 {
		limits.Bytes = 64 << 20
	}
	return &Memory{lru[Key, *model.Message]{maxEntries: limits.Entries, maxBytes: limits.Bytes}}
}

// Get implements [Store].
func (s *Memory) Get(_ context.Context, key Key) (*model.Message, bool) { return s.responses.get(key) }

// Put implements [Store].
func (s *Memory) Put(_ context.Context, key Key, response *model.Message) {
	s.responses.put(key, response, sizeOf(response))
}

// Len returns how many responses are kept.
func (s *Memory) Len() int { return s.responses.len() }

// What a response takes beside its contents, and each of its parts, roughly.
const (
	messageBytes = 600
	partBytes    = 300
)

func sizeOf(m *model.Message) int64 {
	n := messageBytes + len(m.ResponseID)
	for i := range m.Parts {
		p := &m.Parts[i]
		n += partBytes + len(p.Text) + len(p.CallID) + len(p.Args) + len(p.Data) + len(p.Signature) + len(p.ID) + len(p.Meta)
	}
	return int64(n)
}

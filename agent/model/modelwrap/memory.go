// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// MemoryLimits limits the size of a [Memory]. Fields that are 0 have the defaults given below.
type MemoryLimits struct {
	// Entries is the maximum number of responses. The default is 1,000.
	Entries int
	// Bytes is the approximate maximum size in memory. The default is 64 MiB. A single response
	// larger than this is not stored.
	Bytes int64
}

// Memory is a [Store] in memory that drops the least recently used responses. It is safe for
// concurrent use.
type Memory struct{ responses lru[Key, *model.Message] }

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store. It panics if a limit is negative.
func NewMemory(limits MemoryLimits) *Memory {
	if limits.Entries < 0 || limits.Bytes < 0 {
		panic(fmt.Sprintf("modelwrap: NewMemory: negative limit: %d entries, %d bytes", limits.Entries, limits.Bytes))
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

// Len returns the number of stored responses.
func (s *Memory) Len() int { return s.responses.len() }

// Approximate size of a response, and of each of its parts, without their contents.
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

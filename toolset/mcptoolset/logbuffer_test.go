// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"bytes"
	"sync"
)

// logBuffer holds what a logger has written. A server may log while a test reads.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// Memory is a journal in memory: for tests, and for runs that should resume after a failure, but
// not after the end of the process. The zero value is ready.
type Memory struct {
	mu   sync.Mutex
	runs map[string]*memoryRun
}

var _ Journal = (*Memory)(nil)

type memoryRun struct {
	records [][]byte
	holder  *memoryLog
}

// Open implements [Journal].
func (m *Memory) Open(_ context.Context, runID string) (Log, error) {
	if runID == "" {
		return nil, errNoID
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs = map[string]*memoryRun{}
	}
	run := m.runs[runID]
	if run == nil {
		run = &memoryRun{}
		m.runs[runID] = run
	}
	if run.holder != nil {
		return nil, fmt.Errorf("%w: %q", ErrInUse, runID)
	}
	run.holder = &memoryLog{memory: m, run: run}
	return run.holder, nil
}

type memoryLog struct {
	memory *Memory
	run    *memoryRun
}

// held reports whether the log is still open. The memory must be locked.
func (l *memoryLog) held() bool { return l.run.holder == l }

func (l *memoryLog) Load(context.Context) ([][]byte, error) {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	if !l.held() {
		return nil, ErrClosed
	}
	records := make([][]byte, len(l.run.records))
	for i, r := range l.run.records {
		records[i] = bytes.Clone(r)
	}
	return records, nil
}

func (l *memoryLog) Append(ctx context.Context, record []byte) error {
	if err := check(ctx, record); err != nil {
		return err
	}
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	if !l.held() {
		return ErrClosed
	}
	l.run.records = append(l.run.records, bytes.Clone(record))
	return nil
}

func (l *memoryLog) Close() error {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	if !l.held() {
		return ErrClosed
	}
	l.run.holder = nil
	return nil
}

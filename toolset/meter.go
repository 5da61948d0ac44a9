package toolset

import "sync"

// Meter counts what runs use. The runs that share a meter share their limits: hand [RunInfo.Meter] to a sub-agent and what
// it uses counts as the parent's. The zero value is ready. A Meter is safe for concurrent use and must not be copied.
type Meter struct {
	mu   sync.Mutex
	used Usage
	// parent is where the meter's usage counts as well, and whose total stands for its own; nil for most.
	parent *Meter
}

// Sub returns a meter for a part of what m counts. Used in place of m it is the same as m, and [Meter.Own] says what was
// counted through it.
func (m *Meter) Sub() *Meter { return &Meter{parent: m} }

// Own returns what has been counted through this meter, as opposed to the one that it is a part of.
func (m *Meter) Own() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Usage returns what has been used so far.
func (m *Meter) Usage() Usage {
	if m.parent != nil {
		return m.parent.Usage()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Add counts u and returns the new total.
func (m *Meter) Add(u Usage) Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used.Requests += u.Requests
	m.used.ToolCalls += u.ToolCalls
	m.used.Usage.Add(u.Usage)
	if m.parent != nil {
		return m.parent.Add(u)
	}
	return m.used
}

// Request counts a request that is about to be made, unless limit requests have been made already; 0 is no limit. It
// returns the total, and whether the request may be made.
func (m *Meter) Request(limit int) (Usage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parent != nil {
		used, ok := m.parent.Request(limit)
		if ok {
			m.used.Requests++
		}
		return used, ok
	}
	if limit > 0 && m.used.Requests >= limit {
		return m.used, false
	}
	m.used.Requests++
	return m.used, true
}

// SPDX-License-Identifier: Apache-2.0

package session

// owner identifies an owner within a tenant.
type owner struct{ tenant, name string }

// own adds a session to those of its owner. The store must be locked.
func (m *Memory) own(s *memorySession) {
	whose := owner{s.info.Tenant, s.info.Owner}
	if m.owned[whose] == nil {
		m.owned[whose] = map[string]*memorySession{}
	}
	m.owned[whose][s.info.ID] = s
}

// disown removes a session from those of its owner. The store must be locked.
func (m *Memory) disown(s *memorySession) {
	whose := owner{s.info.Tenant, s.info.Owner}
	if delete(m.owned[whose], s.info.ID); len(m.owned[whose]) == 0 {
		delete(m.owned, whose)
	}
}

// hasRoom reports whether the owner of a new session has fewer than limit sessions. The store must
// be locked.
func (m *Memory) hasRoom(i *Info, limit int) bool {
	if limit == 0 {
		return true
	}
	n := 0
	for _, s := range m.owned[owner{i.Tenant, i.Owner}] {
		if !Internal(&s.info) {
			n++
		}
	}
	return n < limit
}

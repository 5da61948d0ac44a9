// SPDX-License-Identifier: Apache-2.0

package toolset

// MeterState is the usage and the limits of a [Meter] and of the meters above it, as plain data.
// The meter's own level comes first. It lets another process continue counting.
// Prices are not part of it.
type MeterState []MeterLevel

// MeterLevel is one meter of a [MeterState].
type MeterLevel struct {
	// Used is the usage that the meter has counted.
	Used Usage `json:"used,omitzero"`
	// Limits are the meter's own limits.
	Limits Limits `json:"limits,omitzero"`
}

// State returns the state of the meter and of those above it. Meters made by [Meter.Sub] are left out.
func (m *Meter) State() MeterState {
	var state MeterState
	for at := m; at != nil; at = at.parent {
		if at.tap {
			continue
		}
		at.mu.Lock()
		state = append(state, MeterLevel{at.used, at.limits})
		at.mu.Unlock()
	}
	return state
}

// Meter returns a meter that starts with the state: with its usage and under its limits. Without levels it is a fresh meter.
func (s MeterState) Meter() *Meter {
	var top *Meter
	for i := len(s) - 1; i >= 0; i-- {
		m := &Meter{used: s[i].Used, parent: top, copied: true}
		m.limit(s[i].Limits)
		top = m
	}
	if top == nil {
		return &Meter{copied: true}
	}
	return top
}

// Copied reports whether m, or a meter above it, was made from a [MeterState]. Nobody counts what is
// counted on such a meter after the task that it was made for has ended.
func (m *Meter) Copied() bool {
	for at := m; at != nil; at = at.parent {
		if at.copied {
			return true
		}
	}
	return false
}

// level returns which level of the state of m a meter is, or -1.
func (m *Meter) level(wanted *Meter) int {
	n := 0
	for at := m; at != nil && wanted != nil; at = at.parent {
		switch {
		case at == wanted:
			return n
		case !at.tap:
			n++
		}
	}
	return -1
}

// at returns the meter that is a level of the state of m, or nil.
func (m *Meter) at(level int) *Meter {
	for at := m; at != nil && level >= 0; at = at.parent {
		if at.tap {
			continue
		}
		if level == 0 {
			return at
		}
		level--
	}
	return nil
}

// Level returns which level of [Meter.State] of m has the limit, or -1 if none has. [LimitError.At] takes it back.
func (e *LimitError) Level(m *Meter) int { return m.level(e.meter) }

// At returns the error as one of the limit at a level of m: in another process than the one that reported it.
func (e *LimitError) At(m *Meter, level int) *LimitError {
	return &LimitError{Limit: e.Limit, Value: e.Value, Bound: e.Bound, meter: m.at(level)}
}

// Level returns which level of [Meter.State] of m has the limit, or -1 if none has. [PriceError.At] takes it back.
func (e *PriceError) Level(m *Meter) int { return m.level(e.meter) }

// At returns the error as one of the limit at a level of m: in another process than the one that reported it.
func (e *PriceError) At(m *Meter, level int) *PriceError {
	return &PriceError{Provider: e.Provider, Model: e.Model, Err: e.Err, meter: m.at(level)}
}

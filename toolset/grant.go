// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"errors"
	"math"
)

// Grant is a share of the room under the limits of a [Meter], for a task in another process. Such
// tasks do not see each other's usage, so tasks that run at the same time need shares that do not
// overlap. [Meter.Grant] cuts a share from the meter and all meters above it, and [Grant.Return]
// gives it back. [Meter.Add] counts the usage of the task.
type Grant struct{ levels []granted }

// granted is a share of one meter.
type granted struct {
	meter *Meter
	// used and limits are the state of the meter as the task sees it.
	used   Usage
	limits Limits
	// held is the share. Other grants do not get it until it is returned.
	held Limits
	// cut has the limits that the share is smaller than.
	cut map[LimitName]bool
}

// Grant cuts an equal share for one of several tasks that will be executed elsewhere at the same
// time. The other tasks get theirs from what is left: the second of three is one of two.
func (m *Meter) Grant(tasks int) *Grant {
	g := new(Grant)
	for at := m; at != nil; at = at.parent {
		if !at.tap {
			g.levels = append(g.levels, at.grant(max(tasks, 1)))
		}
	}
	return g
}

func (m *Meter) grant(tasks int) granted {
	m.mu.Lock()
	defer m.mu.Unlock()
	lent := &m.notes().lent
	g := granted{meter: m, used: m.used, limits: m.limits, cut: map[LimitName]bool{}}
	l, used := &g.limits, &m.used
	cut := cutting{tasks, g.cut}
	share(cut, LimitRequests, &l.Requests, used.Requests, &lent.Requests, &g.held.Requests)
	share(cut, LimitToolCalls, &l.ToolCalls, used.ToolCalls, &lent.ToolCalls, &g.held.ToolCalls)
	share(cut, LimitInputTokens, &l.InputTokens, used.InputTokens, &lent.InputTokens, &g.held.InputTokens)
	share(cut, LimitOutputTokens, &l.OutputTokens, used.OutputTokens, &lent.OutputTokens,
		&g.held.OutputTokens)
	share(cut, LimitTotalTokens, &l.TotalTokens, used.TotalTokens(), &lent.TotalTokens, &g.held.TotalTokens)
	bound, others, held := nanos(l.Cost), nanos(lent.Cost), int64(0)
	share(cut, LimitCost, &bound, nanos(used.Cost), &others, &held)
	lent.Cost, g.held.Cost = float64(others)/1e9, float64(held)/1e9
	if g.cut[LimitCost] {
		l.Cost = float64(max(bound, 1)) / 1e9
	}
	// A limit of zero would be none.
	if g.cut[LimitToolCalls] && l.ToolCalls == 0 {
		l.ToolCalls = NoToolCalls
	}
	if g.cut[LimitRequests] && l.Requests == 0 {
		l.Requests, g.used.Requests = 1, 1
	}
	l.InputTokens = atLeastOne(l.InputTokens, g.cut[LimitInputTokens])
	l.OutputTokens = atLeastOne(l.OutputTokens, g.cut[LimitOutputTokens])
	l.TotalTokens = atLeastOne(l.TotalTokens, g.cut[LimitTotalTokens])
	return g
}

func nanos(cost float64) int64 { return int64(math.Round(cost * 1e9)) }

func atLeastOne(bound int64, cut bool) int64 {
	if cut {
		return max(bound, 1)
	}
	return bound
}

// cutting says into how many shares the room is cut, and notes what was cut.
type cutting struct {
	tasks int
	cut   map[LimitName]bool
}

// share lowers a limit to what is used and a share of the room.
func share[N int | int64](c cutting, name LimitName, limit *N, used N, lent, held *N) {
	if *limit <= 0 {
		return
	}
	bound := used + max(*limit-used-*lent, 0)/N(c.tasks)
	if bound < *limit {
		*limit, c.cut[name] = bound, true
	}
	*held = max(bound-used, 0)
	*lent += *held
}

// State returns the state of the meter as the task sees it: its limits are what the meter has used
// and the share.
func (g *Grant) State() (state MeterState) {
	for i := range g.levels {
		state = append(state, MeterLevel{g.levels[i].used, g.levels[i].limits})
	}
	return state
}

// Return gives the share back.
func (g *Grant) Return() {
	for i := range g.levels {
		l := &g.levels[i]
		l.meter.mu.Lock()
		lent := &l.meter.notes().lent
		lent.Requests -= l.held.Requests
		lent.ToolCalls -= l.held.ToolCalls
		lent.InputTokens -= l.held.InputTokens
		lent.OutputTokens -= l.held.OutputTokens
		lent.TotalTokens -= l.held.TotalTokens
		lent.Cost = nano(lent.Cost - l.held.Cost)
		l.held = Limits{}
		l.meter.mu.Unlock()
	}
}

// Reached returns the limit that err reports if the task has reached its share of it, and not the
// limit itself.
func (g *Grant) Reached(err error) (limit *LimitError, ok bool) {
	if !errors.As(err, &limit) {
		return nil, false
	}
	for i := range g.levels {
		if l := &g.levels[i]; l.meter == limit.meter {
			return limit, l.cut[limit.Limit]
		}
	}
	return nil, false
}

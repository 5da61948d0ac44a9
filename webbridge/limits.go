// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
)

// maxAccounts is how many accounts are kept before those without use are forgotten.
const maxAccounts = 10_000

// account tracks the usage of a user. It is guarded by Handler.mu.
type account struct {
	streams, turns int
	prompts        float64 // that may be sent now
	refilled       time.Time
	window         time.Time // when it began
	tokens         int64
	cost           float64
}

func (h *Handler) account(user string) *account {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accountOf(user)
}

// accountOf returns the account of a user. The caller has mu.
func (h *Handler) accountOf(user string) *account {
	if a := h.accounts[user]; a != nil {
		return a
	}
	now := time.Now()
	if len(h.accounts) >= maxAccounts {
		for name, a := range h.accounts {
			if a.streams+a.turns == 0 && now.Sub(a.refilled) > time.Minute && now.Sub(a.window) > h.o.Limits.Window {
				delete(h.accounts, name)
			}
		}
	}
	a := &account{prompts: float64(h.o.Limits.UserPrompts), refilled: now, window: now}
	h.accounts[user] = a
	return a
}

// charge admits a prompt of a user, within the limits. It counts as a turn until free is called.
func (h *Handler) charge(user string) (free func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a, l, now := h.accountOf(user), &h.o.Limits, time.Now()
	if l.UserTurns > 0 && a.turns >= l.UserTurns {
		return nil, refuse(KindLimit, "%d of your prompts are being answered, which is the limit: wait for one", a.turns)
	}
	if h.spent(a, now) {
		return nil, refuse(KindLimit, "your quota for %v is used up: try again at %s", l.Window, a.window.Add(l.Window).UTC().Format(time.RFC3339))
	}
	if l.UserPrompts > 0 {
		a.prompts = min(float64(l.UserPrompts), a.prompts+now.Sub(a.refilled).Minutes()*float64(l.UserPrompts))
		a.refilled = now
		if a.prompts < 1 {
			return nil, refuse(KindLimit, "you may send %d prompts a minute: try again later", l.UserPrompts)
		}
		a.prompts--
	}
	a.turns++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		a.turns--
	}, nil
}

// spent reports whether a user has used what a window has. The caller has mu.
func (h *Handler) spent(a *account, now time.Time) bool {
	l := &h.o.Limits
	if l.Window > 0 && now.Sub(a.window) >= l.Window {
		a.window, a.tokens, a.cost = now, 0, 0
	}
	return l.UserTokens > 0 && a.tokens >= l.UserTokens || l.UserCost > 0 && a.cost >= l.UserCost
}

var errSpent = refuse(KindLimit, "your quota is used up")

// meter returns what counts the usage of a run for a user, and calls stop when it is too much.
func (h *Handler) meter(user string, stop func(error)) func(*agent.Event) {
	var last toolset.Usage
	return func(e *agent.Event) {
		if e.Usage == nil {
			return
		}
		tokens, cost := e.Usage.TotalTokens()-last.TotalTokens(), e.Usage.Cost-last.Cost
		if tokens <= 0 && cost <= 0 {
			return
		}
		last = *e.Usage
		h.counts.tokens.Add(max(tokens, 0))
		h.mu.Lock()
		a := h.accountOf(user)
		a.tokens += tokens
		a.cost += cost
		spent := h.spent(a, time.Now())
		h.mu.Unlock()
		if spent {
			stop(errSpent)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/session"
)

// noRules is the value of a policy without rules.
const noRules = `{"version":1,"rules":[]}`

// acquire acquires the session, and reads what the store knows about it. The caller holds changing.
func (s *Session) acquire(ctx context.Context) error {
	w, err := session.Open(ctx, s.host.store, s.id, session.Claim{Holder: s.host.holder})
	if err != nil {
		return err
	}
	info, err := s.host.store.Get(ctx, s.id)
	if err == nil {
		rules := info.Values[rulesValue]
		if rules == nil {
			rules = json.RawMessage(noRules)
		}
		if wrong := json.Unmarshal(rules, &s.policy); wrong != nil {
			err = fmt.Errorf("host: open session %s: value %q: %w", s.id, rulesValue, wrong)
		}
	}
	if err != nil {
		return errors.Join(err, w.Close(context.WithoutCancel(ctx)))
	}
	s.w = w
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info, s.rules = info, s.policyText()
	return nil
}

// regain acquires the session again if another process has taken it over, and makes the next use
// read it again: it may have other turns now. While another process has it, the error names the
// holder. If ask is true, it asks the store first. The caller holds changing.
func (s *Session) regain(ctx context.Context, ask bool) error {
	if ask && s.host.kept {
		_, _ = s.w.Append(ctx) // of nothing; what is wrong otherwise is found by the first entry
	}
	if !s.w.Lost() {
		return nil
	}
	if c := s.conversation; c != nil {
		s.conversation = nil
		c.Fold().End(errDropped)
	}
	s.mu.Lock()
	s.questions = nil
	s.mu.Unlock()
	return s.acquire(ctx)
}

// yield gives the session back. An empty one is removed unless another process has used it, which
// the store knows. The caller holds changing.
func (s *Session) yield(ctx context.Context) error {
	w := s.w
	s.w = nil
	saved := s.saveRules(ctx, w)
	ctx = context.WithoutCancel(ctx)
	err := w.Close(ctx)
	if errors.Is(err, session.ErrLeaseLost) || errors.Is(err, session.ErrNotFound) {
		return nil // it is somebody else's, or gone, and so is what is known of it here
	}
	err = errors.Join(saved, err)
	if !s.host.kept {
		return errors.Join(err, s.host.remove(ctx, s.id))
	}
	if w.Head() > 0 {
		return err
	}
	info, wrong := s.host.store.Get(ctx, s.id)
	if wrong == nil && info.Head == 0 && info.Holder == "" && !lasts(&info) {
		wrong = s.host.remove(ctx, s.id)
	}
	if errors.Is(wrong, session.ErrNotFound) || errors.Is(wrong, session.ErrHeld) {
		wrong = nil
	}
	return errors.Join(err, wrong)
}

// updateHeld changes the session's values for the holder of a lease. A lease that was lost changes nothing.
func (s *Session) updateHeld(ctx context.Context, w *session.Writer, c session.Change) error {
	if _, err := w.Append(context.WithoutCancel(ctx)); err != nil { // of nothing
		return err
	}
	return s.update(ctx, c)
}

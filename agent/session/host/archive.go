// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// archivedValue is the name of the session's value that marks it as archived.
const archivedValue = "archived"

// Archived reports whether a session is archived. Archived sessions are complete, and only left out
// of lists.
func Archived(i *session.Info) bool { return i.Values[archivedValue] != nil }

// SetArchived archives a session of the store, or restores it. If the host has the session open, it
// is closed first. If another process uses it for more than a moment, the error wraps
// [session.ErrHeld].
func (h *Host) SetArchived(ctx context.Context, id string, archived bool) error {
	var mark json.RawMessage
	if archived {
		mark = json.RawMessage("true")
	}
	s := h.Session(id)
	if s != nil {
		if err := s.update(ctx, session.Change{Values: map[string]json.RawMessage{archivedValue: mark}}); err != nil || !archived {
			return err
		}
		return s.Close(ctx)
	}
	info, err := h.store.Get(ctx, id)
	for begun := time.Now(); err == nil && archived && info.Holder != ""; {
		if !again(ctx, begun) {
			return &session.Error{
				Op: "archive", Session: id, Holder: info.Holder, Err: session.ErrHeld,
			}
		}
		info, err = h.store.Get(ctx, id)
	}
	if err != nil {
		return err
	}
	if Archived(&info) == archived {
		return nil
	}
	_, err = h.store.Update(ctx, id, session.Change{Values: map[string]json.RawMessage{archivedValue: mark}})
	return err
}

// SetTitle sets the title of a session, open or not: see [Session.SetTitle].
func (h *Host) SetTitle(ctx context.Context, id, title string) error {
	if s := h.Session(id); s != nil {
		return s.SetTitle(ctx, title)
	}
	_, err := h.store.Update(ctx, id, titleChange(title))
	return err
}

// lasts reports whether a session is kept although it has no entries.
func lasts(i *session.Info) bool {
	return Archived(i) || i.Values[titledValue] != nil || i.Values[openedValue] != nil
}

// forkedValues returns the values that a fork has instead of its parent's. Permissions that the
// user gave to the parent do not apply in the fork; permanent rejections do.
func forkedValues(parent *session.Info, own map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{archivedValue: nil, rulesValue: nil, notesValue: forkedNotes(parent)}
	if data := parent.Values[rulesValue]; data != nil {
		var all, kept approval.Policy
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, err
		}
		for _, r := range all.Rules() {
			if r.Verdict == toolset.VerdictDeny {
				kept.RememberApproval(r.Tool, &toolset.Approval{Source: r.Source, Scope: r.Scope}, r.Verdict)
			}
		}
		if len(kept.Rules()) > 0 {
			data, err := json.Marshal(&kept)
			if err != nil {
				return nil, err
			}
			values[rulesValue] = data
		}
	}
	for name, v := range own {
		values[name] = v
	}
	return values, nil
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// replay shows a client everything that a session shows, if it asks for it.
func (s *server) replay(ctx context.Context, session *session, all bool) error {
	var shown error // the client's
	err := session.hosted.View(ctx, func(f *view.Fold) {
		snapshot := f.Snapshot()
		session.seen = seenUpTo(f, snapshot.Pos())
		session.seen.last = lastPrompt(snapshot, "")
		if session.foreign() != nil {
			session.seen.whole = snapshot
		}
		if !all {
			return
		}
		options := session.options()
		options.Prompts = true
		client := acpview.New(s.client, session.id, snapshot.Fold(), nil, options)
		client.Skip(view.Options, view.Commands, view.Question)
		shown = client.Show(ctx)
	})
	if err != nil {
		return s.failure("the session cannot be loaded", session.id, err)
	}
	return shown
}

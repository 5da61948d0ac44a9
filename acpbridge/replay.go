// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp/acpview"
	"github.com/ponte-go/ponte/agent/view"
)

// replay shows a client everything that a session shows, if it asks for it.
func (s *server) replay(ctx context.Context, session *session, all bool) error {
	if !all {
		return nil
	}
	snapshot, _, err := session.hosted.Snapshot(ctx)
	if err != nil {
		return s.failure("the session cannot be loaded", session.id, err)
	}
	options := session.takes
	options.Prompts = true
	client := acpview.New(s.client, session.id, snapshot.Fold(), nil, options)
	client.Skip(view.Options, view.Commands, view.Question)
	return client.Show(ctx)
}

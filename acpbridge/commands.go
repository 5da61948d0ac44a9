// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// tellCommands tells the client which slash commands a session has, after the answer to the request
// that has opened it.
func (s *server) tellCommands(ctx context.Context, session *session) {
	var all []acp.AvailableCommand
	for _, cmd := range session.hosted.Commands() {
		told := acp.AvailableCommand{Name: cmd.Name, Description: cmd.Description}
		if cmd.Hint != "" {
			told.Input = &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: cmd.Hint}}
		}
		all = append(all, told)
	}
	if len(all) == 0 {
		return
	}
	_ = session.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: session.id, Update: acp.SessionUpdate{
		AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: all},
	}}) // it is kept until the session is announced
}

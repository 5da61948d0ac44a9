// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// commands returns the slash commands of the agent as the client is told of them.
func (c *Config[D, O]) commands() []acp.AvailableCommand {
	if c.Agent == nil {
		return nil
	}
	var all []acp.AvailableCommand
	for _, cmd := range c.Agent.Commands() {
		told := acp.AvailableCommand{Name: cmd.Name, Description: cmd.Description}
		if cmd.Hint != "" {
			told.Input = &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: cmd.Hint}}
		}
		all = append(all, told)
	}
	return all
}

// tellCommands tells the client which slash commands a new session has, after the answer to session/new.
func (s *server) tellCommands(ctx context.Context, session *session) {
	if len(s.commands) == 0 {
		return
	}
	_ = session.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: session.id, Update: acp.SessionUpdate{
		AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: s.commands},
	}}) // it is kept until the session is announced
}

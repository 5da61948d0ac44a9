// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
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

// command runs the slash command that a prompt begins with, and puts what it asks for in the prompt's place. It reports false if no run
// follows. An error of the command, such as one about its arguments, is shown to the user.
func (c *typedConversation[D, O]) command(ctx context.Context, in *runInput, p *projection) bool {
	if first := &in.parts[0]; first.Kind != model.PartUser {
		return true
	}
	res, ok, err := c.config.Agent.Command(ctx, c.deps, in.parts[0].Text, in.history)
	switch {
	case !ok:
		return true
	case err != nil:
		p.newMessage()
		p.say(&p.message, oneLine(err.Error()))
		return false
	}
	if res.Notice != "" {
		p.newMessage()
		p.say(&p.message, res.Notice)
	}
	if res.Messages != nil {
		in.history = res.Messages
	}
	if res.Prompt == "" && res.Parts == nil {
		return false
	}
	var parts []model.Part
	if res.Prompt != "" {
		parts = append(parts, model.User(res.Prompt))
	}
	in.parts = append(append(parts, res.Parts...), in.parts[1:]...) // what was attached stays
	return true
}

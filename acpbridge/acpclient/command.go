// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// methodCommand is an extension of the protocol. An agent that has it marks the slash commands that
// it is for: see [view.SlashCommand].
const methodCommand = "_ponte-go.dev/command"

// Command has the agent carry out a slash command that needs no turn, also while one runs, and
// returns what the agent says, as Markdown. It is for the commands whose AtOnce is set; others are
// prompts.
func (s *Session) Command(ctx context.Context, command string) (string, error) {
	var answer struct {
		Text string `json:"text"`
	}
	params := struct {
		SessionID acp.SessionID `json:"sessionId"`
		Command   string        `json:"command"`
	}{s.id, command}
	if err := s.client.conn.Call(ctx, methodCommand, &params, &answer); err != nil {
		return "", s.client.failed(ctx, methodCommand, err)
	}
	return answer.Text, nil
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/acpview"
)

// MethodCommand is an extension of the protocol: the client has a slash command carried out that
// needs no turn, also while one runs. Such commands have "ponte-go.dev/atOnce" in their _meta. Its
// parameters are {"sessionId", "command"}, where the command begins with the slash, and its result
// is {"text"}, which is Markdown. An editor without it sends such a command as a prompt: it is
// answered at once, too.
const MethodCommand = "_ponte-go.dev/command"

// command carries out [MethodCommand].
func (s *server) command(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var p struct {
		SessionID acp.SessionID `json:"sessionId"`
		Command   string        `json:"command"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: %s", oneLine(err.Error()))
	}
	session := s.session(p.SessionID)
	if session == nil {
		return nil, unknownSession(p.SessionID)
	}
	acp.Async(ctx)
	text, ok := session.hosted.AtOnce(ctx, p.Command)
	if !ok {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: there is no such command, or it needs a turn")
	}
	return json.Marshal(struct {
		Text string `json:"text"`
	}{text})
}

// atOnce answers a prompt that is a command which needs no turn. ok is false for other prompts.
func (s *server) atOnce(
	ctx context.Context, session *session, blocks []acp.ContentBlock,
) (_ *acp.PromptResponse, ok bool, _ error) {
	if len(blocks) != 1 || blocks[0].Text == nil {
		return nil, false, nil
	}
	typed := blocks[0].Text.Text
	if !session.hosted.IsAtOnce(typed) {
		return nil, false, nil
	}
	acp.Async(ctx)
	text, ok := session.hosted.AtOnce(ctx, typed)
	if text == "" {
		return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, ok, nil
	}
	said := &acp.ContentChunk{MessageID: acp.MessageID(rand.Text()), Content: acp.TextBlock(text)}
	err := session.client.gate.aside(ctx, &acp.SessionNotification{
		SessionID: session.id, Update: acp.SessionUpdate{AgentMessageChunk: said},
	})
	if end := cancelled(ctx); err != nil && end != nil {
		resp, err := end.answer()
		return resp, ok, err
	}
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, ok, err
}

// tellCommands tells the client which slash commands a session has, after the answer to the request
// that has opened it.
func (s *server) tellCommands(ctx context.Context, session *session) {
	var all []acp.AvailableCommand
	for _, cmd := range session.hosted.Commands() {
		told := acp.AvailableCommand{Name: cmd.Name, Description: cmd.Description}
		if cmd.Hint != "" {
			told.Input = &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: cmd.Hint}}
		}
		if cmd.AtOnce {
			told.Meta = map[string]json.RawMessage{acpview.MetaAtOnce: json.RawMessage("true")}
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

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/acpview"
)

// MethodSteering is an extension of the protocol that several agents have: the client passes a
// message to the turn that is running. Agents announce it with {"steering": {"supported": true}} in
// the _meta of the answer to initialize. It has the parameters of session/prompt.
const MethodSteering = "_session/steering"

// extensionsMeta announces [MethodSteering] and, to clients that show turns which they have not
// asked for, [MethodQueue].
func extensionsMeta(turns bool) map[string]json.RawMessage {
	meta := map[string]json.RawMessage{"steering": json.RawMessage(`{"supported":true}`)}
	if turns {
		meta[acpview.MetaTurns] = json.RawMessage("true")
	}
	return meta
}

// steered is the answer to [MethodSteering]. The outcome promptRequired asks the client to send the
// message as a prompt.
type steered struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// extend has a connection with these options handle [MethodSteering], [MethodCommand] and
// [MethodQueue], before what they handle already.
func (s *server) extend(opts acp.ConnOptions) *acp.ConnOptions {
	next := opts.ExtMethod
	opts.ExtMethod = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		switch {
		case method == MethodSteering:
			return s.steer(ctx, params)
		case method == MethodCommand:
			return s.command(ctx, params)
		case method == MethodQueue:
			return s.queue(ctx, params)
		case next != nil:
			return next(ctx, method, params)
		}
		return nil, acp.Errorf(acp.CodeMethodNotFound, "method not found: %s", method)
	}
	s.extendUnstable(&opts)
	return &opts
}

// steer passes a message to the running turn. It never begins one.
func (s *server) steer(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var p acp.PromptRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: %s", oneLine(err.Error()))
	}
	session := s.session(p.SessionID)
	if session == nil {
		return nil, unknownSession(p.SessionID)
	}
	parts, _, err := promptParts(p.Prompt, s.media)
	if err != nil {
		return nil, err
	}
	if session.hosted.Steer(parts...) {
		return json.Marshal(steered{Outcome: "injected"})
	}
	acp.Async(ctx)
	for _, t := range session.going() { // a turn that is about to end: a prompt of the client must not find it
		t.waitAnswered(s.ending)
	}
	return json.Marshal(steered{Outcome: "promptRequired", Reason: "noRunningTurn"})
}

// unread returns the notice for the user if the agent has not read n messages that were passed to a
// turn.
func unread(n int) string {
	if n == 1 {
		return "The turn has ended before the agent read your last message. Send it again."
	}
	return "The turn has ended before the agent read your last messages. Send them again."
}

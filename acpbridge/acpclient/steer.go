// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// methodSteering is an extension of the protocol that several agents have. They announce it in the
// _meta of the answer to initialize.
const methodSteering = "_session/steering"

// steeringMeta makes the agent ask for a prompt if no turn is running, instead of beginning one.
var steeringMeta = map[string]json.RawMessage{"steering": json.RawMessage(`{"idleBehavior":"promptRequired"}`)}

// steers reports whether an agent has announced that it takes messages for the turn in progress.
func steers(hello *acp.InitializeResponse) bool {
	var steering struct {
		Supported bool `json:"supported"`
	}
	return json.Unmarshal(hello.Meta["steering"], &steering) == nil && steering.Supported
}

// Steer passes a message to the turn in progress: the agent reads it with its next request to the
// model. It reports false without such a turn, because none has begun or it has ended or is being
// cancelled. The message is then sent with [Session.Prompt]. A message that was passed on is shown
// at once.
//
// It returns an [*UnsupportedError] if the agent does not announce the extension _session/steering.
func (s *Session) Steer(ctx context.Context, message ...acp.ContentBlock) (bool, error) {
	if !steers(s.client.hello) {
		return false, s.client.unsupported(methodSteering)
	}
	if err := s.check(message); err != nil {
		return false, err
	}
	s.mu.Lock()
	t, ended := s.turn, s.ended
	wanted := t != nil && !t.cancelled
	s.mu.Unlock()
	switch {
	case ended && s.client.Err() != nil:
		return false, s.client.Err()
	case ended:
		return false, fmt.Errorf("%w: the session", ErrClosed)
	case !wanted:
		return false, nil
	}
	var answer struct {
		Outcome string `json:"outcome"`
	}
	err := s.client.conn.Call(ctx, methodSteering, &acp.PromptRequest{SessionID: s.id, Prompt: message, Meta: steeringMeta}, &answer)
	if err != nil {
		return false, s.client.failed(ctx, methodSteering, err)
	}
	switch answer.Outcome {
	case "injected":
		s.mu.Lock()
		s.fold.says(message)
		full := s.fullLocked()
		s.mu.Unlock()
		s.endFull(full)
		return true, nil
	case "promptRequired":
		return false, nil
	}
	return false, &ProtocolError{Method: methodSteering, Problem: fmt.Sprintf("an unknown outcome: %s", answer.Outcome)}
}

// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// MetaTurns is in the _meta of the capabilities of a client that shows turns which it has not asked
// for with session/prompt, and of agents that begin such turns.
const MetaTurns = "ponte-go.dev/turns"

// metaTurn is where the description of a session says that such a turn has begun or has ended.
const metaTurn = "ponte-go.dev/turn"

// Turn says that a turn which the client has not asked for has begun, or how it has ended: with a
// stop reason or, if Code is not 0, with an error.
type Turn struct {
	// Ended reports the end of the turn; otherwise it begins.
	Ended bool `json:"ended,omitempty"`
	// StopReason is why the agent ended it.
	StopReason acp.StopReason `json:"stopReason,omitempty"`
	// Code, Message and Data are the error: see [acp.Error].
	Code    int             `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Err returns the error that the turn has ended with, nil for none.
func (t *Turn) Err() error {
	if t.Code == 0 {
		return nil
	}
	return &acp.Error{Code: t.Code, Message: t.Message, Data: t.Data}
}

// TurnInfo returns the update that tells a client of a turn.
func TurnInfo(t *Turn) acp.SessionUpdate {
	data, err := json.Marshal(t)
	if err != nil { // what an error of the program has as data is not JSON
		plain := *t
		plain.Data = nil
		data, _ = json.Marshal(&plain)
	}
	meta := map[string]json.RawMessage{metaTurn: data}
	return acp.SessionUpdate{SessionInfoUpdate: &acp.SessionInfoUpdate{Meta: meta}}
}

// TurnOf returns what an update says of such a turn, nil if it says nothing.
func TurnOf(u *acp.SessionInfoUpdate) *Turn {
	var t *Turn
	if u.Meta[metaTurn] == nil || json.Unmarshal(u.Meta[metaTurn], &t) != nil {
		return nil
	}
	return t
}

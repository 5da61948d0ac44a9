// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"encoding/json"
	"strconv"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// metaWaiting is where the description of a session has the prompts that wait for their turns, all
// of them each time. The protocol has no update for them.
const metaWaiting = "ponte-go.dev/waiting"

// MetaAtOnce marks a slash command that needs no turn.
const MetaAtOnce = "ponte-go.dev/atOnce"

// Waiting is a prompt that waits for its turn, as clients are told of it.
type Waiting struct {
	// ID and Version name the prompt as it is now.
	ID      string `json:"id"`
	Version int64  `json:"version"`
	// Number is what people call it, Text is its beginning, on one line.
	Number string `json:"number"`
	Text   string `json:"text"`
}

// WaitingInfo returns the update that tells a client which prompts wait.
func WaitingInfo(all []Waiting) acp.SessionUpdate {
	data, err := json.Marshal(all)
	if err != nil { // only strings and numbers
		data = json.RawMessage("[]")
	}
	meta := map[string]json.RawMessage{metaWaiting: data}
	return acp.SessionUpdate{SessionInfoUpdate: &acp.SessionInfoUpdate{Meta: meta}}
}

// WaitingOf returns the prompts that wait as entities, whose Title is the number. ok is false for
// an update that does not tell of them.
func WaitingOf(u *acp.SessionInfoUpdate) (entities []*view.Entity, ok bool) {
	var all []Waiting
	if u.Meta[metaWaiting] == nil || json.Unmarshal(u.Meta[metaWaiting], &all) != nil {
		return nil, false
	}
	for _, w := range all {
		entities = append(entities, &view.Entity{
			ID: "waiting:" + w.ID, Kind: view.Waiting, Role: view.User, Title: w.Number,
			Digest:  strconv.FormatInt(w.Version, 10),
			Content: []view.Content{{Kind: view.Text, Text: w.Text}},
		})
	}
	return entities, true
}

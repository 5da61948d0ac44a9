// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

// Ids of the entities that a conversation has one of.
const (
	PlanID     = "plan"
	CommandsID = "commands"
	OptionsID  = "options"
	SessionID  = "session"
	UsageID    = "usage"
)

// PromptID returns the id of the prompt of a turn.
func PromptID(run string) string { return "prompt:" + escape(run) }

// MessageID returns the id of the text of the response in a step of a run, ThoughtID the id of its
// thoughts, and OutputID the id of an output that is not the text of a response. Steps begin with
// 1.
func MessageID(run string, step int) string { return "message:" + stepOf(run, step) }

// ThoughtID is described at [MessageID].
func ThoughtID(run string, step int) string { return "thought:" + stepOf(run, step) }

// OutputID is described at [MessageID].
func OutputID(run string, step int) string { return "output:" + stepOf(run, step) }

// CallID returns the id of a tool call: of the run and the step whose response has the call, and
// the model's id of it.
func CallID(run string, step int, call string) string {
	return "call:" + stepOf(run, step) + "/" + call
}

// QuestionID returns the id of the question about a call. It has the same arguments as [CallID].
func QuestionID(run string, step int, call string) string {
	return "question:" + stepOf(run, step) + "/" + call
}

// PendingID returns the id of a question of a run that is pending, by the key of the call: it is
// made by PendingCall.Key.
func PendingID(run, key string) string { return "question:" + escape(run) + "/pending/" + key }

// AgentID returns the id of an agent inside a tool call, by its run.
func AgentID(run string) string { return "agent:" + escape(run) }

// runOf returns the run of an agent inside a tool call: it is the inverse of [AgentID].
func runOf(id string) string {
	return strings.NewReplacer("%2F", "/", "%25", "%").Replace(strings.TrimPrefix(id, "agent:"))
}

// callOf returns the model's id of a call: see [CallID].
func callOf(id string) string {
	for range 2 {
		_, id, _ = strings.Cut(id, "/")
	}
	return id
}

func saidID(run string, n int) string { return "said:" + stepOf(run, n) }

func stepOf(run string, step int) string { return escape(run) + "/" + strconv.Itoa(step) }

// escape keeps the ids of runs apart from what follows them.
func escape(run string) string {
	if strings.ContainsAny(run, "/%") {
		run = strings.NewReplacer("%", "%25", "/", "%2F").Replace(run)
	}
	return run
}

// ofSession reports whether an entity belongs to the session and not to a turn of it.
func ofSession(kind view.Kind) bool {
	return kind == view.Options || kind == view.Commands || kind == view.Session || kind == view.Usage || kind == view.Waiting
}

// WaitingID is the id of the entity of a prompt that waits for its turn.
func WaitingID(prompt string) string { return "waiting:" + escape(prompt) }

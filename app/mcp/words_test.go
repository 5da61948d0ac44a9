// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// TestErrorsOfSessionsAreToldToModels has each error that the client's model can do something about. Others stay what they are.
func TestErrorsOfSessionsAreToldToModels(t *testing.T) {
	for err, want := range map[error]string{
		session.ErrNotFound: "there is no such session; leave it out to begin one",
		session.ErrHeld:     "the session is in use; try again later, or leave it out to begin one",
		host.ErrBusy:        "the session is in use; try again later, or leave it out to begin one",
	} {
		require.Equal(t, toolset.Failed("%s", want), explain(fmt.Errorf("open: %w", err)))
	}
	other := errors.New("on fire")
	require.Same(t, other, explain(other))
}

// TestWhatIsSaidLastIsTheAnswer has conversations, and what is said in them after the last prompt.
func TestWhatIsSaidLastIsTheAnswer(t *testing.T) {
	for script, want := range map[string]string{
		"": "", "user:one": "", "assistant:One.": "One.", "user:one assistant:One.": "One.", "user:one assistant:One. assistant:Two.": "Two.",
		"user:one assistant:One. user:two": "", "user:one assistant:One. thought:hm": "One.",
	} {
		var f view.Fold
		for i, word := range strings.Fields(script) {
			role, text, _ := strings.Cut(word, ":")
			e := view.Entity{ID: fmt.Sprint(i), Kind: view.Message, Role: view.Role(role), Content: []view.Content{{Kind: view.Text, Text: text}}}
			if role == "thought" {
				e.Kind, e.Role = view.Thought, ""
			}
			require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e}))
		}
		require.Equal(t, want, said(f.Snapshot()), script)
	}
}

// TestQuestionsInSessions are put in a new session, in one of the directory, and in none once the host is closed.
func TestQuestionsInSessions(t *testing.T) {
	h, err := host.New(host.Config[any, string]{Store: new(session.Memory), Agent: agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("Well."))}))})
	require.NoError(t, err)
	a, err := put(t.Context(), h, nil, question{Prompt: "one"}, "/orders", false)
	require.NoError(t, err)
	require.Equal(t, "Well.", a.Answer)
	_, err = put(t.Context(), h, nil, question{Prompt: "two", Session: a.Session}, "/other", false)
	require.Equal(t, toolset.Failed("there is no such session; leave it out to begin one"), err, "it works elsewhere")
	require.Empty(t, h.Sessions(), "who has asked leaves")
	require.NoError(t, h.Close(t.Context()))
	_, err = put(t.Context(), h, nil, question{Prompt: "two"}, "/orders", false)
	require.ErrorIs(t, err, host.ErrClosed)
}

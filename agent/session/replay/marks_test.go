// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/toolset"
)

// A secret is replaced as a whole also where it stands in JSON with escapes, and each line of one
// that has several, from twenty characters on.
func TestSecretsInJSONAndInLines(t *testing.T) {
	const secret = `hunter"22\hunter`
	r := recordingWith("say " + secret + "!")
	args, err := json.Marshal(map[string]string{"a": secret + "!"})
	require.NoError(t, err)
	r.Messages[1].Parts = append(r.Messages[1].Parts, model.Part{Kind: model.PartToolCall, CallID: "c", Tool: "t", Args: model.RawArgs("{ " + string(args))})
	require.NoError(t, r.Clean(secret))
	require.Equal(t, "say ‹secret 1: known›!", r.Messages[0].Instructions)
	require.Equal(t, `{ {"a":"‹secret 1: known›!"}`, string(r.Messages[1].Parts[1].Args))

	long, short := "abcdefghij0123456789", "abcdefghij012345678"
	r = recordingWith("one " + long + " two " + short + " -----END OF THE KEY-----")
	r.Title = "-----BEGIN OF THE KEY-----\n " + long + " \n" + short + "\n-----END OF THE KEY-----"
	require.NoError(t, r.Clean(r.Title))
	require.Equal(t, "one ‹secret 2: known› two "+short+" -----END OF THE KEY-----", r.Messages[0].Instructions)
}

// Options do not print what is secret.
func TestOptionsHideSecrets(t *testing.T) {
	o := replay.Options{Secrets: []string{"hunter-22-hunter"}, Media: true}
	for _, text := range []string{fmt.Sprint(o), fmt.Sprintf("%+v", o), o.LogValue().String()} {
		require.NotContains(t, text, "hunter")
		require.NotEqual(t, "<nil>", text)
		require.NotEmpty(t, text)
	}
}

// A recording of nothing has its members on lines of their own, too.
func TestRecordingOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	r := &replay.Recording{Version: 1, Session: "s", Messages: []*model.Message{}, Turns: []replay.Turn{}}
	require.NoError(t, r.Save(file))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	sameAsFile(t, "nothing.json", string(data))
	read, err := replay.Load(file)
	require.NoError(t, err)
	require.Equal(t, "s", read.Session)
}

// Tools of a recording ask about the calls that somebody was asked about, or that wait at the end of
// the turn: of that step, and not of an agent inside.
func TestToolsOfRecordingsAsk(t *testing.T) {
	asked := &model.Approval{Title: "Pay"}
	r := recordingWith("Be brief.")
	require.NoError(t, replay.Fill(t.Context(), r, 0, clerk(), none{}, replay.PlayOptions{}))
	r.Messages = append(r.Messages, &model.Message{Kind: model.KindRequest, Pending: true, Step: 2, PendingCalls: []model.PendingCall{
		{ID: "waits", Tool: "pay", Approval: asked}, {ID: "later", Tool: "pay"}, {ID: "inside", Path: []string{"x", "inside"}, Tool: "pay", Approval: asked},
	}})
	r.Messages[0].Step, r.Messages[1].Step = 1, 1
	turn := &r.Turns[0]
	turn.Messages = append(turn.Messages, 2)
	turn.Checked.Asked = []replay.PastCall{{Step: 1, ID: "was"}}
	tools, err := replay.ToolsOf[none](r.Stage(0), "pay")
	require.NoError(t, err)
	require.Len(t, tools, 1)
	for _, c := range []struct {
		step int
		id   string
		want bool
	}{{1, "was", true}, {2, "was", false}, {2, "waits", true}, {1, "waits", false}, {3, "waits", false}, {2, "later", false}, {2, "inside", false}, {2, "none", false}} {
		run := &toolset.RunContext[none]{}
		run.Step, run.Call.ID = c.step, c.id
		a, err := tools[0].Approval(t.Context(), run, json.RawMessage("{}"))
		require.NoError(t, err)
		require.Equal(t, c.want, a != nil, "%+v", c)
	}
	turn.Checked = nil
	run := &toolset.RunContext[none]{}
	run.Step, run.Call.ID = 2, "waits"
	a, err := tools[0].Approval(t.Context(), run, json.RawMessage("{}"))
	require.NoError(t, err)
	require.Nil(t, a, "of a recording that was not filled nothing is known")
}

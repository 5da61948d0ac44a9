// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// TestResumedTurnsAreToldApart plays turns that go on with calls that were left pending, with
// answers of every kind, and compares what is said and filled in. Content of calls that had run
// before is not that of the calls that run now.
func TestResumedTurnsAreToldApart(t *testing.T) {
	empty := json.RawMessage("{}")
	allow, deny := toolset.Decision{Verdict: model.VerdictAllow, By: "user"}, toolset.Decision{Verdict: model.VerdictDeny, Reason: "no"}
	look, paid := model.ToolReturn("c0", "look", "seen"), model.ToolReturn("c1", "pay", "paid")
	with := func(p model.Part, d toolset.Decision) model.Part {
		p.Decision = &model.Decision{Verdict: d.Verdict, By: d.By, Reason: d.Reason}
		return p
	}
	denied := with(model.ToolReturn("c1", "pay", "no"), deny)
	denied.Outcome = model.OutcomeDenied
	pictures := []model.Part{model.User("one picture"), model.User("two pictures")}
	more := model.User("three pictures")
	list := func(parts ...[]model.Part) []model.Part { return slices.Concat(parts...) }
	answer := func(d toolset.Decision) toolset.DeferredResults {
		return toolset.DeferredResults{Decisions: map[string]toolset.Decision{"c1": d}}
	}
	var said strings.Builder
	for _, c := range []struct {
		name    string
		before  []model.Part // with what the turn before left a call pending
		answers toolset.DeferredResults
		parts   []model.Part // the request that follows
		end     bool
	}{
		{"allowed", []model.Part{look}, answer(allow), []model.Part{look, with(paid, allow)}, true},
		{"denied", []model.Part{look}, answer(deny), []model.Part{look, denied}, true},
		{"without an answer", []model.Part{look}, toolset.DeferredResults{}, []model.Part{look, with(paid, allow)}, true},
		{"with content from before", list([]model.Part{look}, pictures), answer(allow), list([]model.Part{look, with(paid, allow)}, pictures), true},
		{"with content from before and now", list([]model.Part{look}, pictures), answer(allow), list([]model.Part{look, with(paid, allow)}, pictures, []model.Part{more}), true},
		{"with content from now", []model.Part{look}, answer(allow), []model.Part{look, with(paid, allow), more}, true},
		{"without another response", []model.Part{look}, answer(allow), []model.Part{look, with(paid, allow)}, false},
		{"without a result", []model.Part{look}, answer(allow), nil, false},
		{"with another result", []model.Part{look}, answer(allow), []model.Part{look, with(model.ToolReturn("c1", "pay", "unpaid"), allow)}, true},
	} {
		fmt.Fprintf(&said, "%s\n", c.name)
		for _, reason := range []string{"done", "failed", "cancelled"} {
			t.Run(c.name+" "+reason, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					pending := &model.Message{Kind: model.KindRequest, Pending: true, Parts: c.before, PendingCalls: []model.PendingCall{
						{ID: "c1", Tool: "pay", Args: empty, Approval: &model.Approval{Title: "Pay"}},
					}}
					r := &replay.Recording{Version: 1, Session: "s", Turns: []replay.Turn{
						{ID: "t1", Prompt: []model.Part{model.User("go")}, Messages: []int{0, 1, 2}, Reason: "pending"},
						{ID: "t2", Before: []int{0, 1, 2}, Answers: c.answers, Reason: reason},
					}}
					r.Messages = []*model.Message{
						model.UserText("go"), model.Response(model.ToolCall("c0", "look", "{}"), model.ToolCall("c1", "pay", "{}")), pending,
					}
					if c.parts != nil {
						r.Messages = append(r.Messages, &model.Message{Kind: model.KindRequest, Parts: c.parts, RunID: "t2"})
					}
					if c.end {
						r.Messages = append(r.Messages, model.Response(model.Text("done")))
					}
					turn := &r.Turns[1]
					for i := 3; i < len(r.Messages); i++ {
						turn.Messages = append(turn.Messages, i)
					}
					play := func() string {
						return tried(func() error { return replay.Play(t.Context(), r, 1, clerk(), none{}, replay.PlayOptions{}) })
					}
					played := play()
					fmt.Fprintf(&said, "  %s: %s\n", reason, played)
					if played != "the same" {
						return
					}
					require.NoError(t, replay.Fill(t.Context(), r, 1, clerk(), none{}, replay.PlayOptions{}))
					fmt.Fprintf(&said, "    filled: ran %v, own %v, asked %v, output %s, end %q\n", turn.Checked.Ran, turn.Checked.Own, turn.Checked.Asked, turn.Checked.Output, turn.Checked.End)
					require.Equal(t, "the same", play())
				})
			})
		}
	}
	sameAsFile(t, "resumed.txt", said.String())
}

// What only providers read is left out of a recording, and media unless they are wanted. Its notes
// say how much.
func TestSignaturesAndMediaAreLeftOut(t *testing.T) {
	image := func(n int) model.Part { return model.Media("image/png", make([]byte, n)) }
	signed := func(p model.Part) model.Part {
		p.Signature = json.RawMessage(`"s"`)
		return p
	}
	for _, c := range []struct {
		name   string
		prompt []model.Part
		answer []model.Part
		media  bool
		want   []string
	}{
		{"nothing", []model.Part{model.User("a")}, []model.Part{model.Text("b")}, false, nil},
		{"media", []model.Part{model.User("a"), image(5), image(7)}, []model.Part{model.Text("b")}, false, []string{"Left out: 4 media, 24 bytes."}},
		{"media that are kept", []model.Part{model.User("a"), image(5)}, []model.Part{model.Text("b")}, true, nil},
		{"signatures", []model.Part{model.User("a")}, []model.Part{signed(model.Thinking("x")), signed(model.Text("b"))}, false, []string{"Left out: 2 signatures of the provider."}},
		{"both", []model.Part{model.User("a"), image(1)}, []model.Part{signed(model.Text("b"))}, false, []string{"Left out: 1 signatures of the provider.", "Left out: 2 media, 2 bytes."}},
	} {
		st := new(session.Memory)
		_, err := st.Create(t.Context(), session.New{ID: "s"})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), st, "s", session.Claim{})
		require.NoError(t, err)
		conversation, err := transcript.Open(t.Context(), w, transcript.Options{})
		require.NoError(t, err)
		turn, err := conversation.Begin(t.Context(), c.prompt...)
		require.NoError(t, err)
		res, err := answering(c.answer).Run(t.Context(), none{}, "", append(turn.Options(), agent.WithParts(c.prompt...))...)
		require.NoError(t, transcript.End(t.Context(), turn, res, err))
		require.NoError(t, w.Close(t.Context()))
		r, err := replay.Make(t.Context(), st, "s", replay.Options{Media: c.media})
		require.NoError(t, err)
		require.Equal(t, append([]string{
			"Replayed: 1 responses of the model, the results of 0 calls, 0 decisions about calls.",
			"Real: instructions, tools' descriptions, schemas and checks of arguments, the order of calls, policies, limits, hooks, output functions.",
		}, c.want...), r.Notes, c.name)
		require.Equal(t, model.Info{Provider: "p2", Name: "m2", Media: []string{"image", "audio", "application/pdf"}}, r.Model, c.name)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(text), `"signature"`, c.name)
		require.Equal(t, len(c.want) > 0 && strings.Contains(strings.Join(c.want, ""), "media"), strings.Contains(string(text), "bGVmdCBvdXQ"), c.name)
	}
}

// answering is an agent whose model says something.
func answering(parts []model.Part) *agent.Agent[none, string] {
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: model.Func(model.Info{Provider: "p", Name: "m", Media: []string{"image"}}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
			resp := model.Response(parts...)
			resp.Provider, resp.Model = "p2", "m2"
			return resp, nil
		}),
	}))
}

// Instructions that are not the session's are left out line by line when a recording is filled: each
// line of the session stands for one.
func TestInstructionsOfOtherDaysAreGaps(t *testing.T) {
	for instructions, want := range map[string]string{
		"Be brief.":            "Be brief.",
		"Be brief.\nIt rains.": "Be brief.",
		"It rains.":            replay.Any,
	} {
		bubble(t, func(t *testing.T) {
			r := recordingWith(instructions)
			require.NoError(t, replay.Fill(t.Context(), r, 0, clerk(), none{}, replay.PlayOptions{}))
			require.Equal(t, want, r.Frames[0].Instructions)
		})
	}
	for _, c := range []struct{ recorded, now, want string }{
		{"a\nb", "a\nb", "a\nb"}, {"a\nb", "b\na", "b\na"}, {"a\nb", "a\na", "a\n" + replay.Any}, {"a\na", "a\na\na", "a\na\n" + replay.Any},
		{"a", "a\n\nb\n", "a\n\n" + replay.Any + "\n"},
	} {
		bubble(t, func(t *testing.T) {
			r := recordingWith(c.recorded)
			said := agent.Must(agent.New(agent.Config[none, string]{Model: model.Func(model.Info{}, nil), Instructions: c.now}))
			require.NoError(t, replay.Fill(t.Context(), r, 0, said, none{}, replay.PlayOptions{}))
			require.Equal(t, c.want, r.Frames[0].Instructions, "%+v", c)
		})
	}
}

// recordingWith is a recording of a turn with these instructions.
func recordingWith(instructions string) *replay.Recording {
	first := model.UserText("go")
	first.Instructions = instructions
	return &replay.Recording{
		Version: 1, Session: "s", Messages: []*model.Message{first, model.Response(model.Text("done"))},
		Turns: []replay.Turn{{ID: "t1", Prompt: []model.Part{model.User("go")}, Messages: []int{0, 1}, Reason: "done"}},
	}
}

// Marks of secrets are counted on from those that a recording has.
func TestMarksAreCountedOn(t *testing.T) {
	r := recordingWith("‹secret 3: password› and ‹secret 2: known›")
	r.Title = "hunter-22-hunter, then hunter-33-hunter"
	require.NoError(t, r.Clean("hunter-22-hunter", "hunter-33-hunter"))
	require.Equal(t, "‹secret 4: known›, then ‹secret 5: known›", r.Title)
	require.Equal(t, "‹secret 3: password› and ‹secret 2: known›", r.Messages[0].Instructions)
}

// bubble runs a part of a test in a bubble, as a subtest: a test of its own for those who note which
// tests run.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
}

// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// response returns a response of a run.
func response(run, text string, cut bool) *model.Message {
	m := model.Response(model.Text(text))
	m.RunID, m.Interrupted = run, cut
	return m
}

// What the messages have of a cut off answer is shown behind what the run has told of it, once.
func TestCutOffAnswerIsShownAsFarAsTheMessagesHaveIt(t *testing.T) {
	ask := func() *model.Message { return model.UserText("Go.") }
	with := func(all ...*model.Message) []*model.Message { return append([]*model.Message{ask()}, all...) }
	handed := func(m *model.Message) *model.Message {
		m.HandOver = new(model.HandOver)
		return m
	}
	delta := func(step int, text string) agent.Event {
		return agent.Event{Kind: agent.EventPartDelta, Step: step, PartKind: model.PartText, Text: text}
	}
	request := func(step int) agent.Event { return agent.Event{Kind: agent.EventRequestStart, Step: step} }
	told := func(step int, m *model.Message) agent.Event {
		return agent.Event{Kind: agent.EventResponse, Step: step, Message: m}
	}
	whole := response("r", "One.", false)
	for _, c := range []struct {
		name   string
		events []agent.Event
		end    []*model.Message
		want   []string
	}{
		{"no messages", []agent.Event{request(1)}, nil, nil},
		{"a prompt", []agent.Event{request(1)}, with(), nil},
		{"only the answer", []agent.Event{request(1)}, []*model.Message{response("r", "One", true)}, []string{"message:r/1 One"}},
		{"nothing told", []agent.Event{request(1)}, with(response("r", "One", true)), []string{"message:r/1 One"}},
		{"a part told", []agent.Event{request(1), delta(1, "O")}, with(response("r", "One", true)), []string{"message:r/1 One"}},
		{"all told", []agent.Event{request(1), delta(1, "One")}, with(response("r", "One", true)), []string{"message:r/1 One"}},
		{"other text told", []agent.Event{request(1), delta(1, "Two")}, with(response("r", "One", true)), []string{"message:r/1 TwoOne"}},
		{"its response told", []agent.Event{request(1), delta(1, "One"), told(1, response("r", "One", true))}, with(response("r", "One", true)), []string{"message:r/1 One"}},
		{"a whole answer", []agent.Event{request(1)}, with(response("r", "One", false)), nil},
		{"of another run", []agent.Event{request(1)}, with(response("q", "One", true)), nil},
		{"not the last message", []agent.Event{request(1)}, append(with(response("r", "One", true)), ask()), nil},
		{"behind a whole one", []agent.Event{request(1), delta(1, "One."), told(1, whole)}, with(whole, response("r", "Two", true)), []string{"message:r/1 One.", "message:r/2 Two"}},
		{"behind a whole one, asked for", []agent.Event{request(1), delta(1, "One."), told(1, whole), request(2), delta(2, "T")}, with(whole, response("r", "Two", true)), []string{"message:r/1 One.", "message:r/2 Two"}},
		{"behind one of another run", []agent.Event{request(1)}, with(response("q", "Before.", false), ask(), response("r", "Two", true)), []string{"message:r/1 Two"}},
		{"of another agent", []agent.Event{request(1)}, with(handed(response("r", "Two", true))), []string{"message:r/1 Two"}},
		{"behind one of another agent", []agent.Event{request(1)}, with(handed(response("r", "One.", false)), response("r", "Two", true)), []string{"message:r/1 Two"}},
	} {
		p := transcript.New("s", transcript.Options{})
		p.Start("r")
		for i := range c.events {
			p.Event(&c.events[i])
		}
		p.Said(c.end)
		var got []string
		for e := range p.Fold().Snapshot().All() {
			require.Equal(t, view.Message, e.Kind)
			got = append(got, e.ID+" "+e.Text())
		}
		require.Equal(t, c.want, got, c.name)
	}
}

// A turn that was stopped when its run had begun to wait keeps no calls that wait. Those of other
// runs, and of a turn that does wait, stay.
func TestStoppedTurnsLeaveNoCallsWaiting(t *testing.T) {
	waiting := func(run string, parts ...model.Part) *model.Message {
		return &model.Message{
			Kind: model.KindRequest, RunID: run, Parts: parts, Pending: true,
			PendingCalls:   []model.PendingCall{{ID: "a", Tool: "pay", Args: []byte(`{}`)}},
			SuspendedCalls: []model.SuspendedCall{{ID: "b", Tool: "ask", Args: []byte(`{}`)}},
		}
	}
	seen := model.ToolReturn("c", "look", "seen")
	stopped := &model.Message{Kind: model.KindRequest, RunID: "t", Parts: []model.Part{seen}, Interrupted: true}
	said := response("t", "So.", false)
	for _, reason := range []string{transcript.Done, transcript.Failed, transcript.Cancelled, transcript.Pending} {
		for name, c := range map[string]struct{ end, want []*model.Message }{
			"nothing":          {nil, nil},
			"one that waits":   {[]*model.Message{waiting("t")}, []*model.Message{}},
			"with a result":    {[]*model.Message{waiting("t", seen)}, []*model.Message{stopped}},
			"behind an answer": {[]*model.Message{said, waiting("t", seen)}, []*model.Message{said, stopped}},
			"without results":  {[]*model.Message{said, waiting("t")}, []*model.Message{said}},
			"of another run":   {[]*model.Message{said, waiting("q", seen)}, []*model.Message{said, waiting("q", seen)}},
			"an answer":        {[]*model.Message{said}, []*model.Message{said}},
		} {
			name = fmt.Sprint(reason, ", ", name)
			m := new(session.Memory)
			c0, w := open(t, m)
			now, err := c0.BeginAs(t.Context(), transcript.Prompt{Turn: "t", Parts: []model.Part{model.User("Go.")}})
			require.NoError(t, err)
			given := exact(t, c.end)
			require.NoError(t, now.Finish(t.Context(), c.end, reason))
			require.Equal(t, given, exact(t, c.end), "%s: what was passed is unchanged", name)
			want := c.want
			if reason == transcript.Pending {
				want = c.end
			}
			require.Len(t, c0.Messages(), len(want), name)
			if len(want) > 0 {
				require.Equal(t, exact(t, want), exact(t, c0.Messages()), name)
				require.Equal(t, exact(t, want), exact(t, read(t, m).Messages()), name)
			}
			require.NoError(t, w.Close(t.Context()))
		}
	}
}

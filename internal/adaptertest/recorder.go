// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// Hello is the shortest of requests.
func Hello() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("hi")}}
}

// Request is a message to the model.
func Request(parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindRequest, Parts: parts}
}

// Recorder has a sink that keeps deltas and checks the rules that hold for all of them.
type Recorder struct {
	T      testing.TB
	Deltas []model.Delta
	parts  []model.Part
}

// Sink takes a delta.
func (r *Recorder) Sink(d model.Delta) error {
	r.Deltas = append(r.Deltas, d)
	if d.Kind == "" {
		require.True(r.T, d.Usage != nil || d.Whole != nil, "a delta without a part has usage or a whole part")
		return nil
	}
	require.LessOrEqual(r.T, d.Part, len(r.parts), "a new part has the next index")
	if d.Part == len(r.parts) {
		r.parts = append(r.parts, model.Part{Kind: d.Kind, CallID: d.CallID, Tool: d.Tool})
	} else {
		require.Empty(r.T, d.CallID+d.Tool, "only the first delta of a part has id and tool")
	}
	p := &r.parts[d.Part]
	require.Equal(r.T, p.Kind, d.Kind)
	if d.Kind == model.PartToolCall {
		p.Args = append(p.Args, d.Text...)
	} else {
		p.Text += d.Text
	}
	return nil
}

// Agrees checks that the deltas match the message: each part, in whatever order they began, and the
// usage last.
func (r *Recorder) Agrees(msg *model.Message) {
	r.T.Helper()
	var want []model.Part
	for _, p := range msg.Parts {
		if p.Kind == model.PartText || p.Kind == model.PartToolCall || p.Kind == model.PartThinking && p.Text != "" {
			want = append(want, model.Part{Kind: p.Kind, Text: p.Text, CallID: p.CallID, Tool: p.Tool, Args: p.Args})
		}
	}
	require.ElementsMatch(r.T, want, r.parts)
	var usage model.Usage
	for _, d := range r.Deltas {
		if d.Usage != nil {
			usage = *d.Usage
		}
	}
	require.Equal(r.T, msg.Usage, usage)
}

// Stream makes a streamed request and checks the deltas against the message.
func Stream(t testing.TB, m model.Model, req *model.Request) (*model.Message, error) {
	t.Helper()
	r := &Recorder{T: t}
	msg, err := m.Generate(context.Background(), req, r.Sink)
	if err == nil {
		r.Agrees(msg)
	}
	return msg, err
}

// APIError returns err as an APIError, which keeps to one line and does not show key.
func APIError(t testing.TB, err error, key string) *model.APIError {
	t.Helper()
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.NotContains(t, err.Error(), key)
	require.NotContains(t, err.Error(), "\n")
	return e
}

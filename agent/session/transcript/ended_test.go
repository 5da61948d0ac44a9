// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// answers returns the statuses of the messages that are not the user's, in order.
func answers(f *view.Fold) (all []view.Status) {
	for e := range f.Snapshot().Of(view.Message) {
		if e.Role == view.Assistant {
			all = append(all, e.Status)
		}
	}
	return all
}

// half is a model that says half a sentence and then ends as end says.
func half(end func(ctx context.Context) (*model.Message, error)) model.Model {
	return model.Func(model.Info{Name: "half"}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		sink(model.Delta{Kind: model.PartText, Text: "Half a"})
		return end(ctx)
	})
}

// TestHalfAnswersSayHowTheyEnded ends turns in every way, with and without text of the answer, and reads them in other processes.
func TestHalfAnswersSayHowTheyEnded(t *testing.T) {
	broken := errors.New("broken")
	tools := []*toolset.Tool[none]{toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "seen", nil })}
	look := modeltest.Say(model.Text("Let me look."), model.ToolCall("c", "look", `{}`))
	cut := model.Response(model.Text("Half a"))
	cut.Finish = model.FinishLength
	for name, c := range map[string]struct {
		model func(cancel func()) model.Model
		want  []view.Status
	}{
		"whole": {func(func()) model.Model { return modeltest.Script(look, modeltest.SayText("It is blue.")) }, []view.Status{"", ""}},
		"stopped": {func(cancel func()) model.Model {
			return half(func(ctx context.Context) (*model.Message, error) {
				cancel()
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
		}, []view.Status{view.Stopped}},
		"failed": {func(func()) model.Model {
			return half(func(context.Context) (*model.Message, error) { return nil, broken })
		}, []view.Status{view.Failed}},
		"failed without a word": {func(func()) model.Model { return modeltest.Script(modeltest.Fail(broken)) }, []view.Status{view.Failed}},
		"failed after a call":   {func(func()) model.Model { return modeltest.Script(look, modeltest.Fail(broken)) }, []view.Status{"", view.Failed}},
		"cut off": {func(func()) model.Model {
			return model.Func(model.Info{Name: "cut"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return cut.Clone(), nil })
		}, []view.Status{view.CutOff}},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(session.Memory)
			s := openShown(t, store, true)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a := agent.Must(agent.New(agent.Config[none, string]{Model: c.model(cancel), Tools: tools}))
			now, err := s.c.Begin(t.Context(), model.User("Go."))
			require.NoError(t, err)
			stream := a.Stream(ctx, none{}, "Go.", now.Options()...)
			for e := range stream.Events() {
				now.Observe(&e)
			}
			res, failed := stream.Result()
			require.NoError(t, transcript.End(t.Context(), now, res, failed))
			require.Equal(t, c.want, answers(s.fold))
			requireSame(t, s)
		})
	}
}

// TestAnswersOfDeadProcessesAreInterrupted leaves turns where they are, and looks at them before and after they are settled.
func TestAnswersOfDeadProcessesAreInterrupted(t *testing.T) {
	store := new(session.Memory)
	a := travel(modeltest.Say(model.Text("Let me look."), model.ToolCall("a", "edit", `{}`)), modeltest.SayText("Done."))
	require.NoError(t, promptShown(openShown(t, store, true), a, "Go.", func(e *agent.Event) bool { return e.Kind != agent.EventToolResult }))
	require.Equal(t, []view.Status{"", view.Interrupted}, answers(readShown(t, store)))
	s := openShown(t, store, true)
	require.Equal(t, []view.Status{"", view.Interrupted}, answers(s.fold))
	require.NoError(t, promptShown(s, travel(modeltest.SayText("Yes.")), "Well?", nil))
	require.Equal(t, []view.Status{"", view.Interrupted, ""}, answers(s.fold))
	requireSame(t, s)
}

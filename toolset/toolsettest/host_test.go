// SPDX-License-Identifier: Apache-2.0

package toolsettest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// asked answers with the origin of the question.
type asked struct{ toolset.Asker }

func (asked) Answer(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	if q.Origin.Tool != "ask" || len(q.Origin.Path) != 1 || q.Origin.Path[0] != "c" {
		return toolset.Reply{}, errWrong
	}
	return toolset.Reply{}, nil
}

// echo is a model that returns its own words.
type echo struct{ model.Model }

func (echo) Generate(context.Context, *model.Request, model.Sink) (*model.Message, error) {
	return model.Response(model.Text("echo")), nil
}

func TestHostAnswersWhatItHas(t *testing.T) {
	var h toolsettest.Host
	call := toolset.Call{ID: "c", Tool: "ask"}
	_, err := h.Ask(t.Context(), call, toolset.Question{})
	require.ErrorIs(t, err, toolset.ErrNobody)
	_, err = h.Generate(t.Context(), call, &model.Request{})
	require.ErrorIs(t, err, toolset.ErrNobody)
	require.Empty(t, h.Events())
	h.Asker, h.Model = asked{}, echo{}
	_, err = h.Ask(t.Context(), call, toolset.Question{})
	require.NoError(t, err)
	m, err := h.Generate(t.Context(), call, &model.Request{})
	require.NoError(t, err)
	require.Equal(t, "echo", m.Parts[0].Text)
	h.Emit(call, 1)
	h.Emit(call, "two")
	events := h.Events()
	require.Equal(t, []any{1, "two"}, events)
	events[0] = "changed"
	require.Equal(t, []any{1, "two"}, h.Events())
}

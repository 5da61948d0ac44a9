// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestAskerOfARunAsksInThePlaceOfTheCall(t *testing.T) {
	tool := toolset.Func("drive", "", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
		asker := agent.AskerOf(run)
		d, err := asker.Approve(ctx, toolset.ApprovalRequest{Origin: toolset.Origin{Path: []string{"inside"}, Tool: "rm"}})
		if err != nil {
			return err.Error(), nil
		}
		reply, err := asker.Answer(ctx, toolset.Question{Origin: toolset.Origin{Path: []string{"inside"}}, Message: "sure?"})
		return string(d.Verdict) + " " + string(reply.Action), err
	})
	var paths [][]string
	script := func() model.Model {
		return modeltest.Script(modeltest.Say(model.ToolCall("1", "drive", "{}")), modeltest.SayText("done"))
	}
	asker := toolset.AskerFuncs{
		OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			paths = append(paths, r.Path)
			return toolset.Allow(), nil
		},
		OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
			paths = append(paths, q.Path)
			return toolset.Reply{Action: toolset.ActionDecline}, nil
		},
	}
	res, err := newAgent(t, cfg{Model: script(), Asker: asker}, tool).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "allow decline", res.Messages[2].Parts[0].Text)
	require.Equal(t, [][]string{{"1", "inside"}, {"1", "inside"}}, paths)

	res, err = newAgent(t, cfg{Model: script()}, tool).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, toolset.ErrNobody.Error(), res.Messages[2].Parts[0].Text)
	_, err = agent.AskerOf(&toolset.RunContext[deps]{}).Approve(t.Context(), toolset.ApprovalRequest{})
	require.ErrorIs(t, err, toolset.ErrNobody)
}

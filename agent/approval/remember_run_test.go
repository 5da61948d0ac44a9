// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestDecisionsThatHoldAlwaysAreRememberedByToolAndScope(t *testing.T) {
	type args struct {
		Path string `json:"path" validate:"required"`
	}
	var removed []string
	tool := toolset.Plain[any]("remove", "Remove a file.", func(_ context.Context, in args) (string, error) {
		removed = append(removed, in.Path)
		return "removed", nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[any], in args) (*toolset.Approval, error) {
		return &toolset.Approval{Scope: in.Path}, nil
	}))
	remove := func(id, path string) model.Part {
		return model.ToolCall(id, "remove", fmt.Sprintf(`{"path":%q}`, path))
	}
	run := func(asker toolset.Asker, steps ...modeltest.Step) (*agent.Result[string], error) {
		a := agent.Must(agent.New(agent.Config[any, string]{
			Asker: asker, Model: modeltest.Script(steps...), Tools: []*toolset.Tool[any]{tool},
		}))
		return a.Run(t.Context(), nil, "go")
	}

	var policy approval.Policy
	var asked []string
	asker := approval.Remember(&policy, toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = append(asked, r.CallID())
		d := map[string]toolset.Decision{
			"a": toolset.Allow(), "b": toolset.Deny("no"), "c": toolset.Allow(), "d": toolset.Defer(),
		}[r.Approval.Scope]
		d.Always = r.Approval.Scope != "c"
		return d, nil
	}})
	res, err := run(asker, modeltest.Say(remove("1", "a"), remove("2", "a"), remove("3", "b"),
		remove("4", "b"), remove("5", "c"), remove("6", "c")), modeltest.SayText("ok"))
	require.NoError(t, err)
	require.Equal(t, []string{"1", "3", "5", "6"}, asked)
	require.Len(t, removed, 4)
	require.Equal(t, "The user denied this and asked not to be asked again.", res.Messages[2].Parts[3].Text)

	stored, err := json.Marshal(&policy)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(stored, &policy))
	_, err = run(asker, modeltest.Say(remove("7", "a"), remove("8", "d")))
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	require.Equal(t, "8", pending.Calls[0].ID)
	require.Equal(t, []string{"1", "3", "5", "6", "8"}, asked, "the policy is kept as JSON")

	boom := errors.New("boom")
	_, err = run(approval.Remember(&policy, toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Decision{}, boom
	}}), modeltest.Say(remove("9", "z")))
	require.ErrorIs(t, err, boom)
}

// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

type path struct {
	Path string `json:"path" validate:"required"`
}

// remover is a toolset with one tool that removes and one that lists.
func remover(removed *[]string) set {
	return toolset.Of(
		toolset.Func("remove", "Remove a file.", func(_ context.Context, run *runContext, in path) (string, error) {
			*removed = append(*removed, fmt.Sprintf("%s, approved: %v", in.Path, run.Call.Approved))
			return "removed", nil
		}),
		tell("list"))
}

func remove(id, path string) model.Part {
	return model.ToolCall(id, "remove", fmt.Sprintf(`{"path":%q}`, path))
}

func pending(t *testing.T, err error) []agent.PendingCall {
	t.Helper()
	var p *agent.PendingError
	require.ErrorAs(t, err, &p)
	return p.Calls
}

func TestApprovedUsesToolAndArguments(t *testing.T) {
	var removed []string
	both(t, remover(&removed), func(t *testing.T, inner set) {
		removed = nil
		s := toolset.Approved(inner, func(_ context.Context, run *runContext, tool *toolset.Tool[deps], args any) (*toolset.Approval, error) {
			in, ok := args.(*path)
			if !ok || strings.HasPrefix(in.Path, "tmp/") {
				return nil, nil
			}
			return &toolset.Approval{Reason: run.Deps.Name + " wants to " + tool.Def.Name, Scope: in.Path}, nil
		})
		tr := run(t, []set{s}, modeltest.Say(remove("1", "tmp/a"), remove("2", "etc/b"), model.ToolCall("3", "list", "")))
		require.Equal(t, []string{"tmp/a, approved: false"}, removed)
		calls := pending(t, tr.err)
		require.Len(t, calls, 1)
		require.Equal(t, "2", calls[0].ID)
		require.Equal(t, &toolset.Approval{Reason: "Ada wants to remove", Scope: "etc/b"}, calls[0].Approval)

		var e *agent.RunError
		require.ErrorAs(t, tr.err, &e)
		res, err := newAgent(t, modeltest.Script(done), s).Run(t.Context(), deps{"Ada"}, "", agent.WithHistory(e.Messages),
			agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"2": toolset.Allow()}}))
		require.NoError(t, err)
		require.Equal(t, "done", res.Output)
		require.Equal(t, []string{"tmp/a, approved: false", "etc/b, approved: true"}, removed)
	})
}

func TestApprovedWithoutFunctionCoversEveryCall(t *testing.T) {
	var removed []string
	tr := run(t, []set{toolset.Approved(remover(&removed), nil)}, modeltest.Say(remove("1", "a"), model.ToolCall("2", "list", "")))
	require.Len(t, pending(t, tr.err), 2)
	require.Empty(t, removed)
}

func TestArgumentsAreCheckedBeforeApproval(t *testing.T) {
	var removed []string
	never := func(context.Context, *runContext, *toolset.Tool[deps], any) (*toolset.Approval, error) {
		return nil, errors.New("must not be asked")
	}
	tr := run(t, []set{toolset.Approved(remover(&removed), never)}, modeltest.Say(remove("1", "")), done)
	require.NoError(t, tr.err)
	require.Contains(t, tr.answers[0], "path: ")
}

func TestToolAsksForApprovalBeforeApproved(t *testing.T) {
	own := *tell("a")
	own.Approval = func(context.Context, *runContext, any) (*toolset.Approval, error) {
		return &toolset.Approval{Scope: "own"}, nil
	}
	free := *tell("b")
	free.Approval = func(context.Context, *runContext, any) (*toolset.Approval, error) { return nil, nil }
	s := toolset.Approved(toolset.Of(&own, &free), func(context.Context, *runContext, *toolset.Tool[deps], any) (*toolset.Approval, error) {
		return &toolset.Approval{Scope: "outer"}, nil
	})
	calls := pending(t, run(t, []set{s}, say("a", "b")).err)
	require.Equal(t, "own", calls[0].Approval.Scope)
	require.Equal(t, "outer", calls[1].Approval.Scope)
}

// A check that fails must not let the call run, even if the outer function would allow it.
func TestApprovedKeepsErrorsOfTheTool(t *testing.T) {
	ran := false
	tool := *toolset.Plain[deps]("a", "A tool.", func(context.Context, struct{}) (string, error) {
		ran = true
		return "", nil
	})
	tool.Approval = func(context.Context, *runContext, any) (*toolset.Approval, error) { return nil, errBoom }
	allow := func(context.Context, *runContext, *toolset.Tool[deps], any) (*toolset.Approval, error) {
		return nil, nil
	}
	require.ErrorIs(t, run(t, []set{toolset.Approved(toolset.Of(&tool), allow)}, say("a")).err, errBoom)
	require.False(t, ran)
}

func TestFailedApprovalFunctionEndsTheRun(t *testing.T) {
	s := toolset.Approved(tells("a"), func(context.Context, *runContext, *toolset.Tool[deps], any) (*toolset.Approval, error) {
		return nil, errBoom
	})
	require.ErrorIs(t, run(t, []set{s}, say("a")).err, errBoom)
	s = toolset.Approved(tells("a"), func(context.Context, *runContext, *toolset.Tool[deps], any) (*toolset.Approval, error) { panic("oops") })
	require.ErrorContains(t, run(t, []set{s}, say("a")).err, "oops")
}

func TestApprovalSeesTheOriginalName(t *testing.T) {
	for name, combine := range combinators() {
		t.Run(name, func(t *testing.T) {
			both(t, tells("tell", "second"), func(t *testing.T, inner set) {
				s, offered := combine(toolset.Approved(inner, func(_ context.Context, run *runContext, tool *toolset.Tool[deps], _ any) (*toolset.Approval, error) {
					return &toolset.Approval{Reason: tool.Def.Name + "=" + run.Call.Tool + " for " + run.Deps.Name}, nil
				}))
				calls := pending(t, run(t, []set{s}, say(offered)).err)
				require.Equal(t, offered, calls[0].Tool)
				require.Equal(t, "tell=tell for Ada", calls[0].Approval.Reason)
			})
		})
	}
}

func ExampleApproved() {
	type Args struct {
		Command string `json:"command"`
	}
	shell := toolset.Plain[int]("shell", "Run a command.", func(_ context.Context, in Args) (string, error) { return "ran " + in.Command, nil })
	s := toolset.Approved(toolset.Of(shell), func(_ context.Context, _ *toolset.RunContext[int], _ *toolset.Tool[int], args any) (*toolset.Approval, error) {
		program, _, _ := strings.Cut(args.(*Args).Command, " ")
		if program == "ls" {
			return nil, nil
		}
		return &toolset.Approval{Reason: "It may change things.", Scope: program}, nil
	})
	res, err := toolsettest.Call(context.Background(), s, nil, "shell", `{"command":"ls -l"}`)
	fmt.Println(res.Text, err)
	_, err = toolsettest.Call(context.Background(), s, nil, "shell", `{"command":"rm -r ."}`)
	fmt.Println(err)
	// Output:
	// ran ls -l <nil>
	// approval required: It may change things.
}

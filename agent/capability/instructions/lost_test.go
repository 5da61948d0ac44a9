// SPDX-License-Identifier: Apache-2.0

package instructions_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/failing"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// imported has imports of every depth, and instructions that a call touches.
var imported = files{
	"AGENTS.md": "top @1.md", "1.md": "@2.md", "2.md": "@3.md", "3.md": "@4.md", "4.md": "@5.md", "5.md": "five @6.md", "6.md": "six",
	"a/AGENTS.md": "of a @more.md", "a/more.md": "more of a", "a/x.go": "package a",
}

// Which file cannot be read makes no difference: nobody knows which instructions are missing.
func TestLostWorkspaceEndsTheRun(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: imported})
	for _, lost := range []error{workspace.ErrLost, context.Canceled, context.DeadlineExceeded} {
		failed := 0
		for n := range failing.Operations {
			plan := failing.At(n, lost)
			a := agent.Must(agent.New(agent.Config[deps, string]{
				Model:        modeltest.Script(modeltest.SayText("done")),
				Capabilities: []agent.Capability[deps]{instructions.New(func(d deps) *workspace.Session { return d.work }, instructions.Options{})},
			}))
			_, err := a.Run(t.Context(), deps{workspace.NewSession(failing.Workspace{Workspace: p.ws, Plan: plan})}, "go")
			if !plan.Failed() {
				require.NoError(t, err)
				break
			}
			failed++
			require.ErrorIs(t, err, lost, plan.Operation())
			require.ErrorContains(t, err, "instructions: ", plan.Operation())
		}
		require.Equal(t, 8, failed, "it looks for .git and reads each file")
	}
}

// A call that has been executed is not undone by instructions that cannot be read, unless the workspace is lost.
func TestCallEndsTheRunOnlyIfTheWorkspaceIsLost(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: imported})
	for _, wrong := range []error{workspace.ErrLost, errors.New("boom")} {
		failed := 0
		for n := range failing.Operations {
			plan := failing.At(n, wrong)
			calls := 0
			script := modeltest.Script(func(context.Context, *model.Request) (*model.Message, error) {
				calls++
				return model.Response(read("1", "a/x.go")), nil
			}, modeltest.SayText("done"))
			_, err := p.agent.Run(t.Context(), deps{workspace.NewSession(failing.Workspace{Workspace: p.ws, Plan: plan})}, "go", agent.WithModel(script))
			if !plan.Failed() {
				require.NoError(t, err)
				break
			}
			if calls == 0 {
				continue // while the run begins
			}
			if failed++; errors.Is(wrong, workspace.ErrLost) {
				require.ErrorIs(t, err, wrong, plan.Operation())
			} else {
				require.NoError(t, err, plan.Operation())
			}
		}
		require.GreaterOrEqual(t, failed, 4, "it reads the file, looks for .git and reads two files of instructions")
	}
}

func TestInstructionsThatCannotBeReadAreNamed(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: imported})
	all := ""
	for n := range failing.Operations {
		plan := failing.At(n, errors.New("boom"))
		p.deps.work = workspace.NewSession(failing.Workspace{Workspace: p.ws, Plan: plan})
		text := p.standing()
		if !plan.Failed() {
			break
		}
		all += text + "\n"
	}
	for _, name := range []string{"AGENTS.md", "@1.md", "@2.md", "@5.md"} {
		require.Contains(t, all, "[Left out: "+name+": it cannot be read.]")
	}
	require.NotContains(t, all, "boom")
}

func TestCutInstructionsEndWithAWholeCharacter(t *testing.T) {
	for _, shift := range []string{"", "x", "xx", "xxx"} {
		text := shift + strings.Repeat("😀", 100)
		p := newProject(t, instructions.Options{MaxFile: 40}, workspace.MemoryConfig{Files: files{"AGENTS.md": text}})
		requests, _ := p.run(nil)
		_, got, _ := strings.Cut(requests[0].Instructions, "<project_instructions file=\"AGENTS.md\">\n")
		got, rest, _ := strings.Cut(got, "\n")
		require.Greater(t, len(got), 36)
		require.LessOrEqual(t, len(got), 40)
		require.True(t, strings.HasPrefix(text, got), got)
		require.Contains(t, rest, "[Cut here: the first ")
		require.NotContains(t, rest, "not text")
	}
	p := newProject(t, instructions.Options{MaxFile: 40}, workspace.MemoryConfig{Files: files{"AGENTS.md": strings.Repeat("x", 30) + strings.Repeat("\xff", 30)}})
	requests, _ := p.run(nil)
	require.Contains(t, requests[0].Instructions, "[Left out: AGENTS.md: it is not text.]")
}

// A call without a session, or that is not about a file, has nothing to add.
func TestCallsWithoutAFileAddNoInstructions(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: imported})
	type args struct {
		Path string `json:"path"`
	}
	own := toolset.Func("own", "Own.", func(context.Context, *toolset.RunContext[deps], args) (string, error) { return "done", nil })
	for _, work := range []*workspace.Session{nil, workspace.NewSession(nil), p.deps.work} {
		a := agent.Must(agent.New(agent.Config[deps, string]{
			Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "own", `{"path":"a/x.go"}`)), modeltest.SayText("done")),
			Tools: []*toolset.Tool[deps]{own},
			Capabilities: []agent.Capability[deps]{
				instructions.New(func(d deps) *workspace.Session { return d.work }, instructions.Options{}),
			},
		}))
		res, err := a.Run(t.Context(), deps{work}, "go")
		require.NoError(t, err)
		require.Equal(t, "done", res.Messages[2].Parts[0].Text)
		require.Empty(t, added(res.Messages))
	}
}

func TestInvalidOptionsAreErrorsOfOpen(t *testing.T) {
	c := instructions.New[deps](nil, instructions.Options{})
	_, err := c.Toolsets[0].Open(t.Context(), &toolset.RunContext[deps]{})
	require.ErrorContains(t, err, "instructions: New: the function is nil")
}

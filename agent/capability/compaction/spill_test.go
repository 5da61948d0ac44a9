// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/failing"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// spilled runs an agent whose tool returns a text, and returns what the model is told.
func spilled(t *testing.T, w workspace.Workspace, text string) (string, error) {
	t.Helper()
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "big", "{}")), modeltest.SayText("done")),
		Tools: []*toolset.Tool[deps]{toolset.Plain[deps]("big", "", func(context.Context, struct{}) (string, error) { return text, nil })},
		Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{
			Model: summariser(), Spill: func(deps) workspace.Workspace { return w }, SpillBytes: 4 << 10,
		})},
	}))
	res, err := a.Run(t.Context(), deps{}, "go")
	if err != nil {
		return "", err
	}
	return res.Messages[2].Parts[0].Text, nil
}

func newDisk(t *testing.T) *workspace.Memory {
	t.Helper()
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	return ws
}

func TestResultsAreSpilledFromSpillBytesOn(t *testing.T) {
	short := strings.Repeat("x", 4<<10-1)
	text, err := spilled(t, newDisk(t), short)
	require.NoError(t, err)
	require.Equal(t, short, text)
	text, err = spilled(t, newDisk(t), short+"x")
	require.NoError(t, err)
	require.Contains(t, text, "[The result has 4096 bytes;")
}

func TestSpilledResultShowsItsBeginningAndItsEnd(t *testing.T) {
	for _, shift := range []string{"", "x", "xx", "xxx"} {
		long := shift + strings.Repeat("😀", 2000) + shift
		text, err := spilled(t, newDisk(t), long)
		require.NoError(t, err)
		require.True(t, utf8.ValidString(text))
		first, rest, _ := strings.Cut(text, "\n[The result has ")
		_, last, _ := strings.Cut(rest, "]\n")
		require.True(t, strings.HasPrefix(long, first))
		require.True(t, strings.HasSuffix(long, last))
		for shown, bound := range map[string]int{first: 2 << 10, last: 1 << 10} {
			require.LessOrEqual(t, len(shown), bound)
			require.Greater(t, len(shown), bound-utf8.UTFMax)
		}
	}
}

// A lost workspace ends the run. With any other error the model gets the result as it is.
func TestSpillThatFailsLosesNothing(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, wrong := range []error{workspace.ErrLost, errors.New("boom")} {
		for n := range failing.Operations {
			plan := failing.At(n, wrong)
			text, err := spilled(t, failing.Workspace{Workspace: newDisk(t), Plan: plan}, long)
			if !plan.Failed() {
				require.NoError(t, err)
				require.Contains(t, text, "The result has 5000 bytes")
				require.Equal(t, 2, n, "the result, and what keeps it out of repositories")
				break
			}
			if errors.Is(wrong, workspace.ErrLost) {
				require.ErrorIs(t, err, wrong)
				require.ErrorContains(t, err, "compaction: ")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, long, text)
		}
	}
}

// bare is a workspace with few features.
type bare struct {
	*workspace.Memory
	features workspace.Features
}

func (b bare) Features() workspace.Features { return b.features }

func TestResultsAreSpilledWhereTheModelCanReadThem(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for features, want := range map[workspace.Features]bool{{}: false, {Write: true}: false, {Read: true}: false, {Read: true, Write: true}: true} {
		text, err := spilled(t, bare{newDisk(t), features}, long)
		require.NoError(t, err)
		require.Equal(t, want, text != long, "%+v", features)
	}
}

// refusing is a model that refuses requests as too long, so many times.
func refusing(times int, then error) (model.Model, *[]int) {
	var sizes []int
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		sizes = append(sizes, len(textOf(req.Messages)))
		if len(sizes) <= times {
			return nil, &model.APIError{Provider: "test", Status: 400, Code: "context_length_exceeded"}
		}
		if then != nil {
			return nil, then
		}
		return model.Response(model.Text("ok")), nil
	}), &sizes
}

func longHistory() (messages []*model.Message) {
	for i := range 20 {
		messages = append(messages, model.UserText(fmt.Sprint("turn ", i, strings.Repeat(" word", 100))), model.Response(model.Text("ok")))
	}
	return messages
}

func TestRefusedRequestsAreSentShorterThreeTimes(t *testing.T) {
	run := func(m model.Model, messages []*model.Message) (*agent.Result[string], error) {
		a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})}}))
		return a.Run(t.Context(), deps{}, "go", agent.WithHistory(messages))
	}
	for refused := range 4 {
		m, sizes := refusing(refused, nil)
		res, err := run(m, longHistory())
		require.NoError(t, err)
		require.Equal(t, "ok", res.Output)
		require.Len(t, *sizes, refused+1)
		for i, share := range []int{70, 45, 25}[:refused] {
			require.LessOrEqual(t, (*sizes)[i+1]*100, (*sizes)[0]*share)
			require.Greater(t, (*sizes)[i+1]*100, (*sizes)[0]*(share*9/10-10))
		}
	}
	m, sizes := refusing(100, nil)
	_, err := run(m, longHistory())
	require.ErrorIs(t, err, model.ErrContextLength)
	require.Len(t, *sizes, 4)

	boom := errors.New("boom")
	m, sizes = refusing(1, boom)
	_, err = run(m, longHistory())
	require.ErrorIs(t, err, boom)
	require.Len(t, *sizes, 2, "another error ends it")

	m, sizes = refusing(100, nil)
	_, err = run(m, nil)
	require.ErrorIs(t, err, model.ErrContextLength)
	require.Len(t, *sizes, 1, "there is nothing to leave out")
}

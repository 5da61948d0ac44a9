// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestThatACallNeedsApprovalIsRemembered: the policy may have changed, because somebody has allowed all calls of the tool.
func TestThatACallNeedsApprovalIsRemembered(t *testing.T) {
	var j journal.Memory
	asked, ran := 0, 0
	policy := func() (*toolset.Approval, error) { return &toolset.Approval{Reason: "first"}, nil }
	approver := func(call toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Decision{}, errBoom }
	c := config{
		Toolsets: []toolset.Toolset[none]{toolset.Approved(toolset.Of(counted("one", &ran, says("1"))), func(context.Context, *runContext, *toolset.Tool[none], any) (*toolset.Approval, error) {
			asked++
			return policy()
		})},
		Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, call toolset.ApprovalRequest) (toolset.Decision, error) {
			return approver(call)
		}},
	}
	steps := []modeltest.Step{calls("one")}
	_, err := run(t, &j, c, steps)
	require.ErrorIs(t, err, errBoom)
	policy = func() (*toolset.Approval, error) { return nil, errBoom }
	approver = func(call toolset.ApprovalRequest) (toolset.Decision, error) {
		require.Equal(t, "first", call.Approval.Reason)
		return toolset.AllowWith(json.RawMessage(`{ }`)), nil
	}
	_, err = run(t, &j, c, []modeltest.Step{modeltest.Fail(errBoom)})
	require.ErrorContains(t, err, "model: boom")
	approver = func(toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Deny("never"), nil }
	_, err = run(t, &j, c, []modeltest.Step{modeltest.SayText("ok")})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{asked, ran})

	// And a call that needed none needs none later.
	var j2 journal.Memory
	policy = func() (*toolset.Approval, error) { return nil, nil }
	_, err = run(t, &j2, c, []modeltest.Step{calls("one"), modeltest.Fail(errBoom)})
	require.ErrorIs(t, err, errBoom)
	policy = func() (*toolset.Approval, error) { return &toolset.Approval{}, nil }
	_, err = run(t, &j2, c, []modeltest.Step{modeltest.SayText("ok")})
	require.NoError(t, err)
	require.Equal(t, 2, ran)

	policy = func() (*toolset.Approval, error) { return nil, errBoom }
	_, err = run(t, new(journal.Memory), c, []modeltest.Step{calls("one")})
	require.ErrorContains(t, err, "approval \"one\" (call 0): boom")
	policy = func() (*toolset.Approval, error) { return &toolset.Approval{}, nil }
	_, err = run(t, &mortal{Journal: new(journal.Memory), left: 2}, c, []modeltest.Step{calls("one")})
	journalError(t, err, "append")
}

// TestDenialOfACancelledRunIsNoDecision: dialogs are dismissed when a run is cancelled.
func TestDenialOfACancelledRunIsNoDecision(t *testing.T) {
	var j journal.Memory
	ctx, cancel := context.WithCancel(context.Background())
	decision := toolset.Deny("dismissed")
	c := config{
		Toolsets: []toolset.Toolset[none]{toolset.Approved[none](toolset.Of(counted("one", new(int), says("1"))), nil)},
		Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
			cancel()
			return decision, nil
		}},
	}
	_, err := newAgent(t, c, modeltest.Script(calls("one"))).Run(ctx, none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"))
	require.ErrorIs(t, err, context.Canceled)
	decision = toolset.Allow()
	res, err := run(t, &j, c, []modeltest.Step{modeltest.SayText("ok")})
	require.NoError(t, err)
	require.Equal(t, "1", res.Messages[2].Parts[0].Text)
}

func TestUsageOfWhatIsNotRepeatedCounts(t *testing.T) {
	var j journal.Memory
	n := 0
	spend := counted("spend", &n, func(_ context.Context, run *runContext) (string, error) {
		run.Meter.Add(toolset.Usage{Requests: 2, ToolCalls: 3, Usage: model.Usage{InputTokens: 1000}})
		require.GreaterOrEqual(t, run.Meter.Usage().InputTokens, int64(1010), "it is the run's meter")
		require.NoError(t, run.Meter.Request())
		return "", nil
	})
	_, err := run(t, &j, config{}, []modeltest.Step{calls("spend"), modeltest.Fail(errBoom)}, spend)
	require.ErrorIs(t, err, errBoom)
	res, err := run(t, &j, config{}, []modeltest.Step{modeltest.SayText("ok")}, spend)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, toolset.Usage{Requests: 1 + 3 + 1, ToolCalls: 3 + 1, Usage: model.Usage{InputTokens: 1020, OutputTokens: 10}}, res.Usage)

	_, err = run(t, &j, config{Limits: agent.Limits{InputTokens: 1005}}, nil, spend)
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit, "limits hold for what is not repeated, too")
}

func TestHistoryThatWasProcessedStaysSo(t *testing.T) {
	var j journal.Memory
	n, looked := 0, 0
	var process func(messages []*model.Message) []*model.Message
	c := config{History: []agent.HistoryProcessor[none]{func(_ context.Context, run *runContext, messages []*model.Message) ([]*model.Message, error) {
		looked++
		if run.Step != 2 {
			return messages, nil
		}
		n++
		return process(messages), nil
	}}}
	one := counted("one", new(int), says("1"))
	replacedLast := func(messages []*model.Message) []*model.Message {
		last := messages[2].Clone()
		last.Parts[0].Text = "redacted"
		return []*model.Message{messages[1], messages[0], model.UserText("between"), messages[1], last}
	}
	process = replacedLast
	_, err := run(t, &j, c, []modeltest.Step{calls("one"), modeltest.Fail(errBoom)}, one)
	require.ErrorIs(t, err, errBoom)
	process = func([]*model.Message) []*model.Message { return nil }
	res, err := run(t, &j, c, []modeltest.Step{modeltest.SayText("ok")}, one)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{n, looked}, "nobody looks at the history of a step that is recorded")
	require.Len(t, res.Messages, 6)
	require.Equal(t, "redacted", res.Messages[4].Parts[0].Text)

	_, err = run(t, new(journal.Memory), c, []modeltest.Step{calls("one")}, one)
	require.ErrorContains(t, err, "a history processor left no message")
	process = replacedLast
	_, err = run(t, &mortal{Journal: new(journal.Memory), left: 3}, c, []modeltest.Step{calls("one")}, one)
	journalError(t, err, "append")

	records := raw(t, &j, "r")
	at := slices.IndexFunc(records, func(r string) bool { return strings.Contains(r, `"op":"history"`) })
	_, err = run(t, journalOf(t, replaced(records, at, `"messages":3`, `"messages":4`)...), c, nil, one)
	require.ErrorIs(t, err, journal.ErrDiverged)
	_, err = run(t, journalOf(t, replaced(records, at, `"to":2`, `"to":7`)...), c, nil, one)
	require.ErrorIs(t, err, journal.ErrCorrupt)
	_, err = run(t, &refuses{op: `"op":"history"`}, c, []modeltest.Step{calls("one")}, one)
	journalError(t, err, "append")
}

// refuses is a journal that refuses records.
type refuses struct {
	journal.Memory
	op string
}

func (r *refuses) Open(ctx context.Context, run string) (journal.Log, error) {
	l, err := r.Memory.Open(ctx, run)
	return refusesLog{l, r.op}, err
}

type refusesLog struct {
	journal.Log
	op string
}

func (l refusesLog) Append(ctx context.Context, record []byte) error {
	if strings.Contains(string(record), l.op) {
		return errBoom
	}
	return l.Log.Append(ctx, record)
}

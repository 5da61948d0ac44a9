// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// errFull is what a store says that has no room for a moment.
var errFull = errors.New("the disk is full")

// stumbling is a store of which one append fails, the at-th from now. The entries may be there all the same.
type stumbling struct {
	*session.Memory
	at    atomic.Int64
	there bool
}

func (s *stumbling) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if s.at.Add(-1) != 0 {
		return s.Memory.Append(ctx, l, head, b)
	}
	if s.there {
		if _, err := s.Memory.Append(ctx, l, head, b); err != nil {
			return 0, err
		}
	}
	return 0, errFull
}

// ways are agents whose turns end in each of the ways.
var ways = map[string]func(cancel func()) *agent.Agent[none, string]{
	transcript.Done: func(func()) *agent.Agent[none, string] { return new(worker).agent() },
	transcript.Failed: func(func()) *agent.Agent[none, string] {
		return scripted(modeltest.Say(model.ToolCall("c1", "stop", `{}`)), modeltest.Fail(errors.New("no model")), modeltest.SayText("It is done."))
	},
	transcript.Cancelled: func(cancel func()) *agent.Agent[none, string] {
		return scripted(modeltest.Say(model.ToolCall("c1", "stop", `{}`)), func(context.Context, *model.Request) (*model.Message, error) {
			cancel()
			return nil, context.Canceled
		}, modeltest.SayText("It is done."))
	},
	transcript.Pending: func(func()) *agent.Agent[none, string] {
		return scripted(modeltest.Say(model.ToolCall("c1", "pay", `{}`)), modeltest.SayText("It is done."))
	},
}

func scripted(steps ...modeltest.Step) *agent.Agent[none, string] {
	tool := func(name string) *toolset.Tool[none] {
		return toolset.Func(name, "Do something.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "ok", nil })
	}
	pay := toolset.Approved(toolset.Of(tool("pay")), func(context.Context, *toolset.RunContext[none], *toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	})
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: modeltest.Script(steps...), Tools: []*toolset.Tool[none]{tool("stop")}, Toolsets: []toolset.Toolset[none]{pay},
	}))
}

// promptIn runs a turn whose run is cancelled by cancel, and ends it whatever happens. It returns the error of its beginning or
// end, which is tried again if again is true.
func promptIn(t *testing.T, c *transcript.Conversation, make func(cancel func()) *agent.Agent[none, string], text string, again bool) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	now, err := c.Begin(t.Context(), model.User(text))
	if err != nil {
		return err
	}
	res, failed := make(cancel).Run(ctx, none{}, text, now.Options()...)
	err = transcript.End(t.Context(), now, res, failed)
	if err != nil && again {
		err = transcript.End(t.Context(), now, res, failed)
	}
	return err
}

// TestTurnsGoOnAfterAnAppendThatFailed lets each append of a turn fail once, and the process goes on with the conversation.
func TestTurnsGoOnAfterAnAppendThatFailed(t *testing.T) {
	for reason, make := range ways {
		for variant := range 4 {
			there, again := variant&1 > 0, variant&2 > 0
			for at := int64(1); ; at++ {
				name := fmt.Sprintf("%s, append %d, there %v, again %v", reason, at, there, again)
				s := &stumbling{Memory: new(session.Memory), there: there}
				c, w := open(t, s)
				s.at.Store(at)
				first := promptIn(t, c, make, "Begin.", again)
				if s.at.Load() > 0 { // it did not come to that
					require.NoError(t, first, name)
					require.Contains(t, export(t, s), `"reason":"`+reason+`"`)
					break
				}
				begun := strings.Contains(export(t, s), "Begin.")
				_, err := prompt(t, c, new(worker).agent(), "Go on.")
				require.NoError(t, err, name)
				h := read(t, s)
				require.Empty(t, h.Interrupted(), name)
				require.Equal(t, exact(t, c.Messages()), exact(t, h.Messages()), name)
				all := exact(t, h.Messages())
				if first != nil {
					require.Equal(t, begun, strings.Contains(all, "Begin."), name)
				}
				require.Less(t, strings.LastIndex(all, "Begin."), strings.Index(all, "Go on."), name)
				require.LessOrEqual(t, strings.Count(all, "Begin."), 1, name)
				require.NoError(t, w.Close(t.Context()))
			}
		}
	}
}

// TestSettlingCanBeTriedAgain lets each append that settles a turn fail once, or ends the context before it.
func TestSettlingCanBeTriedAgain(t *testing.T) {
	for left := 1; ; left++ {
		for _, there := range []bool{false, true} {
			for at := int64(0); at <= 2; at++ {
				name := fmt.Sprintf("%d appends, append %d, there %v", left, at, there)
				m := new(session.Memory)
				c, _ := open(t, mortalStore(m, left))
				if _, err := prompt(t, c, new(worker).agent(), "Begin."); err == nil {
					require.Greater(t, left, 8)
					return
				}
				before := read(t, m)
				s := &stumbling{Memory: m, there: there}
				c, w := open(t, s)
				ctx, cancel := context.WithCancel(t.Context())
				if s.at.Store(at); at == 0 {
					cancel()
				}
				_ = c.Settle(ctx)
				cancel()
				require.NoError(t, c.Settle(t.Context()), name)
				require.Empty(t, c.Interrupted(), name)
				require.Equal(t, text(t, before.Messages()), text(t, c.Messages()), name)
				require.Equal(t, exact(t, c.Messages()), exact(t, read(t, s).Messages()), name)
				require.NoError(t, w.Close(t.Context()))
			}
		}
	}
}

// TestCutOffEndLeavesTheHistoryAsItWas lets processes die after each append of a turn that replaces earlier messages by a summary.
func TestCutOffEndLeavesTheHistoryAsItWas(t *testing.T) {
	summarise := agent.HistoryProcessor[none](func(_ context.Context, _ *toolset.RunContext[none], all []*model.Message) ([]*model.Message, error) {
		if len(all) < 5 {
			return all, nil
		}
		return append([]*model.Message{model.UserText("A summary.")}, all[2:]...), nil
	})
	for left := 1; ; left++ {
		m := new(session.Memory)
		a := agent.Must(agent.New(agent.Config[none, string]{
			Model:   modeltest.Script(modeltest.SayText("answer one"), modeltest.Say(model.ToolCall("c1", "stop", `{}`)), modeltest.SayText("answer two")),
			Tools:   []*toolset.Tool[none]{toolset.Func("stop", "Stop.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "ok", nil })},
			History: []agent.HistoryProcessor[none]{summarise},
		}))
		c, w := open(t, m)
		_, err := prompt(t, c, a, "One.")
		require.NoError(t, err)
		require.NoError(t, w.Close(t.Context()))
		before := exact(t, c.Messages())
		c, _ = open(t, mortalStore(m, left))
		_, err = prompt(t, c, a, "Two.")
		h := read(t, m)
		if err == nil {
			require.Equal(t, "A summary.", h.Messages()[0].Parts[0].Text)
			require.Greater(t, left, 7)
			break
		}
		require.Equal(t, before, exact(t, h.Messages()[:2]), left)
		require.NotContains(t, exact(t, h.Messages()), "A summary.", left)
		if left >= 7 {
			require.Equal(t, "answer two", h.Messages()[len(h.Messages())-1].Text(), "what was recorded is there")
		}
		c, w = open(t, m)
		require.NoError(t, c.Settle(t.Context()))
		require.Equal(t, text(t, h.Messages()), text(t, read(t, m).Messages()))
		require.NoError(t, w.Close(t.Context()))
	}
}

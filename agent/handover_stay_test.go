// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// chain is agents "level-1", "level-2" and so on. Each hands over to the next one by the tool "next", and the conversation stays
// there. The last one answers, or hands back if the user says "back".
type chain struct {
	levels int
	// asked are the agents whose models were asked, with the number of messages they saw.
	asked []string
	store agent.HistoryStore
}

func (c *chain) agent(t *testing.T, level int) *agent.Agent[deps, string] {
	last := level == c.levels
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		c.asked = append(c.asked, fmt.Sprintf("%d sees %d", level, len(req.Messages)))
		if err := wellFormed(req.Messages); err != nil {
			return nil, err
		}
		said := req.Messages[len(req.Messages)-1].Parts[0].Text
		switch {
		case said == "fail":
			return nil, errBoom
		case said == "work":
			return model.Response(model.Text("Working."), call("w", "work")), nil
		case last && said == "back":
			return model.Response(model.Text("Goodbye."), model.ToolCall("b", "hand_back", `{"reason":"not mine"}`)), nil
		case last && said == "back without a word":
			return model.Response(model.ToolCall("b", "hand_back", `{"reason":"not mine"}`)), nil
		case !last && len(req.Messages) == 1:
			return model.Response(model.ToolCall("1", "next", fmt.Sprintf(`{"prompt":%q}`, said))), nil
		}
		return model.Response(model.Text(fmt.Sprintf("%d: %s", level, said))), nil
	})
	config := cfg{Name: fmt.Sprint("level-", level), Model: m, Alternatives: []agent.Alternative[deps, string]{textOutput()}}
	if last {
		config.Alternatives = append(config.Alternatives, agent.HandBack[deps, string]("hand_back", ""))
	} else {
		config.Alternatives = append(config.Alternatives, agent.HandOver("next", "", c.agent(t, level+1), sameDeps, agent.Stay()))
	}
	return newAgent(t, config, says("work", "done"))
}

// say runs the outer agent with a history, as in a process of its own.
func (c *chain) say(t *testing.T, prompt string, history []*model.Message, opts ...agent.RunOption) (*agent.Result[string], error) {
	t.Helper()
	c.asked = nil
	if c.store != nil {
		opts = append(opts, agent.WithHistoryStore(c.store))
	}
	if history != nil {
		opts = append(opts, throughJSON(t, history))
	}
	return c.agent(t, 1).Run(t.Context(), deps{}, prompt, opts...)
}

func TestConversationStays(t *testing.T) {
	for levels := 2; levels <= 4; levels++ {
		for _, way := range []string{"native", "journal", "store"} {
			t.Run(fmt.Sprintf("levels=%d,%s", levels, way), func(t *testing.T) {
				c := &chain{levels: levels}
				j := new(journal.Memory)
				opts := func(run string) []agent.RunOption {
					if way == "journal" {
						return []agent.RunOption{agent.WithJournal(j), agent.WithRunID(run)}
					}
					return nil
				}
				if way == "store" {
					c.store = &histories{}
				}
				res, err := c.say(t, "hello", nil, opts("one")...)
				require.NoError(t, err)
				require.Len(t, c.asked, levels)
				name := fmt.Sprint("level-", levels)
				for i, prompt := range []string{"how are you?", "work", "and now?"} {
					run := fmt.Sprint("turn-", i)
					before := res.Messages
					res, err = c.say(t, prompt, before, opts(run)...)
					require.NoError(t, err)
					require.Equal(t, name, res.Agent)
					for _, asked := range c.asked {
						require.Contains(t, asked, fmt.Sprint(levels, " sees"), "the other models are not asked")
					}
					require.Equal(t, prompt, res.Messages[len(before)].Parts[0].Text, "what the user says is in the outer history")
					if way == "journal" {
						asked := c.asked
						again, err := c.say(t, prompt, before, opts(run)...)
						require.NoError(t, err)
						require.Equal(t, res, again)
						require.Empty(t, c.asked)
						c.asked = asked
					}
				}
				require.Equal(t, []string{fmt.Sprint(levels, " sees 9")}, c.asked, "it has its own history, with its calls")
				require.Equal(t, fmt.Sprint(levels, ": and now?"), res.Output)
				require.Equal(t, "response\n  text: Working.\n  text: "+fmt.Sprint(levels)+": done\n", dump(res.Messages[7:8]), "without the calls")
				require.NoError(t, wellFormed(append(res.Messages, model.UserText("x"))))
				require.Equal(t, 1, res.Usage.Requests)
			})
		}
	}
}

// histories is a store of histories in memory.
type histories struct{ m map[string][]*model.Message }

func (h *histories) Put(_ context.Context, id string, messages []*model.Message) error {
	if h.m == nil {
		h.m = map[string][]*model.Message{}
	}
	h.m[id] = messages
	return nil
}

func (h *histories) Get(_ context.Context, id string) ([]*model.Message, error) {
	if h.m[id] == nil {
		return nil, fmt.Errorf("no history %q", id)
	}
	return h.m[id], nil
}

// Each turn adds its own messages to the history, not all of the inner history.
func TestHistoryOfAStayGrowsWithTheTurns(t *testing.T) {
	c := &chain{levels: 2}
	res, err := c.say(t, "hello", nil)
	require.NoError(t, err)
	var sizes []int
	for range 10 {
		res, err = c.say(t, "more", res.Messages)
		require.NoError(t, err)
		sizes = append(sizes, len(res.Messages[len(res.Messages)-1].HandOver.State))
	}
	require.InDelta(t, sizes[0], sizes[9], 20)
}

func TestHandBack(t *testing.T) {
	for levels := 2; levels <= 3; levels++ {
		c := &chain{levels: levels}
		res, err := c.say(t, "hello", nil)
		require.NoError(t, err)
		res, err = c.say(t, "back", res.Messages)
		require.NoError(t, err)
		above := fmt.Sprint("level-", levels-1)
		require.Equal(t, above, res.Agent, "whoever handed over answers")
		require.Equal(t, fmt.Sprintf("%d: The agent level-%d handed the conversation back: not mine", levels-1, levels), res.Output)
		require.Contains(t, dump(res.Messages), "text: Goodbye.\n")
		res, err = c.say(t, "hello again", res.Messages)
		require.NoError(t, err)
		require.Equal(t, above, res.Agent, "and has the conversation")
		require.Len(t, c.asked, 1)
	}
}

func TestHandBackOnARemoteEngine(t *testing.T) {
	c := &chain{levels: 3}
	res, err := c.say(t, "hello", nil, onJSON(nil))
	require.NoError(t, err)
	res, err = c.say(t, "back", res.Messages, onJSON(nil))
	require.NoError(t, err)
	require.Equal(t, "level-2", res.Agent)
	require.Equal(t, "2: The agent level-3 handed the conversation back: not mine", res.Output)
	res, err = c.say(t, "back", res.Messages, onEngine(nil, true))
	require.NoError(t, err)
	require.Equal(t, "level-2", res.Agent, "it cannot hand back")
	two := &chain{levels: 2}
	res, err = two.say(t, "hello", nil, onJSON(nil))
	require.NoError(t, err)
	res, err = two.say(t, "back", res.Messages, onJSON(nil))
	require.NoError(t, err)
	require.Equal(t, "level-1", res.Agent)
}

// The conversation has been handed back even if the run fails before the outer model has answered.
func TestHandBackHoldsWhenTheRunFails(t *testing.T) {
	for _, said := range []string{"back", "back without a word"} {
		c := &chain{levels: 2}
		res, err := c.say(t, "hello", nil)
		require.NoError(t, err)
		_, err = c.say(t, said, res.Messages, agent.WithLimits(agent.Limits{Requests: 1}))
		require.ErrorAs(t, err, new(*agent.LimitError))
		res, err = c.say(t, "and?", asRunError(t, err).Messages)
		require.NoError(t, err)
		require.Equal(t, "level-1", res.Agent, said)
	}
}

// An agent that hands back at once has answered the call by it. Going to and fro is bounded by the limits.
func TestHandOversToAndFroAreBounded(t *testing.T) {
	inner := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.ToolCall("b", "hand_back", `{"reason":"not mine"}`)), nil
	})
	outer := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(bill("1", "x")), wellFormed(req.Messages)
	})
	config := cfg{Model: inner, Alternatives: []agent.Alternative[deps, string]{agent.HandBack[deps, string]("hand_back", ""), textOutput()}}
	_, err := frontDesk(t, outer, billing(t, config, agent.Stay())).Run(t.Context(), deps{}, "go", agent.WithLimits(agent.Limits{Requests: 20}))
	require.ErrorAs(t, err, new(*agent.LimitError))
	messages := asRunError(t, err).Messages
	require.Equal(t, "request\n  tool_return 1 bill: The agent bill handed the conversation back: not mine\n", dump(messages[2:3]))
}

func TestHandBackNeedsAHandOver(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.ToolCall("b", "hand_back", `{"reason":"not mine"}`)), modeltest.SayText("Then I answer."))
	a := newAgent(t, cfg{Model: m, Alternatives: []agent.Alternative[deps, string]{agent.HandBack[deps, string]("hand_back", ""), textOutput()}})
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "Then I answer.", res.Output)
	require.Equal(t, "request\n  retry b hand_back: There is no agent to hand the conversation back to. Answer the user yourself.\n", dump(res.Messages[2:3]))
}

// A turn that fails loses nothing, neither of what the agent did nor of what it said, and the conversation stays.
func TestFailedTurnOfAStay(t *testing.T) {
	c := &chain{levels: 2}
	res, err := c.say(t, "hello", nil)
	require.NoError(t, err)
	_, err = c.say(t, "work", res.Messages, agent.WithLimits(agent.Limits{Requests: 1}))
	require.ErrorAs(t, err, new(*agent.LimitError))
	failed := asRunError(t, err)
	require.Equal(t, "request\n  user: work\nresponse interrupted\n  text: Working.\n", dump(failed.Messages[len(res.Messages):]))
	res, err = c.say(t, "", failed.Messages)
	require.NoError(t, err)
	require.Equal(t, "2: done", res.Output, "it goes on where it stood")

	_, err = c.say(t, "fail", res.Messages)
	require.ErrorIs(t, err, errBoom)
	_, err = c.say(t, "", asRunError(t, err).Messages)
	require.ErrorIs(t, err, errBoom, "the prompt is not asked twice")
	require.Equal(t, []string{"2 sees 7"}, c.asked)
	res, err = c.say(t, "well?", asRunError(t, err).Messages)
	require.NoError(t, err)
	require.Equal(t, "2: well?", res.Output)
	require.Equal(t, []string{"2 sees 8"}, c.asked)
}

func TestStayNeedsAPromptOrWithResume(t *testing.T) {
	c := &chain{levels: 3}
	first, err := c.say(t, "hello", nil)
	require.NoError(t, err)
	_, err = c.say(t, "", first.Messages)
	require.ErrorIs(t, err, agent.ErrFinished)
	res, err := c.say(t, "", first.Messages, agent.WithResume())
	require.NoError(t, err)
	require.Equal(t, first.Output, res.Output)
	require.Empty(t, c.asked)
	require.Equal(t, dump(first.Messages), dump(res.Messages))
}

// An agent that no longer has the hand-over answers itself.
func TestStayWithAnAgentThatIsGone(t *testing.T) {
	c := &chain{levels: 2}
	res, err := c.say(t, "hello", nil)
	require.NoError(t, err)
	m := modeltest.Script(modeltest.SayText("I am alone."))
	res, err = newAgent(t, cfg{Name: "alone", Model: m}).Run(t.Context(), deps{}, "go on", throughJSON(t, res.Messages))
	require.NoError(t, err)
	require.Equal(t, "alone", res.Agent)
	require.Equal(t, "2: hello", m.Requests()[0].Messages[3].Text(), "it knows what was said")
}

// Messages that are sent into a run go to the agent that has the conversation.
func TestInboxReachesTheAgentThatHasTheConversation(t *testing.T) {
	c := &chain{levels: 2}
	res, err := c.say(t, "hello", nil)
	require.NoError(t, err)
	var inbox agent.Inbox
	inbox.SendAtEnd(model.User("one more thing"))
	res, err = c.say(t, "work", res.Messages, agent.WithInbox(&inbox))
	require.NoError(t, err)
	require.Equal(t, "2: one more thing", res.Output)
	require.Equal(t, "level-2", res.Agent)
}

func TestMissingHistoryOfAStayIsAnError(t *testing.T) {
	c := &chain{levels: 2, store: &histories{}}
	res, err := c.say(t, "hello", nil)
	require.NoError(t, err)
	c.store = nil
	_, err = c.say(t, "more", res.Messages)
	require.ErrorContains(t, err, "give the run its store with WithHistoryStore")
	c.store = &histories{}
	_, err = c.say(t, "more", res.Messages)
	require.ErrorContains(t, err, "no history")
	require.False(t, errors.As(err, new(*toolset.RetryError)))
}

// A conversation that stays with the agent that took over, until it is handed back.
func ExampleStay() {
	text := agent.Text(func(_ context.Context, _ *toolset.RunContext[any], text string) (string, error) { return text, nil })
	billing := agent.Must(agent.New(agent.Config[any, string]{
		Name:         "billing",
		Model:        modeltest.Script(modeltest.SayText("Which bill?"), modeltest.SayText("It is paid.")),
		Alternatives: []agent.Alternative[any, string]{text, agent.HandBack[any, string]("hand_back", "Not about bills.")},
	}))
	desk := agent.Must(agent.New(agent.Config[any, string]{
		Name:  "desk",
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "to_billing", `{"prompt":"A question about a bill."}`))),
		Alternatives: []agent.Alternative[any, string]{
			text, agent.HandOver("to_billing", "Hand over to billing.", billing, func(d any) any { return d }, agent.Stay()),
		},
	}))
	var history []*model.Message
	for _, prompt := range []string{"I have a question.", "Number 7."} {
		res, err := desk.Run(context.Background(), nil, prompt, agent.WithHistory(history))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Agent+":", res.Output)
		history = res.Messages
	}
	// Output:
	// billing: Which bill?
	// billing: It is paid.
}

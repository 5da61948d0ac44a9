// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// breaks is a model that streams deltas and then fails. With errors of its context it waits for the end of that.
func breaks(deltas ...model.Delta) model.Model {
	return model.Func(model.Info{Provider: "acme", Name: "flaky"}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, d := range deltas {
			if sink == nil {
				break
			}
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		return nil, errBoom
	})
}

func said(text string) model.Delta { return model.Delta{Kind: model.PartText, Text: text} }

func TestCutStreamKeepsItsTextAndUsage(t *testing.T) {
	signed := model.Part{Kind: model.PartThinking, Text: "signed thoughts", Provider: "acme", Signature: []byte("sig")}
	opaque := model.Part{Kind: model.PartOpaque, Provider: "acme", Data: []byte("secret")}
	m := breaks(
		model.Delta{Part: 0, Kind: model.PartThinking, Text: "thoughts that nobody has signed"},
		model.Delta{Part: 1, Kind: model.PartThinking, Text: "signed "},
		model.Delta{Part: 1, Kind: model.PartThinking, Text: "thoughts"},
		model.Delta{Part: 1, Whole: &signed},
		model.Delta{Part: 2, Whole: &opaque},
		model.Delta{Part: 3, Kind: model.PartText, Text: "Let me ", Usage: &model.Usage{InputTokens: 7}},
		model.Delta{Part: 3, Kind: model.PartText, Text: "add."},
		model.Delta{Part: 4, Kind: model.PartToolCall, CallID: "1", Tool: "add", Text: `{"x":1,`},
		model.Delta{Part: 5, Kind: model.PartToolCall, CallID: "2", Tool: "add", Text: `{"x":3,"y"`},
		model.Delta{Part: 4, Kind: model.PartToolCall, Text: `"y":2}`},
		model.Delta{Part: 6, Kind: model.PartToolCall, CallID: "3", Tool: "says"},
		model.Delta{Part: 7, Kind: model.PartText, Text: " \n"},
		model.Delta{Usage: &model.Usage{InputTokens: 7, OutputTokens: 20}},
	)
	set := &lifecycle{}
	_, err := newAgent(t, cfg{Model: m, Toolsets: []toolset.Toolset[deps]{set}}, addTool(), says("says", "x")).Stream(context.Background(), deps{}, "go").Result()
	require.ErrorIs(t, err, errBoom)
	failed := asRunError(t, err)
	require.Equal(t, "request\n  user: go\nresponse interrupted\n  thinking: signed thoughts\n  opaque: \n  text: Let me add.\n  tool_call 1 add {\"x\":1,\"y\":2}\nrequest interrupted\n", dump(failed.Messages))
	resp := failed.Messages[1]
	require.Equal(t, []model.Part{signed, opaque}, resp.Parts[:2])
	require.Equal(t, model.Usage{InputTokens: 7, OutputTokens: 20}, resp.Usage)
	require.Equal(t, "acme/flaky", resp.Provider+"/"+resp.Model)
	require.Equal(t, failed.RunID, resp.RunID)
	require.False(t, resp.Time.IsZero())
	require.Equal(t, toolset.Usage{Requests: 1, Usage: resp.Usage}, failed.Usage, "usage counts as far as it was reported")

	res, runErr, script := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, "go on", []agent.RunOption{reread(t, failed.Messages)}, addTool())
	require.Nil(t, runErr)
	require.Equal(t, "ok", res.Output)
	require.Equal(t, "request interrupted\n  tool_return 1 add interrupted: Interrupted before a result was produced. It is not known whether the call had any effect.\nrequest\n  user: go on\n", dump(script.Requests()[0].Messages[2:]))
}

// TestCutStreamIsKeptHoweverItEnds cuts a stream off after its third delta in every way there is.
func TestCutStreamIsKeptHoweverItEnds(t *testing.T) {
	for name, c := range map[string]struct {
		limits agent.Limits
		leave  bool
		cancel bool
		panics bool
		want   string // what was read
		is     error
	}{
		"broken connection": {want: "one two three", is: errBoom},
		"cancelled":         {want: "one two three", cancel: true, is: errCancelled},
		"observer leaves":   {want: "one two ", leave: true, is: agent.ErrStopped},
		"limit":             {want: "one two ", limits: agent.Limits{OutputTokens: 2}},
		"panic":             {want: "one two three", panics: true},
	} {
		for _, journaled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s journal %v", name, journaled), func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				m := model.Func(model.Info{}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
					for i, text := range []string{"one ", "two ", "three"} {
						if err := sink(model.Delta{Kind: model.PartText, Text: text, Usage: &model.Usage{OutputTokens: int64(i + 1)}}); err != nil {
							return nil, err
						}
					}
					switch {
					case c.cancel:
						cancel(errCancelled)
						<-ctx.Done()
						return nil, ctx.Err()
					case c.panics:
						panic("ouch")
					}
					return nil, errBoom
				})
				var opts []agent.RunOption
				if journaled {
					opts = append(opts, agent.WithJournal(new(journal.Memory)), agent.WithRunID("r"))
				}
				meter := toolset.NewMeter(toolset.Limits{})
				s := newAgent(t, cfg{Model: m, Limits: c.limits}).Stream(ctx, deps{}, "go", append(opts, agent.WithMeter(meter))...)
				for e := range s.Events() {
					if c.leave && e.Text == "two " {
						break
					}
				}
				_, err := s.Result()
				require.Error(t, err)
				if c.is != nil {
					require.ErrorIs(t, err, c.is)
				}
				require.Equal(t, "request\n  user: go\nresponse interrupted\n  text: "+c.want+"\n", dump(asRunError(t, err).Messages))
				require.EqualValues(t, len(strings.Fields(c.want)), meter.Usage().OutputTokens-map[bool]int64{true: 1}[name == "limit"])

				for _, prompt := range []string{"go on", ""} {
					_, runErr, script := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("ok")}, prompt, []agent.RunOption{reread(t, asRunError(t, err).Messages)})
					require.Nil(t, runErr)
					sent := script.Requests()[0].Messages
					if prompt == "" {
						prompt = "Your response was interrupted. Continue it from where it stopped."
					}
					require.Equal(t, "response interrupted\n  text: "+c.want+"\nrequest\n  user: "+prompt+"\n", dump(sent[1:]))
				}
			})
		}
	}
}

func TestStreamCutBeforeItsFirstWordLeavesNoResponse(t *testing.T) {
	for _, deltas := range [][]model.Delta{nil, {{Usage: &model.Usage{InputTokens: 3}}}, {{Kind: model.PartThinking, Text: "hm"}}, {{Kind: model.PartToolCall, CallID: "1", Tool: "add", Text: `{"x"`}}} {
		_, err := newAgent(t, cfg{Model: breaks(deltas...)}, addTool()).Stream(context.Background(), deps{}, "go").Result()
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, "request\n  user: go\n", dump(asRunError(t, err).Messages))
	}
}

// parts shows the events of the parts of a stream.
func parts(t *testing.T, m model.Model, tools ...*toolset.Tool[deps]) []string {
	t.Helper()
	var got []string
	for e := range newAgent(t, cfg{Model: m}, tools...).Stream(context.Background(), deps{}, "go").Events() {
		switch e.Kind {
		case agent.EventPartStart, agent.EventPartDelta, agent.EventPartEnd:
			got = append(got, trace(e))
		case agent.EventToolCall:
			got = append(got, fmt.Sprintf("call %s %s", e.CallID, e.Args))
		}
	}
	return got
}

func TestPartThatGrowsAgainIsANewPart(t *testing.T) {
	got := parts(t, breaks(
		model.Delta{Part: 0, Kind: model.PartText, Text: "a"},
		model.Delta{Part: 1, Kind: model.PartToolCall, CallID: "1", Tool: "add", Text: "{"},
		model.Delta{Part: 0, Kind: model.PartText, Text: "b"},
		model.Delta{Part: 1, Kind: model.PartToolCall, Text: "}"},
		model.Delta{Part: 0, Kind: model.PartText, Text: "c"},
		model.Delta{Part: 2, Kind: model.PartThinking, Text: "d"},
		model.Delta{Part: 0, Kind: model.PartText, Text: "e"},
	), addTool())
	require.Equal(t, []string{
		`1 part_start 0 text`, `1 part_delta 0 text "a"`, `1 part_end 0 text`,
		`1 part_start 1 tool_call add 1`, `1 part_delta 1 tool_call "{"`,
		`1 part_start 2 text`, `1 part_delta 2 text "b"`,
		`1 part_delta 1 tool_call "}"`,
		`1 part_delta 2 text "c"`, `1 part_end 2 text`,
		`1 part_start 3 thinking`, `1 part_delta 3 thinking "d"`, `1 part_end 3 thinking`,
		`1 part_start 4 text`, `1 part_delta 4 text "e"`,
	}, got)
}

func TestCallHasOneIDFromItsFirstFragment(t *testing.T) {
	ids := []string{"", "x", "", "x", "call_1_0"}
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		resp := model.Response(model.Text("first"))
		if err := sink(said("first")); err != nil {
			return nil, err
		}
		for i, id := range ids {
			args := fmt.Sprintf(`{"x":%d,"y":0}`, i)
			if err := sink(model.Delta{Part: i + 1, Kind: model.PartToolCall, CallID: id, Tool: "add", Text: args}); err != nil {
				return nil, err
			}
			resp.Parts = append(resp.Parts, model.ToolCall(id, "add", args))
		}
		return resp, nil
	})
	started, called := map[string]string{}, map[string]string{}
	var part map[int]string = map[int]string{}
	s := newAgent(t, cfg{Model: m, Limits: agent.Limits{Requests: 1}}, addTool()).Stream(context.Background(), deps{}, "go")
	for e := range s.Events() {
		switch {
		case e.Kind == agent.EventPartStart && e.Tool != "":
			part[e.Part] = e.CallID
		case e.Kind == agent.EventPartDelta && part[e.Part] != "":
			started[part[e.Part]] += e.Text
		case e.Kind == agent.EventToolCall:
			called[e.CallID] = string(e.Args)
		}
	}
	require.Len(t, called, len(ids))
	require.Equal(t, called, started)
}

// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// provider is a server with a context window and tokens of four bytes, which compacts as each provider does.
type provider struct {
	t      *testing.T
	openai bool
	bodies []string
	// turns counts responses, compactions the summaries.
	turns, compactions int
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []json.RawMessage `json:"messages"`
		Input    []json.RawMessage `json:"input"`
		Context  json.RawMessage   `json:"context_management"`
	}
	var raw json.RawMessage
	require.NoError(p.t, json.NewDecoder(r.Body).Decode(&raw))
	require.NoError(p.t, json.Unmarshal(raw, &body))
	p.bodies = append(p.bodies, string(raw))
	at := 0
	if p.openai {
		var edits []struct {
			At int `json:"compact_threshold"`
		}
		require.NoError(p.t, json.Unmarshal(body.Context, &edits))
		at = edits[0].At
	} else {
		var edits struct {
			Edits []struct {
				Type    string
				Trigger struct{ Value int }
			}
		}
		require.NoError(p.t, json.Unmarshal(body.Context, &edits))
		require.Equal(p.t, "compact_20260112", edits.Edits[0].Type)
		at = edits.Edits[0].Trigger.Value
		require.Contains(p.t, r.Header.Get("anthropic-beta"), "compact-2026-01-12")
	}
	// What stands before the last summary is left out.
	sent := string(raw)
	if i := strings.LastIndex(sent, `{"type":"compaction"`); i >= 0 {
		sent = sent[i:]
	}
	tokens := len(sent) / 4
	require.Less(p.t, tokens, 100_000)
	p.turns++
	summary := ""
	if tokens > at {
		p.compactions++
		facts := strings.Join(facts(sent), " ")
		summary = fmt.Sprintf(`{"type":"compaction","content":"They found %s."},`, facts)
		if p.openai {
			summary = fmt.Sprintf(`{"type":"compaction","id":"cmp_%d","encrypted_content":"%s"},`, p.turns, facts)
		}
		tokens = 1000
	}
	if p.openai {
		fmt.Fprintf(w, `{"id":"r","status":"completed","model":"gpt-5","output":[%s{"type":"message","role":"assistant","content":[{"type":"output_text","text":"FACT-%d seen."}]}],"usage":{"input_tokens":%d,"output_tokens":9,"total_tokens":%d}}`,
			summary, p.turns, tokens, tokens+9)
		return
	}
	fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-6","stop_reason":"end_turn","content":[%s{"type":"text","text":"FACT-%d seen."}],"usage":{"input_tokens":%d,"output_tokens":9}}`,
		summary, p.turns, tokens)
}

// A conversation of several times the window goes on with the provider's summaries, which go back unchanged.
func TestProviderCompactsTheConversation(t *testing.T) {
	for name, openai := range map[string]bool{"Anthropic": false, "OpenAI": true} {
		t.Run(name, func(t *testing.T) {
			p := &provider{t: t, openai: openai}
			server := httptest.NewServer(p)
			defer server.Close()
			var m model.Model
			var err error
			if openai {
				m, err = openaimodel.NewResponses(openaimodel.Config{Name: "gpt-5", Provider: "openai", BaseURL: server.URL, APIKey: "key", ContextWindow: 80_000})
			} else {
				m, err = anthropicmodel.New(anthropicmodel.Config{Name: "claude-sonnet-4-6", BaseURL: server.URL, APIKey: "key", ContextWindow: 80_000, Cache: anthropicmodel.CacheOff})
			}
			require.NoError(t, err)
			unused := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				t.Error("the provider makes the summaries")
				return nil, context.Canceled
			})
			a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: unused, Native: true})}}))
			var messages []*model.Message
			for range 8 {
				res, got := watched(t, a, messages, strings.Repeat("word ", 20_000)) // 25,000 tokens
				require.Empty(t, got.entities)
				messages = res.Messages
			}
			require.Len(t, messages, 16, "the history keeps everything")
			require.GreaterOrEqual(t, p.compactions, 2)
			for n, body := range p.bodies[1:] { // but for the end of the list, which is closed
				before := strings.TrimRight(p.bodies[n], "]}")
				if !openai {
					before, body = messagesOf(t, p.bodies[n]), messagesOf(t, body)
				}
				require.True(t, strings.HasPrefix(body, before), "what is sent only grows at its end")
			}
			require.Contains(t, p.bodies[7], "FACT-1")

			// Another model has the whole conversation, which the tiers shorten. What the provider counted after its summary is not its size.
			for _, window := range []int{30_000, 80_000, 150_000} {
				other := &small{t: t, window: window, bytes: 4, answer: func(*model.Request) *model.Message { return model.Response(model.Text("Mine.")) }}
				writer := &small{t: t, window: 40_000, bytes: 4, answer: func(req *model.Request) *model.Message {
					return model.Response(model.Text("They found " + strings.Join(facts(textOf(req.Messages)), " ") + "."))
				}}
				a := agent.Must(agent.New(agent.Config[deps, string]{Model: other, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: writer, Native: true})}}))
				then := messages
				for range 3 {
					res, _ := watched(t, a, then, "Go on.")
					then = res.Messages
				}
				require.Zero(t, other.refused, "window %d", window)
				require.Zero(t, writer.refused, "window %d", window)
				require.Len(t, facts(textOf(other.requests[2].Messages)), 8, "window %d", window)
			}
		})
	}
}

func messagesOf(t *testing.T, body string) string {
	t.Helper()
	var sent struct {
		Messages json.RawMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	return strings.TrimRight(string(sent.Messages), "]}")
}

// able is a model whose provider can compact.
type able struct {
	window   int
	cannot   bool
	requests []*model.Request
}

func (a *able) Info() model.Info {
	return model.Info{Provider: "p", Name: "able", NativeCompaction: !a.cannot, ContextWindow: a.window}
}

func (a *able) Generate(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
	a.requests = append(a.requests, req)
	return model.Response(model.Text(strings.Repeat("word ", 300))), nil
}

func TestNativeCompactionIsAnOption(t *testing.T) {
	for name, test := range map[string]struct {
		m    *able
		o    compaction.Options[deps]
		run  *model.Settings
		want int
	}{
		"on":              {&able{window: 200_000}, compaction.Options[deps]{Native: true}, nil, 148_750},
		"off":             {&able{window: 200_000}, compaction.Options[deps]{}, nil, 0},
		"the model's not": {&able{window: 200_000, cannot: true}, compaction.Options[deps]{Native: true}, nil, 0},
		"small":           {&able{window: 60_000}, compaction.Options[deps]{Native: true}, nil, 0},
		"own window":      {&able{window: 1_000_000}, compaction.Options[deps]{Native: true, Window: 100_000}, nil, 74_375},
		"set already":     {&able{window: 200_000}, compaction.Options[deps]{Native: true}, &model.Settings{CompactAt: 60_000}, 60_000},
	} {
		test.o.Model = summariser()
		a := agent.Must(agent.New(agent.Config[deps, string]{Model: test.m, Settings: test.run, Capabilities: []agent.Capability[deps]{compaction.New(test.o)}}))
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err, name)
		got := 0
		if s := test.m.requests[0].Settings; s != nil {
			got = s.CompactAt
		}
		require.Equal(t, test.want, got, name)
	}
}

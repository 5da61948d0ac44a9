// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

func cached(m model.Model, policy modelwrap.CachePolicy) *modelwrap.Cached {
	return modelwrap.Cache(m, modelwrap.NewMemory(modelwrap.MemoryLimits{}), policy)
}

func TestCacheAnswersIdenticalRequests(t *testing.T) {
	inner, asked := counted(saying("one", "hello"))
	m := cached(inner, modelwrap.CachePolicy{})
	first, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	first.RunID, first.Parts[0].Text = "run-1", "changed by its owner"
	second, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, say("hello"), second)
	second.Parts[0].Text = "changed too"
	third, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, say("hello"), third)
	require.EqualValues(t, 1, asked.Load())

	_, err = m.Generate(t.Context(), ask("something else"), nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, asked.Load())
	require.Equal(t, modelwrap.CacheStats{Hits: 2, Misses: 2}, m.Stats())
}

func TestCacheReplaysAStream(t *testing.T) {
	resp := model.Response(
		model.Thinking(""), model.Thinking("hm"), model.Text("let me see"), model.Media("image/png", []byte{1}),
		model.ToolCall("c1", "weather", `{"city":"Oslo"}`), model.ToolCall("c2", "time", ""),
	)
	resp.Finish, resp.Usage = model.FinishToolCalls, model.Usage{InputTokens: 1, OutputTokens: 2}
	m := cached(named("one", func(context.Context, model.Sink) (*model.Message, error) { return resp, nil }), modelwrap.CachePolicy{})
	_, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	var deltas []model.Delta
	again, err := m.Generate(t.Context(), ask("hi"), func(d model.Delta) error {
		deltas = append(deltas, d)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, resp, again)
	require.Equal(t, []model.Delta{
		{Part: 0, Kind: model.PartThinking, Text: "hm"},
		{Part: 1, Kind: model.PartText, Text: "let me see"},
		{Part: 2, Kind: model.PartToolCall, Text: `{"city":"Oslo"}`, CallID: "c1", Tool: "weather"},
		{Part: 3, Kind: model.PartToolCall, CallID: "c2", Tool: "time"},
		{Usage: &resp.Usage},
	}, deltas)
}

func TestCacheStoresNoErrors(t *testing.T) {
	inner, asked := counted(recovering(1, overloaded("one")))
	m := cached(inner, modelwrap.CachePolicy{})
	_, err := m.Generate(t.Context(), ask("hi"), nil)
	require.Equal(t, overloaded("one"), err)
	_, err = m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, asked.Load())
}

func TestCacheStoresCompleteResponsesOnly(t *testing.T) {
	for finish, kept := range map[model.FinishReason]bool{
		model.FinishStop: true, model.FinishToolCalls: true, model.FinishContentFilter: true, model.FinishLength: false, model.FinishError: false,
	} {
		for _, interrupted := range []bool{false, true} {
			inner, asked := counted(named("one", func(context.Context, model.Sink) (*model.Message, error) {
				resp := say("hello")
				resp.Finish, resp.Interrupted = finish, interrupted
				return resp, nil
			}))
			m := cached(inner, modelwrap.CachePolicy{})
			for range 2 {
				_, err := m.Generate(t.Context(), ask("hi"), nil)
				require.NoError(t, err)
			}
			require.Equal(t, kept && !interrupted, asked.Load() == 1, "%s, interrupted: %t", finish, interrupted)
		}
	}
}

func TestCacheKeepsModelsApart(t *testing.T) {
	store := modelwrap.NewMemory(modelwrap.MemoryLimits{})
	for _, name := range []string{"one", "two", "one"} {
		resp, err := modelwrap.Cache(saying(name, "I am "+name), store, modelwrap.CachePolicy{Name: "1"}).Generate(t.Context(), ask("hi"), nil)
		require.NoError(t, err)
		require.Equal(t, "I am "+name, resp.Text())
	}
	require.Equal(t, 2, store.Len())
}

type identified interface {
	model.Model
	model.Identifier
}

// politeModel has a field that decides what it answers. Embedding gives it the methods of another model.
type politeModel struct {
	*openaimodel.Model
	word string
}

// tellingModel tells it.
type tellingModel struct{ politeModel }

func (m *tellingModel) Identity() string { return m.word + " " + model.Identity(m.Model) }

// What a model does with a request is its configuration's business: its address, its own settings, what wraps it.
func TestCacheKeepsConfigurationsApart(t *testing.T) {
	chat := func(c openaimodel.Config) model.Model {
		c.Name = "one"
		m, err := openaimodel.New(c)
		require.NoError(t, err)
		return m
	}
	responses := func(c openaimodel.Config) model.Model {
		c.Name = "one"
		m, err := openaimodel.NewResponses(c)
		require.NoError(t, err)
		return m
	}
	claude := func(c anthropicmodel.Config) model.Model {
		c.Name = "claude-opus-5"
		m, err := anthropicmodel.New(c)
		require.NoError(t, err)
		return m
	}
	gemini := func(c geminimodel.Config) model.Model {
		c.Name, c.APIKey = "gemini", "key"
		m, err := geminimodel.New(c)
		require.NoError(t, err)
		return m
	}
	warm, header := &model.Settings{Temperature: new(0.9)}, &model.Settings{ExtraHeaders: map[string]string{"X-Region": "eu"}}
	other := openaimodel.ProfileFor("openai", "")
	other.SystemRole = "developer"
	embedding := struct{ *openaimodel.Model }{chat(openaimodel.Config{}).(*openaimodel.Model)}
	shared := func(m model.Model, name string) string {
		return modelwrap.Cache(m, modelwrap.NewMemory(modelwrap.MemoryLimits{}), modelwrap.CachePolicy{Name: name}).Key(ask("hi")).String()
	}
	seen := map[string]string{}
	for name, make := range map[string]func() model.Model{
		"chat": func() model.Model { return chat(openaimodel.Config{}) },
		"another address": func() model.Model {
			return chat(openaimodel.Config{Provider: "openai", BaseURL: "https://proxy.test/v1"})
		},
		"another query": func() model.Model {
			return chat(openaimodel.Config{Provider: "openai", BaseURL: "https://proxy.test/v1?api-version=2"})
		},
		"settings":     func() model.Model { return chat(openaimodel.Config{Settings: warm}) },
		"a header":     func() model.Model { return chat(openaimodel.Config{Settings: header}) },
		"organization": func() model.Model { return chat(openaimodel.Config{Organization: "o"}) },
		"profile":      func() model.Model { return chat(openaimodel.Config{Profile: &other}) },
		"protocol":     func() model.Model { return responses(openaimodel.Config{}) },
		"Claude":       func() model.Model { return claude(anthropicmodel.Config{}) },
		"Claude, settings": func() model.Model {
			return claude(anthropicmodel.Config{Settings: warm.Merge(nil), Betas: []string{"b"}})
		},
		"Claude, tools": func() model.Model {
			return claude(anthropicmodel.Config{ServerTools: []json.RawMessage{[]byte(`{"name":"x"}`)}})
		},
		"Vertex AI, project": func() model.Model {
			return gemini(geminimodel.Config{Backend: geminimodel.VertexAI, Project: "p", Location: "l"})
		},
		"Vertex AI, location": func() model.Model {
			return gemini(geminimodel.Config{Backend: geminimodel.VertexAI, Project: "p", Location: "m"})
		},
		"a body": func() model.Model {
			return chat(openaimodel.Config{Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"a": []byte("1")}}})
		},
		"another body": func() model.Model {
			return chat(openaimodel.Config{Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"a": []byte("2")}}})
		},
		"another value of a header": func() model.Model {
			return chat(openaimodel.Config{Settings: &model.Settings{ExtraHeaders: map[string]string{"X-Region": "us"}}})
		},
		"own tools": func() model.Model {
			return claude(anthropicmodel.Config{Settings: &model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}}})
		},
		"Claude, address":  func() model.Model { return claude(anthropicmodel.Config{BaseURL: "https://proxy.test"}) },
		"Gemini":           func() model.Model { return gemini(geminimodel.Config{}) },
		"Gemini, settings": func() model.Model { return gemini(geminimodel.Config{Settings: warm}) },
		"Gemini, version":  func() model.Model { return gemini(geminimodel.Config{BaseURL: "https://proxy.test/v1"}) },
		"Gemini, address":  func() model.Model { return gemini(geminimodel.Config{BaseURL: "https://proxy.test"}) },
		"fallback": func() model.Model {
			return modelwrap.Fallback([]model.Model{chat(openaimodel.Config{}), claude(anthropicmodel.Config{})}, modelwrap.FallbackPolicy{})
		},
		"fallback, turned": func() model.Model {
			return modelwrap.Fallback([]model.Model{chat(openaimodel.Config{}), gemini(geminimodel.Config{})}, modelwrap.FallbackPolicy{})
		},
		"limit of settings": func() model.Model { return modelwrap.Limit(chat(openaimodel.Config{Settings: warm}), 1) },
	} {
		k := shared(make(), "")
		require.Empty(t, seen[k], "%s shares with", name)
		require.Equal(t, k, shared(make(), ""), "%s: the same configuration has the same key", name)
		seen[k] = name
		require.NotEqual(t, k, shared(make(), "named"), name)
	}
	for _, own := range []func() model.Model{
		func() model.Model { return embedding },
		func() model.Model { return &politeModel{chat(openaimodel.Config{}).(*openaimodel.Model), "please"} },
		func() model.Model {
			return struct{ politeModel }{politeModel{chat(openaimodel.Config{}).(*openaimodel.Model), "now"}}
		},
		func() model.Model { return struct{ identified }{claude(anthropicmodel.Config{}).(identified)} },
	} {
		require.NotEqual(t, shared(own(), ""), shared(own(), ""), "a type of one's own may have fields that are not known")
		require.Equal(t, shared(own(), "mine"), shared(own(), "mine"))
	}
	told := func(s string) string {
		return shared(&tellingModel{politeModel{chat(openaimodel.Config{}).(*openaimodel.Model), s}}, "")
	}
	require.Equal(t, told("please"), told("please"), "unless it tells itself")
	require.NotEqual(t, told("please"), told("now"))
	require.Equal(t, shared(chat(openaimodel.Config{}), ""), shared(chat(openaimodel.Config{APIKey: "sk-1"}), ""), "keys do not matter")

	rewrites := func() model.Model {
		inner := chat(openaimodel.Config{})
		return model.Func(inner.Info(), func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			return inner.Generate(ctx, req, sink)
		})
	}
	choosing := func() model.Model {
		return modelwrap.Fallback([]model.Model{chat(openaimodel.Config{})}, modelwrap.FallbackPolicy{Check: modelwrap.Usable})
	}
	for _, unknown := range []func() model.Model{rewrites, choosing} {
		require.NotEqual(t, shared(unknown(), ""), shared(unknown(), ""), "what is not known is not shared")
		require.Equal(t, shared(unknown(), "mine"), shared(unknown(), "mine"), "unless it has a name")
	}
}

func TestCacheHitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	_, err := modelwrap.Cache(saying("one", "x"), always{say("hello")}, modelwrap.CachePolicy{}).Generate(ctx, ask("hi"), nil)
	require.ErrorIs(t, err, errBoom)
}

// gate is a model that answers when told to.
type gate struct {
	open chan error
	sink chan model.Delta
}

func newGate() *gate { return &gate{make(chan error), make(chan model.Delta)} }

func (g *gate) model() model.Model {
	return named("gate", func(ctx context.Context, sink model.Sink) (*model.Message, error) {
		for {
			select {
			case d := <-g.sink:
				if err := sink(d); err != nil {
					return nil, err
				}
			case err := <-g.open:
				if err != nil {
					return nil, err
				}
				return say("hello"), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	})
}

func TestCacheCoalescesConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		inner, asked := counted(g.model())
		m := cached(inner, modelwrap.CachePolicy{Coalesce: true, Keep: nothing})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				var resp *model.Message
				var err error
				text := "hello"
				if i > 0 && i%2 == 0 {
					text, resp, err = stream(t.Context(), m, ask("hi"))
				} else {
					resp, err = m.Generate(t.Context(), ask("hi"), nil)
				}
				require.NoError(t, err)
				require.Equal(t, "hello", text)
				require.Equal(t, say("hello"), resp)
				resp.RunID, resp.Parts[0].Text = "mine", "mine" // each has its own
			})
			synctest.Wait()
		}
		g.open <- nil
		wg.Wait()
		require.EqualValues(t, 1, asked.Load())
		require.Equal(t, modelwrap.CacheStats{Shared: 4, Misses: 1}, m.Stats())
	})
}

func TestCoalescedRequestsShareAPIErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		inner, asked := counted(g.model())
		m := cached(inner, modelwrap.CachePolicy{Coalesce: true})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := m.Generate(t.Context(), ask("hi"), nil)
				require.Equal(t, overloaded("gate"), err)
			})
		}
		synctest.Wait()
		g.open <- overloaded("gate")
		wg.Wait()
		require.EqualValues(t, 1, asked.Load())
	})
}

func TestCoalescedRequestsSurviveTheFirst(t *testing.T) {
	for name, end := range map[string]func(g *gate, cancel context.CancelFunc){
		"its context ended": func(_ *gate, cancel context.CancelFunc) { cancel() },
		"its sink failed":   func(g *gate, _ context.CancelFunc) { g.sink <- model.Delta{Kind: model.PartText, Text: "hel"} },
		"a bug":             func(g *gate, _ context.CancelFunc) { g.open <- errors.New("not an error of the provider") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				inner, asked := counted(g.model())
				m := cached(inner, modelwrap.CachePolicy{Coalesce: true})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wg sync.WaitGroup
				wg.Go(func() {
					// An API error returned by the sink does not come from this provider.
					_, err := m.Generate(ctx, ask("hi"), func(model.Delta) error { return overloaded("another") })
					require.Error(t, err)
				})
				synctest.Wait()
				for range 3 {
					wg.Go(func() {
						_, err := m.Generate(t.Context(), ask("hi"), nil)
						require.NoError(t, err)
					})
				}
				synctest.Wait()
				end(g, cancel)
				synctest.Wait()
				g.open <- nil
				wg.Wait()
				require.EqualValues(t, 2, asked.Load())
			})
		})
	}
}

func TestCoalescedRequestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		m := cached(g.model(), modelwrap.CachePolicy{Coalesce: true})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := m.Generate(t.Context(), ask("hi"), nil)
			require.NoError(t, err)
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Generate(ctx, ask("hi"), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		g.open <- nil
		wg.Wait()
	})
}

// late is a store in which a response appears after the first Get.
type late struct {
	looks int
	resp  *model.Message
}

func (s *late) Get(context.Context, modelwrap.Key) (*model.Message, bool) {
	s.looks++
	return s.resp, s.looks > 1
}
func (*late) Put(context.Context, modelwrap.Key, *model.Message) {}

func TestCoalescedRequestsCheckTheStoreAgain(t *testing.T) {
	m := modelwrap.Cache(failing("one", errBoom), &late{resp: say("hello")}, modelwrap.CachePolicy{Coalesce: true})
	resp, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, "hello", resp.Text())
	require.Equal(t, modelwrap.CacheStats{Hits: 1}, m.Stats())
}

func keyOf(info model.Info, req *model.Request) string {
	m := model.Func(info, nil)
	return modelwrap.Cache(m, modelwrap.NewMemory(modelwrap.MemoryLimits{}), modelwrap.CachePolicy{Name: "of the test"}).Key(req).String()
}

func key(req *model.Request) string { return keyOf(model.Info{Provider: "test", Name: "one"}, req) }

// conversation returns a request with every field set, and with ids and times that depend on n.
func conversation(n string) *model.Request {
	return &model.Request{
		Instructions: "Be brief.",
		Tools:        []model.ToolDef{{Name: "weather", Description: "d", Schema: json.RawMessage(`{}`)}, {Name: "time"}},
		Output:       &model.OutputSchema{Name: "out", Schema: json.RawMessage(`{}`)},
		Settings: &model.Settings{
			MaxTokens: 1, Temperature: new(0.5), TopP: new(0.5), Stop: []string{"x", "y"}, Seed: new(int64(7)), ParallelToolCalls: new(true), Thinking: "low",
			ServiceTier: "flex", ExtraHeaders: map[string]string{"a": "1", "b": "2"}, ExtraBody: map[string]json.RawMessage{"c": json.RawMessage("1"), "d": json.RawMessage("2")},
		},
		Messages: []*model.Message{
			{Kind: model.KindRequest, Parts: []model.Part{model.User("hi"), model.Media("image/png", []byte{1, 2})}, RunID: n, ConversationID: n, Time: time.Unix(int64(len(n)), 0), Instructions: n, Metadata: map[string]string{"n": n}},
			{Kind: model.KindResponse, ResponseID: n, Usage: model.Usage{InputTokens: int64(len(n))}, Parts: []model.Part{
				{Kind: model.PartToolCall, CallID: "a" + n, Tool: "weather", Args: model.RawArgs(`{}`), ID: n, Provider: "test", Signature: []byte("s"), Meta: json.RawMessage(`"` + n + `"`)},
				model.ToolCall("b"+n, "time", `{}`),
			}},
			{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("b"+n, "time", "noon"), model.ToolReturn("a"+n, "weather", "rain")}},
		},
	}
}

func TestKeyIgnoresIDsAndTimes(t *testing.T) {
	require.Equal(t, key(conversation("first")), key(conversation("second one")))
}

func TestKeyIsStable(t *testing.T) {
	// Stores outlive programs. If the canonical form changes, change its version and this key.
	require.Equal(t, "45372bef41024e81fc2cd7978c897dee4ba737d2b472b52150c0e4fa8760735d", key(conversation("x")))
}

func TestKeyCoversEverythingSent(t *testing.T) {
	changes := map[string]func(*model.Request){
		"nothing":              func(*model.Request) {},
		"instructions":         func(r *model.Request) { r.Instructions += "!" },
		"tool name":            func(r *model.Request) { r.Tools[0].Name = "x" },
		"tool description":     func(r *model.Request) { r.Tools[0].Description = "x" },
		"tool schema":          func(r *model.Request) { r.Tools[0].Schema = json.RawMessage(`{"a":1}`) },
		"tool strict":          func(r *model.Request) { r.Tools[0].Strict = true },
		"tool order":           func(r *model.Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] },
		"fewer tools":          func(r *model.Request) { r.Tools = r.Tools[:1] },
		"tool choice":          func(r *model.Request) { r.ToolChoice.Mode = model.ToolChoiceRequired },
		"tool chosen":          func(r *model.Request) { r.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "time"} },
		"no output":            func(r *model.Request) { r.Output = nil },
		"output schema":        func(r *model.Request) { r.Output.Schema = json.RawMessage(`{"a":1}`) },
		"no settings":          func(r *model.Request) { r.Settings = nil },
		"max tokens":           func(r *model.Request) { r.Settings.MaxTokens = 2 },
		"temperature":          func(r *model.Request) { r.Settings.Temperature = new(0.6) },
		"no temperature":       func(r *model.Request) { r.Settings.Temperature = nil },
		"top-p":                func(r *model.Request) { r.Settings.TopP = nil },
		"stop":                 func(r *model.Request) { r.Settings.Stop = []string{"xy"} },
		"seed":                 func(r *model.Request) { r.Settings.Seed = nil },
		"parallel":             func(r *model.Request) { r.Settings.ParallelToolCalls = new(false) },
		"parallel unset":       func(r *model.Request) { r.Settings.ParallelToolCalls = nil },
		"thinking":             func(r *model.Request) { r.Settings.Thinking = "high" },
		"service tier":         func(r *model.Request) { r.Settings.ServiceTier = "" },
		"headers":              func(r *model.Request) { r.Settings.ExtraHeaders["a"] = "2" },
		"body":                 func(r *model.Request) { r.Settings.ExtraBody["e"] = json.RawMessage("3") },
		"one message less":     func(r *model.Request) { r.Messages = r.Messages[:2] },
		"message order":        func(r *model.Request) { r.Messages[0], r.Messages[2] = r.Messages[2], r.Messages[0] },
		"kind":                 func(r *model.Request) { r.Messages[0].Kind = model.KindResponse },
		"text":                 func(r *model.Request) { r.Messages[0].Parts[0].Text = "hello" },
		"part kind":            func(r *model.Request) { r.Messages[0].Parts[0].Kind = model.PartSystem },
		"media":                func(r *model.Request) { r.Messages[0].Parts[1].Data = []byte{1, 3} },
		"media type":           func(r *model.Request) { r.Messages[0].Parts[1].MediaType = "image/gif" },
		"media name":           func(r *model.Request) { r.Messages[0].Parts[1].Name = "x" },
		"media URL":            func(r *model.Request) { r.Messages[0].Parts[1].Data, r.Messages[0].Parts[1].URL = nil, "x" },
		"no media":             func(r *model.Request) { r.Messages[0].Parts[1].Data = nil },
		"empty media":          func(r *model.Request) { r.Messages[0].Parts[1].Data = []byte{} },
		"arguments":            func(r *model.Request) { r.Messages[1].Parts[0].Args = model.RawArgs(`{ }`) },
		"signature":            func(r *model.Request) { r.Messages[1].Parts[0].Signature = []byte("t") },
		"provider":             func(r *model.Request) { r.Messages[1].Parts[0].Provider = "x" },
		"outcome":              func(r *model.Request) { r.Messages[2].Parts[0].Outcome = model.OutcomeFailed },
		"id of the call":       func(r *model.Request) { r.Messages[2].Parts[0].CallID, r.Messages[2].Parts[1].CallID = "ax", "bx" },
		"no call id":           func(r *model.Request) { r.Messages[2].Parts[0].CallID = "" },
		"text across parts":    func(r *model.Request) { r.Messages[2].Parts[0].Tool, r.Messages[2].Parts[0].Text = "timen", "oon" },
		"a long text":          func(r *model.Request) { r.Instructions = strings.Repeat("long ", 10_000) },
		"another long text":    func(r *model.Request) { r.Instructions = strings.Repeat("long ", 10_000) + "!" },
		"a large image":        func(r *model.Request) { r.Messages[0].Parts[1].Data = make([]byte, 100_000) },
		"another large image":  func(r *model.Request) { r.Messages[0].Parts[1].Data = make([]byte, 100_001) },
		"long text at the end": func(r *model.Request) { r.Messages[2].Parts[1].Text = strings.Repeat("long ", 10_000) },
	}
	seen := map[string]string{}
	for what, change := range changes {
		req := conversation("x")
		change(req)
		k := key(req)
		require.Empty(t, seen[k], "changing %s has no effect", what)
		seen[k] = what
		require.Equal(t, k, key(req), "the same request has the same key")
	}
	for _, info := range []model.Info{{Name: "one"}, {Provider: "test"}, {Provider: "test", Name: "one", NativeOutput: true}, {Provider: "test", Name: "one", Media: []string{"image"}}, {Provider: "test", Name: "one", ContextWindow: 1}} {
		require.Empty(t, seen[keyOf(info, conversation("x"))])
	}
}

func TestKeyDoesNotAllocatePerMessage(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes sync.Pool drop items at random")
	}
	req := conversation("x")
	for range 8 {
		req.Messages = append(req.Messages, req.Messages...)
	}
	short := conversation("x")
	allocs := func(req *model.Request) float64 { return testing.AllocsPerRun(100, func() { key(req) }) }
	require.InDelta(t, allocs(short), allocs(req), 1)
}

func BenchmarkKey(b *testing.B) {
	req := conversation("x")
	for range 8 {
		req.Messages = append(req.Messages, req.Messages...)
	}
	m := cached(saying("one", ""), modelwrap.CachePolicy{})
	b.ReportAllocs()
	for b.Loop() {
		m.Key(req)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(req.Messages)), "ns/message")
}

func TestMemoryDropsTheLeastRecentlyUsed(t *testing.T) {
	s := modelwrap.NewMemory(modelwrap.MemoryLimits{Entries: 2})
	put := func(n byte) { s.Put(t.Context(), modelwrap.Key{n}, say("x")) }
	has := func(n byte) bool {
		_, ok := s.Get(t.Context(), modelwrap.Key{n})
		return ok
	}
	put(1)
	put(2)
	require.True(t, has(1))
	put(3)
	require.Equal(t, []bool{true, false, true}, []bool{has(1), has(2), has(3)})
	put(3) // replaces itself
	require.Equal(t, 2, s.Len())
}

func TestMemoryLimitsBytes(t *testing.T) {
	s := modelwrap.NewMemory(modelwrap.MemoryLimits{Bytes: 100_000})
	for n := range byte(50) {
		s.Put(t.Context(), modelwrap.Key{n}, say(strings.Repeat("x", 10_000)))
	}
	require.Equal(t, 9, s.Len())
	s.Put(t.Context(), modelwrap.Key{200}, say(strings.Repeat("x", 100_000)))
	require.Equal(t, 9, s.Len(), "a response that is too large is not kept and evicts nothing")
	s.Put(t.Context(), modelwrap.Key{49}, say(strings.Repeat("x", 100_000)))
	_, ok := s.Get(t.Context(), modelwrap.Key{49})
	require.False(t, ok, "the earlier response was replaced")
}

// A field that is added to what a request has must be added to the key, or the cache answers with what was asked otherwise.
func TestMemoryHas64MiBByDefault(t *testing.T) {
	keeps := func(limit int64, length int) bool {
		s := modelwrap.NewMemory(modelwrap.MemoryLimits{Bytes: limit})
		s.Put(t.Context(), modelwrap.Key{1}, &model.Message{ResponseID: strings.Repeat("x", length)})
		return s.Len() == 1
	}
	empty := 1
	for !keeps(int64(empty), 0) {
		empty++
	}
	require.True(t, keeps(0, 64<<20-empty))
	require.False(t, keeps(0, 64<<20-empty+1))
}

func TestKeyCoversEveryFieldOfSettings(t *testing.T) {
	values := map[reflect.Type]reflect.Value{}
	for _, v := range []any{
		7, int64(7), "x", true, []string{"x"}, new(0.5), new(int64(7)), new(true), map[string]string{"k": "v"}, map[string]json.RawMessage{"k": json.RawMessage("1")},
		[]model.NativeTool{{Kind: "k"}}, model.NativeKind("x"),
	} {
		values[reflect.TypeOf(v)] = reflect.ValueOf(v)
	}
	// fill returns a value of a type for each of its fields, in which only that is set.
	fill := func(of reflect.Type) map[string]any {
		all := map[string]any{}
		for i := range of.NumField() {
			v, known := values[of.Field(i).Type]
			require.True(t, known, "a value for %s.%s", of, of.Field(i).Name)
			one := reflect.New(of).Elem()
			one.Field(i).Set(v)
			all[of.Name()+"."+of.Field(i).Name] = one.Interface()
		}
		return all
	}
	seen := map[string]string{}
	check := func(what string, s model.Settings) {
		k := key(&model.Request{Settings: &s, Messages: []*model.Message{model.UserText("x")}})
		require.Empty(t, seen[k], "%s has no effect", what)
		seen[k] = what
	}
	check("nothing", model.Settings{})
	for what, s := range fill(reflect.TypeFor[model.Settings]()) {
		check(what, s.(model.Settings))
	}
	check("an empty native tool", model.Settings{NativeTools: []model.NativeTool{{}}})
	for what, tool := range fill(reflect.TypeFor[model.NativeTool]()) {
		if what != "NativeTool.Kind" {
			check(what, model.Settings{NativeTools: []model.NativeTool{tool.(model.NativeTool)}})
		}
	}
	check("two native tools", model.Settings{NativeTools: []model.NativeTool{{Kind: "k"}, {Kind: "k"}}})
	check("native tools and compaction", model.Settings{NativeTools: []model.NativeTool{{Kind: "k"}}, CompactAt: 7})
}

// A cache answers what its model would.
func TestCacheHasTheIdentityOfItsModel(t *testing.T) {
	inner, err := openaimodel.New(openaimodel.Config{Name: "one"})
	require.NoError(t, err)
	m := &tellingModel{politeModel{inner, "please"}}
	require.NotEmpty(t, model.Identity(m))
	require.Contains(t, model.Identity(cached(m, modelwrap.CachePolicy{})), model.Identity(m))
}

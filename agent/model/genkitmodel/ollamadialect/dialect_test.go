// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/plugins/ollama"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/ollamadialect"
)

func TestNewReportsMissingArguments(t *testing.T) {
	plugin := &ollama.Ollama{ServerAddress: "http://127.0.0.1:1"}
	_, err := ollamadialect.New(kit(), nil, ollamadialect.Config{Name: "m"})
	require.ErrorContains(t, err, "ollamadialect: New needs")
	_, err = ollamadialect.New(nil, plugin, ollamadialect.Config{Name: "m"})
	require.ErrorContains(t, err, "ollamadialect: New needs")
	_, err = ollamadialect.New(kit(), plugin, ollamadialect.Config{})
	require.ErrorContains(t, err, "Config.Name is empty")
	_, err = ollamadialect.New(kit(), plugin, ollamadialect.Config{Name: "uninitialised"})
	require.ErrorContains(t, err, `cannot define the model "uninitialised": ollama.Init not called`)
}

func TestNewUsesADefinedModel(t *testing.T) {
	plugin := &ollama.Ollama{ServerAddress: "http://127.0.0.1:1"}
	plugin.Init(t.Context())
	mine := fmt.Sprintf("mine%d", models.Add(1)) // Genkit keeps all models
	plugin.DefineModel(kit(), ollama.ModelDefinition{Name: mine, Type: "chat"}, &ai.ModelOptions{Supports: &ai.ModelSupports{}})
	m, err := ollamadialect.New(kit(), plugin, ollamadialect.Config{Name: mine, Provider: "lab", ContextWindow: 4096})
	require.NoError(t, err)
	require.Equal(t, model.Info{Provider: "lab", Name: mine, NoForcedCalls: true, ContextWindow: 4096}, m.Info())
	_, err = m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hello")}, Tools: []model.ToolDef{{Name: "t"}}}, nil)
	require.ErrorIs(t, err, model.ErrUnsupported, "it was defined without tools")
}

// asked returns a server that records the last request, and a function that returns it.
func asked(t *testing.T, answer string) (url string, body func() map[string]any) {
	t.Helper()
	var last []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() map[string]any {
		var decoded map[string]any
		require.NoError(t, json.Unmarshal(last, &decoded))
		return decoded
	}
}

func TestResultsAndTextAreSeparateMessages(t *testing.T) {
	url, body := asked(t, `{"message":{"role":"assistant","content":"ok"}}`)
	m := open(t, url, false)
	_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{
		model.UserText("first"), model.UserText("second"),
		model.Response(model.Text("I look."), model.ToolCall("1", "a", `{"n":9223372036854775807}`), model.ToolCall("2", "b", "")),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "a", `{"x":1}`), model.Retry("2", "b", "no"), model.User("and?")}},
	}}, nil)
	require.NoError(t, err)
	var lines []string
	for _, msg := range body()["messages"].([]any) {
		msg := msg.(map[string]any)
		lines = append(lines, fmt.Sprint(msg["role"], ": ", msg["content"]))
	}
	require.Equal(t, []string{"user: first", "user: second", "assistant: I look.", `tool: {"x":1}`, "tool: no\n\nFix this and try again.", "user: and?"}, lines)
}

func TestToolChoiceNoneOffersNoTools(t *testing.T) {
	url, body := asked(t, `{"message":{"role":"assistant","content":"ok"}}`)
	m := open(t, url, false)
	req := &model.Request{
		Messages: []*model.Message{model.UserText("hello")}, Tools: []model.ToolDef{{Name: "t"}},
		ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone},
	}
	_, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	require.NotContains(t, body(), "tools")
}

func TestPluginTimeoutIsNamed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not noticed
		<-r.Context().Done()
	}))
	defer server.Close()
	idle(t)
	plugin := &ollama.Ollama{ServerAddress: server.URL, Timeout: 1}
	plugin.Init(t.Context())
	m, err := ollamadialect.New(kit(), plugin, ollamadialect.Config{Name: "slow"})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hello")}}, nil)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.ErrorContains(t, err, "Timeout of the ollama plugin")
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.True(t, e.Retryable)
}

func ExampleNew() {
	// genkit.Init returns a program's Genkit: g := genkit.Init(ctx, genkit.WithPlugins(plugin)). Call signal.Reset after
	// it.
	g := kit()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":"Oslo."},"done":true}`)
	}))
	defer server.Close()
	plugin := &ollama.Ollama{ServerAddress: server.URL, Timeout: 600}
	plugin.Init(context.Background()) // genkit.Init does this for its plugins

	m, err := ollamadialect.New(g, plugin, ollamadialect.Config{Name: "qwen3:8b"})
	if err != nil {
		fmt.Println(err)
		return
	}
	msg, err := m.Generate(context.Background(), &model.Request{Messages: []*model.Message{model.UserText("The capital of Norway?")}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Provider, msg.Text())
	// Output: ollama Oslo.
}

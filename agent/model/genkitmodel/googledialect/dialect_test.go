// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/googledialect"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestInvalidConfigsAreErrors(t *testing.T) {
	for says, config := range map[string]googledialect.Config{
		"Config.Name is empty":       {APIKey: testKey},
		"Config.APIKey is empty":     {Name: "m"},
		"set only one of them":       {Name: "m", APIKey: testKey, Project: "p", Location: "l"},
		"white space":                {Name: "m", APIKey: "sk-1\n"},
		"both needed for Vertex":     {Name: "m", Project: "p"},
		"must start with http":       {Name: "m", APIKey: testKey, BaseURL: "localhost:1"},
		"is not in lower case":       {Name: "m", APIKey: testKey, Provider: "Google"},
		"the setting MaxTokens is -": {Name: "m", APIKey: testKey, Settings: &model.Settings{MaxTokens: -1}},
	} {
		_, err := googledialect.New(t.Context(), config)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "googledialect: ")
	}
	_, err := googledialect.New(t.Context(), googledialect.Config{Name: "m"})
	require.ErrorIs(t, err, model.ErrAuth)
}

func TestKeyIsNotPrinted(t *testing.T) {
	config := googledialect.Config{Name: "m", APIKey: testKey}
	text, err := json.Marshal(config)
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "config", config)
	for _, printed := range []string{fmt.Sprintf("%v %+v %#v %s", config, config, &config, config), string(text), log.String()} {
		require.NotContains(t, printed, testKey)
		require.Contains(t, printed, "key set")
	}
}

func TestConfigString(t *testing.T) {
	for want, config := range map[string]googledialect.Config{
		"googledialect.Config(m at the Gemini API, key set)":           {Name: "m", APIKey: testKey},
		"googledialect.Config(m at Vertex AI, project p in l, no key)": {Name: "m", Project: "p", Location: "l"},
		"googledialect.Config(m at http://host/a, no key)":             {Name: "m", BaseURL: "http://user:pass@host/a/"},
		"googledialect.Config(m at invalid base URL, no key)":          {Name: "m", BaseURL: "http://host?key=secret"},
	} {
		require.Equal(t, want, fmt.Sprint(config))
	}
}

func TestVertexAINeedsCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	_, err := googledialect.New(t.Context(), googledialect.Config{Name: "m", Project: "p", Location: "l"})
	require.ErrorIs(t, err, model.ErrAuth)
	require.ErrorContains(t, err, "failed to find default credentials")
}

func TestVertexAIUsesTheProgramsCredentials(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			_, _ = io.WriteString(w, `{"access_token":"ya29.test","token_type":"Bearer","expires_in":3600}`)
			return
		}
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Oslo."}]},"finishReason":"STOP"}]}`)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)

	file := filepath.Join(t.TempDir(), "credentials.json")
	credentials, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "acme", "private_key_id": "1", "private_key": privateKey(t),
		"client_email": "test@acme.example", "client_id": "1", "token_uri": server.URL + "/token", "quota_project_id": "acme",
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, credentials, 0o600))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)

	m, err := googledialect.New(t.Context(), googledialect.Config{
		Name: "gemini-2.5-flash", Project: "acme", Location: "europe-west4", BaseURL: server.URL,
	})
	require.NoError(t, err)
	require.Equal(t, "vertex", m.Info().Provider)
	msg, err := m.Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	require.Equal(t, "Oslo.", msg.Text())
	require.Contains(t, asked[len(asked)-1], "/projects/acme/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent Bearer ya29.test")
}

func privateKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func ask() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("The capital of Norway?")}}
}

// answering returns a model whose server always returns the same response.
func answering(t *testing.T, name, body string) *genkitmodel.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return open(t, server.URL, name)
}

func TestPluginPanicsAreErrors(t *testing.T) {
	m := answering(t, "m", `{"candidates":[{"content":{"role":"model","parts":[{"text":"I look.","functionCall":{"name":"f"}}]},"finishReason":"STOP"}]}`)
	_, err := m.Generate(t.Context(), ask(), nil)
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, "expected only 1 content part")
}

func TestForeignCallsAreSigned(t *testing.T) {
	e := adaptertest.Serve(t, adaptertest.Answer{Body: `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`})
	own := model.ToolCall("3", "c", "")
	own.Provider, own.Signature = "google", []byte("mine")
	req := &model.Request{Messages: []*model.Message{
		model.UserText("Look."), model.Response(model.ToolCall("1", "a", ""), model.ToolCall("2", "b", "")),
		adaptertest.Request(model.ToolReturn("1", "a", "x"), model.ToolReturn("2", "b", "x")), model.Response(own),
		adaptertest.Request(model.ToolReturn("3", "c", "x")),
	}}
	type part struct {
		FunctionCall     *struct{ Name string }
		ThoughtSignature []byte
	}
	for name, want := range map[string][]string{
		"gemini-2.5-flash": {"a ", "b ", "c mine"}, "gemini-3-pro-preview": {"a skip_thought_signature_validator", "b ", "c mine"},
	} {
		_, err := open(t, e.URL, name).Generate(t.Context(), req, nil)
		require.NoError(t, err)
		_, text := e.Last()
		var body struct{ Contents []struct{ Parts []part } }
		require.NoError(t, json.Unmarshal([]byte(text), &body))
		var got []string
		for _, content := range body.Contents {
			for _, p := range content.Parts {
				if p.FunctionCall != nil {
					got = append(got, p.FunctionCall.Name+" "+string(p.ThoughtSignature))
				}
			}
		}
		require.Equal(t, want, got, name)
	}
}

func TestWhatTheModelCannotDoIsRefused(t *testing.T) {
	m := answering(t, "gemini-2.5-flash", `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`)
	tool := []model.ToolDef{{Name: "t"}}
	for name, change := range map[string]func(*model.Request){
		"seed":       func(r *model.Request) { r.Settings = &model.Settings{Seed: new(int64(1 << 40))} },
		"max_tokens": func(r *model.Request) { r.Settings = &model.Settings{MaxTokens: 1 << 40} },
		"thinking":   func(r *model.Request) { r.Settings = &model.Settings{Thinking: "extreme"} },
		"tool name":  func(r *model.Request) { r.Tools = []model.ToolDef{{Name: "no spaces please"}} },
		"together with tools": func(r *model.Request) {
			r.Tools, r.Output = tool, &model.OutputSchema{Name: "o", Schema: json.RawMessage(`{"type":"object"}`)}
		},
	} {
		req := ask()
		change(req)
		_, err := m.Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
		require.ErrorContains(t, err, name)
	}
	req := ask()
	req.Tools = []model.ToolDef{{Name: "t", Schema: json.RawMessage(`{"type":"object","properties":{"self":{"$ref":"#"}}}`)}}
	_, err := m.Generate(t.Context(), req, nil)
	require.ErrorContains(t, err, `the schema of tool "t": self: self: a schema that refers to itself by #: not supported by the model`)
}

func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Oslo."}]},"finishReason":"STOP"}]}`)
	}))
	defer server.Close()

	m, err := googledialect.New(context.Background(), googledialect.Config{Name: "gemini-2.5-flash", APIKey: "key", BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	msg, err := m.Generate(context.Background(), ask(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Provider, msg.Text())
	// Output: google Oslo.
}

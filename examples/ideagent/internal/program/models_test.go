// SPDX-License-Identifier: Apache-2.0

package program

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// provider is a server that says which model and effort it was asked for.
type provider struct {
	url string
	mu  sync.Mutex
	got []string
}

func newProvider(t *testing.T) *provider {
	p := &provider{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Model  string
			Effort string `json:"reasoning_effort"`
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		text := req.Model + " " + req.Effort
		p.mu.Lock()
		p.got = append(p.got, text)
		p.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"I am %s."},"finish_reason":null}]}`+"\n\n"+
			`data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n", text)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func choices(t *testing.T, s *acpclient.Session, id string) (ids []string) {
	t.Helper()
	for _, c := range option(t, s, id).Choices {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestModelIsSwitchedAndKept(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	env := []string{"OPENAI_API_KEY=sk-x", "MISTRAL_API_KEY=sk-y", "OPENAI_BASE_URL=" + newProvider(t).url}
	file := configFile(t, `{"models": ["openai:other", "offline"], "thinking": "high", "bare": true}`)
	start := func() *agentProcess {
		return startAgentWith(t, work, env, acpclient.AllowAll, "-store", at, "-config", file)
	}
	p := start()
	s := newSession(t, p, work)
	require.Equal(t, []string{"openai:gpt-5-mini", "openai:other", "offline", "mistral:mistral-medium-latest"}, choices(t, s, "model"))
	require.Equal(t, "model", option(t, s, "model").Category)
	require.Equal(t, "thought_level", option(t, s, "thinking").Category)
	require.Equal(t, []string{"high", "minimal", "low", "medium", "default"}, choices(t, s, "thinking"))
	require.Equal(t, "I am gpt-5-mini high.", answer(t, s, "Who are you?"))

	require.NoError(t, s.SetOption(t.Context(), "model", "openai:other"))
	require.NoError(t, s.SetOption(t.Context(), "thinking", "default"))
	require.Equal(t, "I am other .", answer(t, s, "Who are you?"))
	require.ErrorContains(t, s.SetOption(t.Context(), "model", "openai:nobody"), "does not offer the value")

	// After a restart the session has what was chosen.
	p.kill()
	p = start()
	s, err := p.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.Equal(t, "openai:other", option(t, s, "model").Value)
	require.Equal(t, "default", option(t, s, "thinking").Value)

	// In the middle of a conversation to a model of another kind: it has no levels, which the client is told.
	require.Contains(t, answer(t, s, "/model offline"), "Model: Offline")
	require.Len(t, s.Options(), 2)
	require.Contains(t, answer(t, s, "who are you?"), "offline demo model")
	require.NoError(t, s.SetOption(t.Context(), "model", "openai:gpt-5-mini"))
	require.Equal(t, "I am gpt-5-mini .", answer(t, s, "Who are you?"))
	_, err = p.Conn().SetSessionMode(t.Context(), &acp.SetSessionModeRequest{SessionID: s.ID(), ModeID: "plan"})
	require.NoError(t, err)
}

func TestModelsOfStoredKeysAreOffered(t *testing.T) {
	work := workDir(t)
	keys := filepath.Join(write(t, t.TempDir(), map[string]string{"keys.json": `{"GROQ_API_KEY": "x", "OTHER": "y"}`}), "keys.json")
	s := newSession(t, startAgentWith(t, work, []string{"IDEAGENT_KEYS=" + keys}, acpclient.AllowAll), work)
	require.Equal(t, []string{"default", "groq:openai/gpt-oss-120b", "offline"}, choices(t, s, "model"))
	s = newSession(t, startAgent(t, work), work)
	require.Equal(t, []string{"offline"}, choices(t, s, "model"))
}

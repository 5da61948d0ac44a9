// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// provider is a fake provider: handle answers each request, given its body.
func provider(t *testing.T, handle func(w http.ResponseWriter, path string, body []byte)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		handle(w, r.URL.Path, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestGeminiCLIIsDriven(t *testing.T) {
	deepTier(t)
	dir := installed(t, geminiPeers)
	for kind, ran := range map[acp.PermissionOptionKind]bool{acp.PermissionOptionKindAllowOnce: true, acp.PermissionOptionKindRejectOnce: false} {
		t.Run(string(kind), func(t *testing.T) {
			url := provider(t, geminiProvider)
			home, repo := t.TempDir(), t.TempDir()
			made := filepath.Join(repo, "made.txt")
			// It cannot create a file through a client: it does not understand the error for a file that is missing.
			if err := os.WriteFile(made, []byte("old\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			files, err := local.Open(local.Config{Roots: []string{repo}})
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			p := &person{kind: kind}
			turn := drive(t, acpclient.Command{
				Path: "node", Args: []string{filepath.Join(dir, "node_modules", "@google", "gemini-cli", "bundle", "gemini.js"), "--acp"}, Dir: repo,
				OnlyEnv: true, Env: cleanEnv("HOME="+home, "GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_TELEMETRY_ENABLED=false"),
			}, "gemini-api-key", acpclient.Config{Permission: p.answer, Workspace: files}, repo, "Write made.txt.")
			if len(p.asked) != 1 {
				t.Errorf("asked %q, want one question: what was shown is written without another", p.asked)
			}
			data, err := os.ReadFile(made)
			if wrote := err == nil && string(data) == "made\n"; wrote != ran {
				t.Errorf("made.txt: %q, %v", data, err)
			}
			if t.Failed() {
				for e := range turn.Snapshot.All() {
					t.Logf("%s %s %s %s %s %s", e.Kind, e.Title, e.Status, e.Text(), e.Input, e.Output)
				}
			}
			if ran && (!strings.Contains(turn.Text(), "All done.") || !strings.Contains(calls(turn), "completed")) {
				t.Error("the turn was not whole")
			}
		})
	}
}

var geminiPeers = sync.OnceValues(func() (string, error) { return nodePackages("gemini", "gemini") })

// geminiProvider speaks the Gemini API: a call of write_file, and text once that has a result.
func geminiProvider(w http.ResponseWriter, path string, body []byte) {
	part := map[string]any{"functionCall": map[string]any{"name": "write_file", "args": map[string]any{"file_path": "made.txt", "content": "made\n"}}}
	switch {
	case strings.Contains(string(body), `"functionResponse"`):
		part = map[string]any{"text": "All done."}
	case strings.Contains(string(body), `"responseMimeType":"application/json"`), strings.Contains(string(body), `"responseJsonSchema"`):
		part = map[string]any{"text": `{"reasoning":"simple","model_choice":"flash","complexity_reasoning":"simple","complexity_score":1}`}
	case strings.Contains(path, "countTokens"):
		_, _ = io.WriteString(w, `{"totalTokens":1}`)
		return
	}
	answer, _ := json.Marshal(map[string]any{
		"candidates":    []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  "fake",
	})
	if strings.Contains(path, "streamGenerateContent") {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", answer)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// TestMain makes the program of this one, too.
func TestMain(m *testing.M) {
	if os.Getenv("EXAMPLE_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program runs the program with a model that gives answers, one after the other, the last one for ever. An answer is a text, or the name of
// a tool and its arguments.
func program(t *testing.T, input string, answers [][]string, args ...string) (out string, requests []string, code int) {
	t.Helper()
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		a := answers[min(len(requests), len(answers)-1)]
		requests = append(requests, string(body))
		if a[0] == "fail" {
			http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusBadRequest)
			return
		}
		message, finish := map[string]any{"role": "assistant", "content": a[0]}, "stop"
		if len(a) > 1 {
			message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprint("c", len(requests)), "type": "function", "function": map[string]any{"name": a[0], "arguments": a[1]}}}}
			finish = "tool_calls"
		}
		choice := map[string]any{"index": 0, "finish_reason": finish, "message": message}
		stream := strings.Contains(string(body), `"stream":true`)
		if stream {
			choice = map[string]any{"index": 0, "finish_reason": finish, "delta": message}
		}
		data, _ := json.Marshal(map[string]any{"id": "x", "model": "m", "choices": []any{choice}})
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	}))
	defer srv.Close()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "EXAMPLE_MAIN=1", "OPENAI_BASE_URL="+srv.URL, "OPENAI_API_KEY=sk-0123456789abcdef")
	cmd.Stdin = strings.NewReader(input)
	data, _ := cmd.CombinedOutput()
	return string(data), requests, cmd.ProcessState.ExitCode()
}

// The program says what is wrong with its model or address.
func TestModels(t *testing.T) {
	for args, want := range map[string]string{"-model nobody:m": "nobody", "-address localhost:x": "x", "-model openai:m -address localhost:x": "x"} {
		out, _, code := program(t, "", nil, strings.Fields(args)...)
		require.Contains(t, out, want)
		require.Equal(t, 1, code)
	}
	out, _, code := program(t, "", nil, "-h")
	require.Zero(t, code)
	require.Contains(t, out, "address to listen on (default \"localhost:8080\")")
}

// A prompt is a mebibyte at most, and a conversation goes on after an answer that failed.
func TestPromptsThatFail(t *testing.T) {
	s, err := newServer(t.Context(), "")
	require.NoError(t, err)
	say := func(prompt string) (int, string) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/chat?conversation=a", strings.NewReader(prompt)))
		return w.Code, w.Body.String()
	}
	code, text := say("")
	require.Equal(t, []any{400, "the body must be a prompt of at most 1 MiB\n"}, []any{code, text})
	code, text = say(strings.Repeat("x", 1<<20+1))
	require.Equal(t, []any{400, "the body must be a prompt of at most 1 MiB\n"}, []any{code, text})
	code, text = say(strings.Repeat("x", 1<<20))
	require.Equal(t, 200, code)
	require.Len(t, text, 1<<20+len("Message 1 is: "))
	echoes := s.model
	s.model = modeltest.Script()
	code, text = say("again")
	require.Equal(t, []any{200, "\nSorry, that did not work.\n"}, []any{code, text})
	s.model = echoes
	_, text = say("third")
	require.Equal(t, "Message 2 is: third", text)
	_, err = newServer(t.Context(), "nobody:m")
	require.ErrorContains(t, err, "nobody")
}

// What is written is sent at once.
func TestTextIsSentAsItIsWritten(t *testing.T) {
	s, err := newServer(t.Context(), "")
	require.NoError(t, err)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/chat", strings.NewReader("x")))
	require.True(t, w.Flushed)
}

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

// The program asks the model that it is told to, and says what is wrong.
func TestModels(t *testing.T) {
	answer := []string{"final_result", `{"text":"All is well.","block_card":true,"risk":3}`}
	out, requests, code := program(t, "", [][]string{{"balance", `{"pending":false}`}, answer}, "-model", "openai:m")
	require.Equal(t, "{Text:All is well. BlockCard:true Risk:3}\n", out)
	require.Zero(t, code)
	require.Contains(t, requests[0], "The customer is called Ada.")
	require.Contains(t, requests[0], "What is my balance?")
	require.Contains(t, requests[1], `$100.00`)
	out, _, code = program(t, "", [][]string{{"fail"}}, "-model", "openai:m")
	require.Contains(t, out, "no such model")
	require.Equal(t, 1, code)
	out, _, code = program(t, "", nil, "-model", "nobody:m")
	require.Contains(t, out, "nobody")
	require.Equal(t, 1, code)
	out, _, code = program(t, "", nil)
	require.Equal(t, "{Text:Ada, you have $123.45. BlockCard:false Risk:1}\n", out)
	require.Zero(t, code)
}

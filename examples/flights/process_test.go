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

// The program asks the model that it is told to, and the person at the terminal, and says what is wrong.
func TestModels(t *testing.T) {
	list := []string{"final_result", `{"value":[{"number":"PN1","price":9,"from":"OSL","to":"BER","date":"2030-01-10"}]}`}
	buys := func(from, to, date string) []string {
		return []string{"buy", `{"number":"PN1","price":9,"from":"` + from + `","to":"` + to + `","date":"` + date + `"}`}
	}
	answers := [][]string{{"flights", `{}`}, list, buys("OSX", "BER", "2030-01-10"), buys("OSL", "BEX", "2030-01-10"), buys("OSL", "BER", "2030-01-11"), buys("OSL", "BER", "2030-01-10"), {"Done."}}
	out, requests, code := program(t, "yes\n", answers, "-model", "openai:m")
	require.Equal(t, "Buy PN1 for $9?\nDone. (7 requests)\n", out)
	require.Zero(t, code)
	require.Contains(t, requests[0], "From OSL to BER on 2030-01-10.")
	require.Contains(t, requests[1], "List the flights on this page.")
	require.Contains(t, requests[1], "PN202: Oslo (OSL) to Berlin (BER), 11 January 2030, $60")
	require.NotContains(t, requests[1], "Get me there.")
	for _, r := range requests[3:6] {
		require.Contains(t, r, "The flight must go from OSL to BER on 2030-01-10.")
	}
	require.Contains(t, requests[6], "Bought PN1.")
	out, requests, _ = program(t, "no\n", [][]string{buys("OSL", "BER", "2030-01-10"), {"Well."}}, "-model", "openai:m")
	require.Equal(t, "Buy PN1 for $9?\nWell. (2 requests)\n", out)
	require.Contains(t, requests[1], "The user does not want this flight.")
	out, _, code = program(t, "", [][]string{buys("OSL", "BER", "2030-01-10"), {"Well."}}, "-model", "openai:m")
	require.Contains(t, out, "Buy PN1 for $9?\n")
	require.NotContains(t, out, "Well.")
	require.Equal(t, 1, code)
	out, requests, code = program(t, "", [][]string{{"flights", `{}`}, {"fail"}}, "-model", "openai:m")
	require.Contains(t, out, "no such model")
	require.Equal(t, 1, code)
	require.Len(t, requests, 2)
	var many [][]string
	for range 20 {
		many = append(many, []string{"flights", `{}`}, list)
	}
	out, requests, code = program(t, "", many, "-model", "openai:m")
	require.Contains(t, out, "15")
	require.Equal(t, 1, code)
	require.Len(t, requests, 15)
	out, _, code = program(t, "", nil, "-model", "nobody:m")
	require.Contains(t, out, "nobody")
	require.Equal(t, 1, code)
}

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
	"path/filepath"
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

// The program works in a directory or on a copy of it, asks unless it may do everything, and has a conversation or does what it is told.
func TestModels(t *testing.T) {
	project := func() (dir string, text func(dir string) string) {
		dir = t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f.txt"), []byte("one\n"), 0o600))
		return dir, func(dir string) string {
			data, err := os.ReadFile(filepath.Join(dir, "f.txt"))
			require.NoError(t, err)
			return string(data)
		}
	}
	const prompt = `replace "one" with "two" in f.txt`
	dir, text := project()
	out, _, code := program(t, "", nil, "-model", "offline", "-dir", dir, "-yes", "replace", `"one"`, "with", `"two"`, "in f.txt")
	require.Contains(t, out, "+two")
	require.Zero(t, code)
	require.Equal(t, "two\n", text(dir))

	dir, text = project()
	_, _, code = program(t, "", nil, "-model", "offline", "-dir", dir, prompt)
	require.Equal(t, "one\n", text(dir), "nobody has allowed it")
	require.Zero(t, code)
	out, _, code = program(t, prompt+"\ny\n", nil, "-model", "offline", "-dir", dir)
	require.Contains(t, out, "Edit f.txt")
	require.Zero(t, code)
	require.Equal(t, "two\n", text(dir))

	dir, text = project()
	out, _, code = program(t, "", nil, "-model", "offline", "-dir", dir, "-scratch", "-yes", prompt)
	require.Zero(t, code)
	require.Equal(t, "one\n", text(dir))
	first, _, _ := strings.Cut(out, "\n")
	copied, ok := strings.CutPrefix(first, "Working on a copy: ")
	require.True(t, ok, out)
	defer os.RemoveAll(filepath.Dir(copied))
	require.Equal(t, filepath.Base(dir), filepath.Base(copied))
	require.Contains(t, filepath.Base(filepath.Dir(copied)), "codeagent-")
	require.Equal(t, "two\n", text(copied))

	for _, c := range []struct{ args, want string }{
		{"-model nobody:m hi", "nobody"}, {"-dir /nowhere/at/all -model offline hi", "/nowhere/at/all"}, {"-scratch -dir /nowhere/at/all -model offline hi", "no such file or directory"},
	} {
		out, _, code = program(t, "", nil, strings.Fields(c.args)...)
		require.Contains(t, out, c.want)
		require.NotContains(t, out, "20", "without the time")
		require.Equal(t, 1, code)
	}
	out, requests, code := program(t, "", [][]string{{"fail"}}, "-model", "openai:m", "-dir", dir, "hi")
	require.Contains(t, out, "no such model")
	require.Equal(t, 1, code)
	require.Contains(t, requests[0], "You are a coding agent. Look before you change")
	out, requests, code = program(t, "", [][]string{{"Hello there."}}, "-model", "openai:m", "-dir", dir, "hi", "you")
	require.Contains(t, out, "Hello there.")
	require.Zero(t, code)
	require.Contains(t, requests[0], "hi you")
	out, _, code = program(t, "", nil, "-h")
	require.Zero(t, code)
	require.Contains(t, out, "offline: a demo model that follows rules and needs nothing (default \"ollama:qwen3:8b\")")
	require.Contains(t, out, "to work in (default \".\")")
}

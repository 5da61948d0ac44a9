// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// keyServer is a provider that takes one key.
func keyServer(t *testing.T, key *atomic.Value) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key.Load().(string) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"wrong key","type":"invalid_request_error","code":"invalid_api_key"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"},"finish_reason":null}]}`+"\n\n"+
			`data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// typed returns a file to read the text from.
func typed(t *testing.T, text string) *os.File {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = w.WriteString(text + "\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Cleanup(func() { r.Close() })
	return r
}

// The client of this module logs in to the sample, which keeps the key where only the user can read it.
func TestLoginWithOurOwnClient(t *testing.T) {
	var right atomic.Value
	right.Store("sk-right")
	file := filepath.Join(t.TempDir(), "keys.json")
	var said []string
	command := acpclient.Command{
		Path: binary, Args: []string{"-model", "openai:gpt-5-mini"},
		Env: []string{"IDEAGENT_KEYS=" + file, "OPENAI_BASE_URL=" + keyServer(t, &right), "OPENAI_API_KEY="},
	}
	start := func() *acpclient.Client {
		c, err := acpclient.Start(t.Context(), command, acpclient.Config{TerminalLogin: true, OnStderr: func(line string) { said = append(said, line) }})
		require.NoError(t, err)
		return c
	}
	dir := t.TempDir()
	c := start()
	require.Len(t, c.AuthMethods(), 2)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: dir})
	require.NoError(t, err, "a server of one's own may need no key")
	_, err = s.Say(t.Context(), "hi")
	require.ErrorIs(t, err, acp.ErrAuthRequired)
	require.Error(t, c.Login(t.Context(), "enter-key", acpclient.Terminal{In: typed(t, "")}), "nothing was typed")
	require.NoFileExists(t, file)
	require.NoError(t, c.Login(t.Context(), "enter-key", acpclient.Terminal{In: typed(t, "sk-wrong")}))
	require.NoError(t, c.Close())

	c = start() // as the protocol has it
	s, err = c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: dir})
	require.NoError(t, err)
	_, err = s.Say(t.Context(), "hi")
	require.ErrorIs(t, err, acp.ErrAuthRequired, "the provider refuses it")
	require.NoError(t, c.Login(t.Context(), "enter-key", acpclient.Terminal{In: typed(t, "sk-right")}))
	require.NoError(t, c.Authenticate(t.Context(), "stored-key"))
	turn, err := s.Say(t.Context(), "hi again")
	require.NoError(t, err, "the session goes on")
	require.Equal(t, "hello", turn.Text())

	require.NoError(t, c.Logout(t.Context()))
	_, err = s.Say(t.Context(), "still there?")
	require.ErrorIs(t, err, acp.ErrAuthRequired)
	require.NoError(t, c.Close())
	require.NotContains(t, strings.Join(said, "\n"), "sk-", "no key is in the log")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(data), "sk-")
}

func TestSessionWithoutAKeySaysHowToLogIn(t *testing.T) {
	c, err := acpclient.Start(t.Context(), acpclient.Command{
		Path: binary, Args: []string{"-model", "mistral:x"}, Env: []string{"IDEAGENT_KEYS=" + filepath.Join(t.TempDir(), "keys.json")},
	}, acpclient.Config{TerminalLogin: true})
	require.NoError(t, err)
	defer c.Close()
	require.Len(t, c.AuthMethods(), 2)
	_, err = c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	require.ErrorIs(t, err, acp.ErrAuthRequired)
	require.ErrorContains(t, err, `run "ideagent login mistral" in a terminal, or set MISTRAL_API_KEY`)
	require.ErrorIs(t, c.Authenticate(t.Context(), "stored-key"), acp.ErrAuthRequired, "there is none yet")
	require.NoError(t, c.Login(t.Context(), "enter-key", acpclient.Terminal{In: typed(t, "sk-x")}))
	require.NoError(t, c.Authenticate(t.Context(), "stored-key"))
	_, err = c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, c.Logout(t.Context()))
	_, err = c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	require.ErrorIs(t, err, acp.ErrAuthRequired)
}

func TestLoginAndLogoutCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	run := func(input string, args ...string) (string, int) {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "IDEAGENT_KEYS="+file)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if _, ok := err.(*exec.ExitError); err != nil && !ok {
			require.NoError(t, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, c := range []struct {
		input string
		args  []string
		code  int
		want  string
	}{
		{"", []string{"logout"}, 0, "No key is stored."},
		{"sk-1\nrest", []string{"login"}, 0, "The key is kept in " + file},
		{"sk-2", []string{"login", "mistral"}, 0, "The key is kept in "},
		{"sk 3\n", []string{"login"}, 1, "this is not a key"},
		{"sk\x1b[3\n", []string{"login"}, 1, "this is not a key"},
		{"", []string{"login"}, 1, "this is not a key"},
		{"sk-4", []string{"login", "mistrel"}, 2, "did you mean mistral?"},
		{"sk-4", []string{"login", "openai", "sk-4"}, 2, "unknown argument"},
		{"", []string{"login", "-h"}, 0, "IDEAGENT_KEYS"},
		{"", []string{"-model", "mistral:x", "logout"}, 0, "The key is removed."},
	} {
		out, code := run(c.input, c.args...)
		require.Equal(t, c.code, code, out)
		require.Contains(t, out, c.want)
		require.NotContains(t, out, "sk-1")
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, `{"OPENAI_API_KEY":"sk-1"}`, string(data))
}

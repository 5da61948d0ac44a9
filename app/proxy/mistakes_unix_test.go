// SPDX-License-Identifier: Apache-2.0

//go:build unix

package proxy_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/proxy"
)

// What the command says if it is given something wrong, and with which exit code.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	bad, agent := filepath.Join(dir, "bad.json"), filepath.Join(dir, "agent")
	require.NoError(t, os.WriteFile(bad, []byte(`{"mode": "yolo"}`), 0o600))
	require.NoError(t, os.WriteFile(agent, []byte("#!/bin/sh\nexit 7\n"), 0o700))
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{nil, 2, "desk: name an agent, or a program that is one\nRun \"desk -h\" for help.\n"},
		{[]string{"-rules", filepath.Join(dir, "none"), "x"}, 1, "desk: open " + filepath.Join(dir, "none") + ": no such file or directory\n"},
		{[]string{"-rules", bad, "x"}, 1, "desk: " + bad + ": "},
		{[]string{"-record", filepath.Join(dir, "none", "x"), "x"}, 1, "desk: open " + filepath.Join(dir, "none", "x") + ": no such file or directory\n"},
		{[]string{filepath.Join(dir, "none")}, 1, "desk: "},
		{[]string{"gemin"}, 1, "desk: acpclient: there is no agent \"gemin\"; did you mean gemini?\n"},
		{[]string{agent}, 7, "desk: "},
		{[]string{agent, "with", "arguments"}, 7, "desk: "},
	} {
		var out, said bytes.Buffer
		code := app.Run(t.Context(), app.Config[any, string]{Name: "desk", Agent: newDesk(), Commands: []func(*app.Env) *cobra.Command{proxy.Command}},
			app.Process{Args: append([]string{"proxy"}, c.args...), In: strings.NewReader(""), Out: &out, Err: &said})
		require.Equal(t, c.code, code, "%v: %s", c.args, said.String())
		require.True(t, strings.HasPrefix(said.String(), c.said), "%v: %s", c.args, said.String())
		require.Empty(t, out.String())
	}
}

// Messages pass in both directions under rules, and are recorded in a file that only the user can read.
func TestMessagesAreRecorded(t *testing.T) {
	dir := t.TempDir()
	record, rules := filepath.Join(dir, "record"), filepath.Join(dir, "rules.json")
	require.NoError(t, os.WriteFile(rules, []byte(`{"rules": [{"decision": "deny", "tool": "x"}]}`), 0o600))
	in, toAgent := acp.Pipe()
	fromAgent, out := acp.Pipe()
	ended := make(chan int)
	go func() {
		ended <- app.Run(context.WithoutCancel(t.Context()), app.Config[any, string]{Name: "desk", Agent: newDesk(), Commands: []func(*app.Env) *cobra.Command{proxy.Command}},
			app.Process{Args: []string{"proxy", "-record", record, "-rules", rules, "-read-only", os.Args[0], "agent"}, In: in, Out: out})
	}()
	client, err := acpclient.Connect(t.Context(), fromAgent, toAgent, acpclient.Config{})
	require.NoError(t, err)
	s, err := client.NewSession(t.Context(), acpclient.SessionConfig{Cwd: dir})
	require.NoError(t, err)
	turn, err := s.Say(t.Context(), "Where is order 17?")
	require.NoError(t, err)
	require.Equal(t, "It was delivered on Monday.", turn.Text())
	require.NoError(t, client.Close())
	require.Equal(t, 0, <-ended)
	data, err := os.ReadFile(record)
	require.NoError(t, err)
	require.Contains(t, string(data), "Where is order 17?")
	require.Contains(t, string(data), `"text":"Monday."`)
	info, err := os.Stat(record)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

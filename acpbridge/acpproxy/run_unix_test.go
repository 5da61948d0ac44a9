// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpproxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
)

// agentMain is an agent in a process of its own that repeats what it reads, until it is told otherwise.
func agentMain(what string) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch {
		case what == "repeats":
			_, _ = os.Stdout.WriteString(line)
		case what == "environment":
			fmt.Printf("%q %q %q\n", os.Getenv("PONTE_TEST_A"), os.Getenv("PONTE_TEST_B"), filepath.Base(dirOf()))
		case what == "dies":
			os.Exit(3)
		case what == "is killed":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case what == "leaves a child behind":
			cmd := exec.Command("sleep", "300")
			cmd.Stdout = os.Stdout
			_ = cmd.Start()
			os.Exit(3)
		}
	}
}

func run(t *testing.T, what string, config acpproxy.Config) (out string, err error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	reads, writes := acp.Pipe()
	var b bytes.Buffer
	if what == "repeats" {
		_, err = writes.Write([]byte(request(1, "m", "{}") + "\n"))
		require.NoError(t, err)
		require.NoError(t, writes.Close())
	} else {
		go func() { _, _ = writes.Write([]byte(request(1, "m", "{}") + "\n")) }()
		defer writes.Close()
	}
	config.Grace = time.Minute // that the agent may take to start, and to end
	err = acpproxy.Run(t.Context(), reads, &b, acpclient.Command{Path: self, Args: []string{"agent", what}}, config)
	return b.String(), err
}

func TestRunServesAnAgent(t *testing.T) {
	var recording bytes.Buffer
	out, err := run(t, "repeats", acpproxy.Config{Record: &recording})
	require.NoError(t, err)
	require.Equal(t, request(1, "m", "{}")+"\n", out)
	entries, err := acpproxy.ReadRecording(&recording)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestRunTellsHowTheAgentEnded(t *testing.T) {
	for what, want := range map[string]string{
		"dies": "exit code 3", "is killed": "SIGKILL", "leaves a child behind": "exit code 3",
	} {
		out, err := run(t, what, acpproxy.Config{})
		var ended *acpclient.ProcessError
		require.ErrorAs(t, err, &ended, what)
		require.ErrorContains(t, err, want)
		require.Contains(t, out, "m: the agent has ended", what)
	}
	err := acpproxy.Run(t.Context(), strings.NewReader(""), new(bytes.Buffer), acpclient.Command{Path: "/nobodys/program"}, acpproxy.Config{})
	require.ErrorContains(t, err, `start the agent "/nobodys/program"`)
}

func dirOf() string {
	dir, _ := os.Getwd()
	return dir
}

// An agent has the environment of this process and its own variables, or its own alone, and its directory.
func TestRunGivesAnAgentItsEnvironment(t *testing.T) {
	t.Setenv("PONTE_TEST_A", "ours")
	self, err := os.Executable()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "here")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for only, want := range map[bool]string{false: `"ours" "own" "here"`, true: `"" "own" "here"`} {
		reads, writes := acp.Pipe()
		_, err = writes.Write([]byte("{}\n"))
		require.NoError(t, err)
		require.NoError(t, writes.Close())
		var b bytes.Buffer
		err = acpproxy.Run(t.Context(), reads, &b, acpclient.Command{Path: self, Args: []string{"agent", "environment"}, Env: []string{"PONTE_TEST_B=own"}, OnlyEnv: only, Dir: dir}, acpproxy.Config{Grace: time.Minute})
		require.NoError(t, err)
		require.Equal(t, want+"\n", b.String())
	}
	require.EqualError(t, acpproxy.Run(t.Context(), nil, nil, acpclient.Command{}, acpproxy.Config{Grace: -1}), "acpproxy: config: MaxLine and Grace must not be negative")
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpclient_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// processMain is an agent in a process of its own that does one thing wrong.
func processMain(what string) {
	a := &raw{bufio.NewReader(os.Stdin), os.Stdout}
	die := func() {
		fmt.Fprintln(os.Stderr, "loading", "\x1b[31mred\x1b[0m")
		fmt.Fprintln(os.Stderr, "panic: the disk is on fire, key", os.Getenv("TEST_API_KEY"))
		os.Exit(3)
	}
	switch what {
	case "dies at once":
		die()
	case "dies in initialize":
		a.await("initialize")
		die()
	case "dies in session/new":
		a.hello(`{}`)
		a.await("session/new")
		die()
	case "dies in a turn":
		a.open()
		a.await("session/prompt")
		a.say("half an ans")
		die()
	case "dies in a question":
		a.open()
		a.await("session/prompt")
		a.write(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}`)
		time.Sleep(20 * time.Millisecond)
		die()
	case "is killed":
		a.open()
		a.await("session/prompt")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "closes its output":
		a.open()
		a.await("session/prompt")
		_ = os.Stdout.Close()
		a.wait()
	case "leaves a child behind":
		a.open()
		a.await("session/prompt")
		cmd := exec.Command("sleep", "300")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		_ = cmd.Start()
		die()
	case "prints garbage":
		fmt.Println("Usage: agent [flags]")
		fmt.Println("  -acp   speak ACP, with", os.Getenv("TEST_API_KEY"))
		a.wait()
	case "tells its key":
		fmt.Fprintln(os.Stderr, "the key is", os.Getenv("MINE_API_KEY"))
		os.Exit(1)
	case "does not end":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		a.open()
		for {
			time.Sleep(time.Hour)
		}
	case "works":
		a.open()
		a.turn(func() { a.say(os.Getenv("HOME") + os.Getenv("TEST_API_KEY")) })
		a.wait()
	case "login":
		if len(os.Args) > 3 && os.Args[3] == "--login" {
			fmt.Println("logged in as", os.Getenv("WHO"))
			os.Exit(len(os.Getenv("FAIL")))
		}
		a.answer(a.await("initialize"), `{"protocolVersion":1,"agentCapabilities":{},"authMethods":[{"type":"terminal","id":"tty","name":"Terminal","args":["--login"],"env":{"WHO":"me"}},{"id":"web","name":"Web"}]}`)
		a.answer(a.await("authenticate"), `{}`)
		a.wait()
	}
}

// agentProcess is the command that starts processMain.
func agentProcess(what string) acpclient.Command {
	return acpclient.Command{Path: os.Args[0], Args: []string{"agent", what}, Env: []string{"TEST_API_KEY=sk-very-secret", "GORACE=atexit_sleep_ms=0"}}
}

// run starts an agent and sends a prompt. It returns the first error.
func run(t *testing.T, what string, config acpclient.Config) error {
	t.Helper()
	config.CancelGrace = time.Second
	c, err := acpclient.Start(t.Context(), agentProcess(what), config)
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, c.Close()) }()
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	if err != nil {
		return err
	}
	_, err = s.Say(t.Context(), "hello")
	return err
}

func TestAgentsThatDieAreNamedWithTheirLastWords(t *testing.T) {
	for what, method := range map[string]string{
		"dies at once": "initialize", "dies in initialize": "initialize", "dies in session/new": "session/new",
		"dies in a turn": "session/prompt", "dies in a question": "session/prompt", "leaves a child behind": "session/prompt",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			err := run(t, what, acpclient.Config{})
			var dead *acpclient.ProcessError
			require.ErrorAs(t, err, &dead)
			require.True(t, dead.Ended)
			require.Equal(t, 3, dead.ExitCode)
			require.Equal(t, method, dead.Method)
			require.Contains(t, err.Error(), "the process has ended (exit code 3); its last words: loading ⟨ESC⟩[31mred⟨ESC⟩[0m | panic: the disk is on fire, key [secret]")
			require.NotContains(t, err.Error(), "sk-very-secret")
		})
	}
}

func TestAgentThatIsKilled(t *testing.T) {
	err := run(t, "is killed", acpclient.Config{})
	require.ErrorContains(t, err, "session/prompt: agent ")
	require.ErrorContains(t, err, "the process was ended by SIGKILL")
}

func TestAgentThatClosesItsOutput(t *testing.T) {
	require.ErrorContains(t, run(t, "closes its output", acpclient.Config{}), "session/prompt: agent ")
}

func TestAgentThatPrintsOnlyGarbage(t *testing.T) {
	t.Parallel()
	// A busy machine may need longer than the timeout until the agent has printed something.
	for timeout := time.Second; ; timeout *= 4 {
		err := run(t, "prints garbage", acpclient.Config{StartTimeout: timeout})
		require.ErrorIs(t, err, acpclient.ErrNoAnswer)
		if timeout < time.Minute && !strings.Contains(err.Error(), "[secret]") {
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("the agent has not answered initialize in %v; is it an ACP agent?; it printed to standard output: Usage: agent [flags] | -acp   speak ACP, with [secret]", timeout))
		break
	}
}

func TestAgentThatDoesNotEndIsKilled(t *testing.T) {
	t.Parallel()
	c, err := acpclient.Start(t.Context(), agentProcess("does not end"), acpclient.Config{CancelGrace: 100 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Err(), acpclient.ErrClosed)
}

func TestAgentThatDoesNotExist(t *testing.T) {
	_, err := acpclient.Start(t.Context(), acpclient.Command{Path: "no-such-agent-here"}, acpclient.Config{})
	require.ErrorContains(t, err, `agent "no-such-agent-here"`)
	require.ErrorContains(t, err, "no such program")
}

func TestProcessOutlivesTheContextItWasStartedWith(t *testing.T) {
	require.NoError(t, run(t, "works", acpclient.Config{}))
}

func TestOnlyEnvIsAllThatTheAgentGets(t *testing.T) {
	command := agentProcess("works")
	command.OnlyEnv = true
	c, err := acpclient.Start(t.Context(), command, acpclient.Config{})
	require.NoError(t, err)
	defer c.Close()
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	require.NoError(t, err)
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, "sk-very-secret", turn.Text())
}

func TestTerminalLogin(t *testing.T) {
	c, err := acpclient.Start(t.Context(), agentProcess("login"), acpclient.Config{TerminalLogin: true})
	require.NoError(t, err)
	defer c.Close()
	require.ErrorContains(t, c.Authenticate(t.Context(), "tty"), "use Login")
	require.ErrorContains(t, c.Login(t.Context(), "web", acpclient.Terminal{}), "use Authenticate")
	require.ErrorContains(t, c.Login(t.Context(), "no", acpclient.Terminal{}), `does not offer the authentication method "no"`)
	out, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer out.Close()
	require.NoError(t, c.Login(t.Context(), "tty", acpclient.Terminal{Out: out}))
	said, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.Equal(t, "logged in as me\n", string(said))
	t.Setenv("FAIL", "xx")
	require.ErrorContains(t, c.Login(t.Context(), "tty", acpclient.Terminal{}), "exit code 2")
	require.NoError(t, c.Authenticate(t.Context(), "web"))
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// child is the environment variable that has the test binary be another program: an agent on its standard streams, or a client that
// starts one and is killed.
const child = "PONTE_TEST_CHILD"

func init() {
	switch os.Getenv(child) {
	case "agent":
		os.Exit(agentMain())
	case "client":
		os.Exit(clientMain())
	}
}

// agentMain serves an agent on the process's streams. The prompt is the name of the tool that it calls.
func agentMain() int {
	noisy := tool("noisy", func(context.Context, *toolset.RunContext[bare]) (string, error) {
		fmt.Println("printed by the tool")
		os.Stdout.WriteString("written by the tool\n")
		print("by the runtime\n")
		cmd := exec.Command("sh", "-c", "echo printed by a child; cat")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		return "", cmd.Run()
	})
	orphan := tool("orphan", func(_ context.Context, run *toolset.RunContext[bare]) (string, error) {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			return "", err
		}
		return fmt.Sprint(cmd.Process.Pid), nil
	})
	ready := func(then func(context.Context)) func(context.Context, *toolset.RunContext[bare]) (string, error) {
		return func(ctx context.Context, _ *toolset.RunContext[bare]) (string, error) {
			fmt.Fprintln(os.Stderr, "ready", os.Getpid())
			then(ctx)
			return "", context.Cause(ctx)
		}
	}
	patient := tool("patient", ready(func(ctx context.Context) { <-ctx.Done() }))
	stubborn := tool("stubborn", ready(func(context.Context) { time.Sleep(time.Minute) }))
	flood := tool("flood", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
		fmt.Fprintln(os.Stderr, "ready", os.Getpid())
		for ctx.Err() == nil {
			run.Emit(acp.ThoughtChunk(strings.Repeat("x", 1000)))
		}
		return "", context.Cause(ctx)
	})
	silent := tool("silent", func(context.Context, *toolset.RunContext[bare]) (string, error) {
		out, err := os.Stdout.Stat()
		if err != nil {
			return "", err
		}
		return fmt.Sprint(out.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0), nil
	})
	if os.Getenv("PONTE_TEST_NO_STDERR") != "" {
		os.Stderr.Close()
	}
	var a *agent.Agent[bare, string]
	second := tool("second", func(ctx context.Context, _ *toolset.RunContext[bare]) (string, error) {
		return fmt.Sprint(acpbridge.Serve(ctx, acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a}})), nil
	})
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts[0]
		if last.Kind == model.PartUser {
			return model.Response(model.ToolCall("1", last.Text, "{}")), nil
		}
		return model.Response(model.Text("pid " + last.Text)), nil
	})
	var err error
	a, err = agent.New(agent.Config[bare, string]{Model: m, Toolsets: []toolset.Toolset[bare]{toolset.Of(noisy, orphan, patient, stubborn, flood, silent, second)}})
	if err == nil {
		ctx, stop := context.Background(), func() {}
		if os.Getenv("PONTE_TEST_NOTIFY") != "" {
			ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
		}
		err = acpbridge.Serve(ctx, acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a}})
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if os.Getenv("PONTE_TEST_QUIET") == "" {
		fmt.Println("the real standard output is back")
	}
	return 0
}

// clientMain starts an agent, has it call a tool, and lives until it is killed.
func clientMain() int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"=agent")
	cmd.Stderr = os.Stderr
	w, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	r, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	c := &stdioClient{w: w, lines: bufio.NewScanner(r)}
	c.session()
	c.prompt(os.Getenv("PONTE_TEST_TOOL"))
	time.Sleep(time.Hour)
	runtime.KeepAlive(cmd) // or the garbage collector closes the agent's input
	return 0
}

// stdioClient talks to an agent in another process.
type stdioClient struct {
	w      io.WriteCloser
	r      io.Reader
	lines  *bufio.Scanner
	id     string
	cmd    *exec.Cmd
	stderr *logBuffer
}

func startAgent(t *testing.T) *stdioClient {
	t.Helper()
	return startChild(t, "agent")
}

func startChild(t *testing.T, name string, env ...string) *stdioClient {
	t.Helper()
	c := &stdioClient{cmd: exec.Command(os.Args[0]), stderr: new(logBuffer)}
	c.cmd.Env = append(append(os.Environ(), child+"="+name, "GORACE=atexit_sleep_ms=0"), env...)
	c.cmd.Stderr = c.stderr
	var err error
	c.w, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	c.r, err = c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.lines = bufio.NewScanner(c.r)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

// session initializes the connection and makes a session.
func (c *stdioClient) session() {
	fmt.Fprintln(c.w, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	c.lines.Scan()
	fmt.Fprintln(c.w, `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	c.lines.Scan()
	c.id = randomID.FindString(c.lines.Text())
}

func (c *stdioClient) prompt(text string) {
	fmt.Fprintf(c.w, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`+"\n", c.id, text)
}

// answer returns the text of the agent's message and asserts that every line up to the answer is of the protocol.
func (c *stdioClient) answer(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for c.lines.Scan() {
		require.True(t, strings.HasPrefix(c.lines.Text(), `{"jsonrpc":"2.0",`), c.lines.Text())
		if strings.Contains(c.lines.Text(), `"stopReason"`) {
			return text.String()
		}
		if _, chunk, ok := strings.Cut(c.lines.Text(), `"agent_message_chunk","content":{"type":"text","text":"`); ok {
			chunk, _, _ = strings.Cut(chunk, `"`)
			text.WriteString(chunk)
		}
	}
	require.Fail(t, "the agent has ended", c.stderr.String())
	return ""
}

// ready waits until a tool says that it runs, and returns the agent's process id.
func (c *stdioClient) ready(t *testing.T) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, after, ok := strings.Cut(c.stderr.String(), "ready ")
		if ok {
			_, err := fmt.Sscanln(after, &pid)
			ok = err == nil
		}
		return ok
	}, time.Minute, time.Millisecond, "the tool does not start")
	return pid
}

// wait waits for the process and returns its exit code.
func (c *stdioClient) wait(t *testing.T) (code int, rest string) {
	t.Helper()
	for c.lines.Scan() {
		rest += c.lines.Text() + "\n"
	}
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode(), rest
}

func TestTheEndOfStandardInputExitsWithZeroAndGivesTheStreamsBack(t *testing.T) {
	c := startAgent(t)
	c.session()
	c.w.Close()
	code, rest := c.wait(t)
	assert.Zero(t, code, c.stderr)
	assert.Equal(t, "the real standard output is back\n", rest)
}

// needsPrograms skips a test whose agent starts programs that are not here, which would wait for an answer in vain. In CI they
// have to be here.
func needsPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") != "" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip(err)
		}
	}
}

func TestStandardOutputCarriesNothingButTheProtocol(t *testing.T) {
	needsPrograms(t, "sh", "cat")
	c := startAgent(t)
	c.session()
	c.prompt("noisy")
	c.answer(t)
	c.w.Close()
	code, _ := c.wait(t) // all of standard error has been read then
	assert.Zero(t, code)
	for _, want := range []string{"printed by the tool", "written by the tool", "by the runtime", "printed by a child"} {
		assert.Contains(t, c.stderr.String(), want)
	}
}

// Both of the client's ends are pipes. Which file has the number of standard error depends on what the runtime has opened before.
func TestWithoutStandardErrorPrintsDoNotReachTheClient(t *testing.T) {
	c := startChild(t, "agent", "PONTE_TEST_NO_STDERR=1")
	c.session()
	c.prompt("silent")
	assert.Equal(t, "pid true", c.answer(t))
	c.w.Close()
	code, rest := c.wait(t)
	assert.Zero(t, code)
	assert.Equal(t, "the real standard output is back\n", rest)
}

func TestAChildProcessDoesNotHoldTheRealStreams(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc")
	}
	needsPrograms(t, "sleep")
	c := startAgent(t)
	c.session()
	c.prompt("orphan")
	text := c.answer(t)
	pid := strings.TrimPrefix(text, "pid ")
	require.NotEmpty(t, pid, text)
	defer exec.Command("kill", pid).Run()
	var real []string
	for _, end := range []any{c.w, c.r} {
		pipe, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", end.(interface{ Fd() uintptr }).Fd()))
		require.NoError(t, err)
		real = append(real, pipe)
	}
	files, err := filepath.Glob("/proc/" + pid + "/fd/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil { // it may have closed the file meanwhile
			assert.NotContains(t, real, target)
		}
	}
	c.w.Close()
	begun := time.Now()
	_, rest := c.wait(t)
	assert.Less(t, time.Since(begun), soon, "the end of standard output does not wait for the child")
	assert.Equal(t, "the real standard output is back\n", rest)
}

func TestSignalsEndTheProcessWithinTwoSeconds(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		for _, idle := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, idle %v", signal, idle), func(t *testing.T) {
				c := startAgent(t)
				c.session()
				if !idle {
					c.prompt("patient")
					c.ready(t)
				}
				begun := time.Now()
				require.NoError(t, c.cmd.Process.Signal(signal))
				code, rest := c.wait(t)
				assert.Less(t, time.Since(begun), soon)
				assert.Zero(t, code, c.stderr)
				assert.Contains(t, rest, "the real standard output is back\n")
				if !idle {
					assert.Contains(t, rest, `"id":3,"error":{"code":-32800`, "the prompt is answered")
				}
			})
		}
	}
}

func TestASignalThatAlsoEndsTheContextIsNoError(t *testing.T) {
	for range 20 {
		c := startChild(t, "agent", "PONTE_TEST_NOTIFY=1")
		c.session()
		require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
		code, _ := c.wait(t)
		require.Zero(t, code, c.stderr)
	}
}

// soon is long enough for what takes two seconds at most on a machine that has time for it, and short enough to tell that from
// waiting a minute for a tool or a client.
const soon = 30 * time.Second

func TestAStubbornToolCannotHoldTheProcess(t *testing.T) {
	c := startAgent(t)
	c.session()
	c.prompt("stubborn")
	c.ready(t)
	begun := time.Now()
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	code, _ := c.wait(t)
	assert.Less(t, time.Since(begun), soon)
	assert.Equal(t, 1, code)
	assert.Contains(t, c.stderr.String(), "these tools ignore their context: stubborn")
}

func TestWhenTheClientIsKilledTheAgentExitsWithinTwoSeconds(t *testing.T) {
	for _, name := range []string{"patient", "stubborn"} {
		t.Run(name, func(t *testing.T) {
			c := startChild(t, "client", "PONTE_TEST_TOOL="+name)
			pid := c.ready(t)
			require.NoError(t, c.cmd.Process.Kill())
			begun := time.Now()
			require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) }, soon, 5*time.Millisecond)
			t.Logf("ended after %v", time.Since(begun))
		})
	}
}

// zombie reports whether a process has ended and nobody has waited for it, which is what becomes of orphans where nothing reaps them.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestAClientThatDoesNotReadCannotHoldTheProcess(t *testing.T) {
	c := startChild(t, "agent", "PONTE_TEST_QUIET=1")
	c.session()
	c.prompt("flood")
	c.ready(t)
	time.Sleep(100 * time.Millisecond) // the pipe and the queue are full
	begun := time.Now()
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	kill := time.AfterFunc(2*soon, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	require.NoError(t, c.cmd.Wait())
	assert.Less(t, time.Since(begun), soon)
}

func TestOneServeAtATimeHasTheProcessStreams(t *testing.T) {
	c := startAgent(t)
	c.session()
	c.prompt("second")
	assert.Contains(t, c.answer(t), "another Serve of this process uses standard input and output: set Config.In and Config.Out")
	c.w.Close()
	code, _ := c.wait(t)
	assert.Zero(t, code)
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon is how long the agent may live on when nobody is there for it: long enough for a busy machine, and short enough to tell that from
// waiting for the minute that its turns take.
const soon = 20 * time.Second

// mustEndSoon waits for the agent's end.
func mustEndSoon(t *testing.T, c *rawClient, code int) {
	t.Helper()
	start := time.Now()
	err := c.wait()
	if took := time.Since(start); took > soon {
		t.Errorf("the agent took %v to end", took)
	}
	if exitCode(err) != code {
		t.Errorf("the agent ended with %v, want code %d\n%s", err, code, &c.stderr)
	}
}

// atWork is a client with a turn that goes on for long.
func atWork(t *testing.T, env ...string) *rawClient {
	t.Helper()
	c, session := initialized(t, env...)
	c.send(promptLine(`100`, session, "wait 60 seconds"))
	c.awaitUpdate("Waiting")
	return c
}

func (c *rawClient) awaitUpdate(text string) {
	c.t.Helper()
	for !strings.Contains(string(c.next().Params), text) {
	}
}

func TestShutdown(t *testing.T) {
	t.Run("at the end of its input, before initialize", func(t *testing.T) {
		t.Parallel()
		c := startRaw(t, ideagent()).reading()
		_ = c.stdin.Close()
		mustEndSoon(t, c, 0)
	})
	t.Run("at the end of its input, idle", func(t *testing.T) {
		t.Parallel()
		c, _ := initialized(t)
		_ = c.stdin.Close()
		mustEndSoon(t, c, 0)
	})
	t.Run("at the end of its input, in a turn", func(t *testing.T) {
		t.Parallel()
		c := atWork(t)
		_ = c.stdin.Close()
		mustEndSoon(t, c, 0)
	})
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run("at a signal, in a turn: "+s.String(), func(t *testing.T) {
			t.Parallel()
			c := atWork(t)
			c.signal(s)
			mustEndSoon(t, c, 0)
		})
	}
	t.Run("when nobody reads its output any more", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		_ = c.stdout.Close()
		c.send(promptLine(`100`, session, "wait 60 seconds"))
		start := time.Now()
		_ = c.wait() // with what code does not matter: nobody is there
		if took := time.Since(start); took > soon {
			t.Errorf("the agent took %v to end", took)
		}
	})
	t.Run("at the end of its input, though nobody reads its output", func(t *testing.T) {
		t.Parallel()
		c := startRaw(t, ideagent())
		c.send(initializeLine(1))
		for range 200 { // answers of several MiB
			c.send(slices.Repeat([]string{`{"jsonrpc":"2.0","id":"quiet","method":"_interop/quiet"}`}, 100)...)
		}
		_ = c.stdin.Close()
		start := time.Now()
		time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
		_, _ = c.cmd.Process.Wait()
		if took := time.Since(start); took > 2*soon {
			t.Errorf("the agent took %v to end", took)
		}
	})
	t.Run("when its client is killed", func(t *testing.T) {
		t.Parallel()
		endsWithItsClient(t)
	})
}

// endsWithItsClient kills a client with a signal that it cannot handle. Nothing of the agent may stay.
func endsWithItsClient(t *testing.T) {
	ranTest(t)
	agent := ideagent()
	own := filepath.Join(t.TempDir(), "ideagent") // a name that no other process has
	if err := os.Symlink(agent[0], own); err != nil {
		t.Fatal(err)
	}
	command := self(t, "client", append([]string{own}, agent[1:]...)...)
	client := exec.Command(command[0], command[1:]...)
	client.Env = cleanEnv("HOME=" + t.TempDir())
	client.Stderr = os.Stderr
	stdout, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startGroup(t, client); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "at work\n" {
		t.Fatalf("the client wrote %q, %v", line, err)
	}
	if got := len(processes(t, own)); got != 2 {
		t.Fatalf("%d processes run, want a client and an agent", got)
	}
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Wait()
	start := time.Now()
	for len(processes(t, own)) > 0 {
		if time.Since(start) > soon {
			t.Errorf("the agent lives %v after its client", soon)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	mustBeGone(t, own)
	t.Logf("the agent was gone %v after its client", time.Since(start).Round(time.Millisecond))
}

// clientMain is a client that begins a turn, says so, and then waits to be killed.
func clientMain(agent []string) int {
	cmd := exec.Command(agent[0], agent[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	defer runtime.KeepAlive(cmd) // or the garbage collector closes the agent's input
	lines := bufio.NewScanner(stdout)
	await := func(text string) string {
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		panic("the agent has ended")
	}
	fmt.Fprintln(stdin, initializeLine(1))
	await(`"id":1`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	var m wireMessage
	if err := json.Unmarshal([]byte(await(`"id":2`)), &m); err != nil {
		panic(err)
	}
	fmt.Fprintln(stdin, promptLine(`3`, sessionOf(m.Result), "wait 60 seconds"))
	await("Waiting")
	fmt.Println("at work")
	_, _ = io.Copy(io.Discard, stdout)
	return 0
}

func TestStandardOutputIsTheProtocolsAlone(t *testing.T) {
	t.Run("while the runtime traces", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t, "GODEBUG=gctrace=1,inittrace=1,schedtrace=50")
		for range 20 {
			c.mustWork(session) // every line is looked at
		}
		if err := c.end(); err != nil {
			t.Errorf("the agent, at the end of its input: %v", err)
		}
		wantText(t, c.stderr.String(), "SCHED", "init ")
	})
	t.Run("while the program dies", func(t *testing.T) {
		t.Parallel()
		c := atWork(t)
		c.signal(syscall.SIGQUIT) // the runtime prints what a panic would
		for line := range c.lines {
			if !json.Valid(line) {
				t.Errorf("not JSON: %s", line)
			}
		}
		if err := c.wait(); err == nil {
			t.Error("the agent ended as if nothing had been")
		}
		wantText(t, c.stderr.String(), "SIGQUIT", "goroutine")
	})
}

// TestStartReported reports how soon the agent answers initialize. A time is no test: see the benchmarks.
func TestStartReported(t *testing.T) {
	const trials = 21
	var took []time.Duration
	for range trials {
		start := time.Now()
		c := startRaw(t, ideagent()).reading()
		c.send(initializeLine(1))
		c.wantResult(`1`)
		took = append(took, time.Since(start))
		if err := c.end(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(took)
	t.Logf("from the start of the process to the answer to initialize: median %.1f ms, best %.1f ms, worst %.1f ms of %d",
		milliseconds(took[trials/2]), milliseconds(took[0]), milliseconds(took[trials-1]), trials)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

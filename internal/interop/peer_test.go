// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up on it: much longer with the race detector.
var patience = func() time.Duration {
	if os.Getenv("PONTE_INTEROP_RACE") != "" {
		return 4 * time.Minute
	}
	return time.Minute
}()

// peer is a client's connection to the agent, made with an SDK of others.
type peer interface {
	// call sends a request and returns the result. An answer that is an error comes as an [*rpcError].
	call(ctx context.Context, method string, params any) (json.RawMessage, error)
	notify(method string, params any) error
	// close ends the agent's input and waits for the end of the agent. It returns what the SDK has complained about.
	close() (problems []string, err error)
}

// handler is what a peer hands the agent's messages to. Both methods may be called at any time.
type handler interface {
	request(method string, params json.RawMessage) (result any, failure *rpcError)
	notification(method string, params json.RawMessage)
}

// connect starts the agent with a peer of one kind.
type connect func(t testing.TB, agent []string, h handler) peer

// driver is a peer in another process: a small program in the SDK's language, which carries messages between the SDK and this test. It
// reads and writes one JSON object a line:
//
//	{"call": 1, "method": …, "params": …}          to the program; it answers {"answer": 1, "result": … or "error": …}
//	{"notify": …, "params": …}                     to the program
//	{"request": 1, "method": …, "params": …}       from the program; the answer is of the same form
//	{"notification": …, "params": …}               from the program
//	{"problem": …}                                 from the program: what the SDK has complained about
//
// At the end of its input it ends the agent's, waits for the agent, and ends with the agent's exit code.
type driver struct {
	handler handler
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stderr  bytes.Buffer
	read    chan struct{} // closed at the end of the program's output

	writing sync.Mutex

	mu       sync.Mutex
	next     int
	waiting  map[int]chan driverMessage
	ended    bool
	problems []string
}

type driverMessage struct {
	Call    int    `json:"call,omitempty"`
	Request int    `json:"request,omitempty"`
	Answer  int    `json:"answer,omitempty"`
	Method  string `json:"method,omitempty"`

	Notify       string `json:"notify,omitempty"`
	Notification string `json:"notification,omitempty"`

	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`

	Problem string `json:"problem,omitempty"`
}

func startDriver(t testing.TB, cmd *exec.Cmd, h handler) peer {
	t.Helper()
	d := &driver{handler: h, cmd: cmd, read: make(chan struct{}), waiting: map[int]chan driverMessage{}}
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	cmd.Stderr = &d.stderr
	if err := errors.Join(err1, err2, startGroup(t, cmd)); err != nil {
		t.Fatal(err)
	}
	d.stdin = stdin
	go d.readAll(stdout)
	return d
}

func (d *driver) readAll(stdout io.Reader) {
	defer close(d.read)
	lines := bufio.NewReaderSize(stdout, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		var m driverMessage
		switch {
		case err != nil:
			d.hangUp()
			return
		case json.Unmarshal(line, &m) != nil:
			d.problem("the driver wrote: " + string(line))
		case m.Problem != "":
			d.problem(m.Problem)
		case m.Notification != "":
			d.handler.notification(m.Notification, m.Params)
		case m.Request != 0:
			go d.handle(m)
		default:
			d.mu.Lock()
			if ch := d.waiting[m.Answer]; ch != nil {
				ch <- m
			}
			delete(d.waiting, m.Answer)
			d.mu.Unlock()
		}
	}
}

func (d *driver) problem(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.problems = append(d.problems, what)
}

// hangUp lets nobody wait for what will not come.
func (d *driver) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	for _, ch := range d.waiting {
		close(ch)
	}
	clear(d.waiting)
}

func (d *driver) handle(m driverMessage) {
	result, failure := d.handler.request(m.Method, m.Params)
	answer := driverMessage{Answer: m.Request, Error: failure}
	if failure == nil {
		answer.Result = mustMarshal(result)
	}
	_ = d.write(answer) // a driver that has ended needs no answer
}

func (d *driver) write(m driverMessage) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	_, err := d.stdin.Write(append(mustMarshal(m), '\n'))
	return err
}

func (d *driver) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ch := make(chan driverMessage, 1)
	d.mu.Lock()
	d.next++
	id := d.next
	if d.ended {
		close(ch)
	} else {
		d.waiting[id] = ch
	}
	d.mu.Unlock()
	if err := d.write(driverMessage{Call: id, Method: method, Params: mustMarshal(params)}); err != nil {
		return nil, err
	}
	select {
	case m, ok := <-ch:
		switch {
		case !ok:
			return nil, errors.New("the driver has ended")
		case m.Error != nil:
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

func (d *driver) notify(method string, params any) error {
	return d.write(driverMessage{Notify: method, Params: mustMarshal(params)})
}

func (d *driver) close() ([]string, error) {
	_ = d.stdin.Close()
	err := awaitExit(d.cmd, d.read)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("the driver: %w\n%s", err, d.stderr.Bytes())
	}
	return d.problems, err
}

// startGroup starts a command in a process group of its own, which is gone at the end of the test whatever happens.
func startGroup(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	group := cmd.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
	return nil
}

// awaitExit waits for the end of a command whose output is read by others until read is closed. It kills one that does not end.
func awaitExit(cmd *exec.Cmd, read <-chan struct{}) error {
	timer := time.AfterFunc(patience, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	<-read
	err := cmd.Wait()
	if err != nil && !timer.Stop() {
		return fmt.Errorf("not ended after %v: %w", patience, err)
	}
	return err
}

// cleanEnv is the environment without what would change the agent, with the given variables.
func cleanEnv(more ...string) []string {
	env := []string{"GORACE=atexit_sleep_ms=0"} // or an agent with the race detector takes a second to end
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, more...)
}

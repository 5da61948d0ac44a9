// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

const taskEnv = "PONTE_ENGINE_CHILD"

// program says whose task a child executes.
type program struct {
	Name string
	Seed uint64
	Leg  *leg `json:",omitempty"`
}

// worker returns the program's worker.
func (p program) worker() engine.Worker {
	switch p.Name {
	case "scene":
		s := newScene(fatal{}, nil)
		return agent.NewWorker(s.agent, s)
	case "suite":
		return enginetest.Script()
	case "tree":
		w := &tree{seed: p.Seed, log: &treeLog{file: p.Leg.Log}}
		return agent.NewWorker(w.agent(fatal{}), treeDeps{}, agent.WithAsker(w.asker(p.Leg.N)))
	case "story":
		return agent.NewWorker((&story{seed: p.Seed}).agent(fatal{}), storyDeps{})
	}
	return agent.NewWorker(talker(fatal{}), none{}, agent.WithAsker(toolset.AskerFuncs{}))
}

// message is a line between a process and its child. One field is set.
type message struct {
	Task, Done, Report json.RawMessage `json:",omitempty"`
	// Reply answers a report: it is the listener's error.
	Reply *string `json:",omitempty"`
	// Cancel says that the task's context has ended. Failed is an error of the child.
	Cancel bool   `json:",omitempty"`
	Failed string `json:",omitempty"`
}

// executeTask is the child: it executes the one task that it reads.
func executeTask(spec string) error {
	var p program
	if err := json.Unmarshal([]byte(spec), &p); err != nil {
		return err
	}
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	var first message
	if err := in.Decode(&first); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	replies := make(chan *string)
	go func() {
		for {
			var m message
			if in.Decode(&m) != nil || m.Cancel {
				cancel()
				return
			}
			replies <- m.Reply
		}
	}()
	var one sync.Mutex
	done, err := engine.Execute(ctx, p.worker(), first.Task, func(report []byte) error {
		one.Lock()
		defer one.Unlock()
		if err := out.Encode(message{Report: report}); err != nil {
			return err
		}
		select {
		case reply := <-replies:
			if *reply != "" {
				return errors.New(*reply)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return out.Encode(message{Failed: err.Error()})
	}
	return out.Encode(message{Done: done})
}

// inChild executes a task in a process of its own.
func (p program) inChild(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
	spec, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), taskEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0") // or a process with the race detector takes a second to end
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var one sync.Mutex
	send := func(m message) {
		one.Lock()
		defer one.Unlock()
		_ = json.NewEncoder(stdin).Encode(m) // if the child has gone, its end says why
	}
	send(message{Task: task})
	stop := context.AfterFunc(ctx, func() { send(message{Cancel: true}) })
	defer stop()
	from := json.NewDecoder(stdout)
	var m message
	for {
		m = message{}
		if err = from.Decode(&m); err != nil || m.Report == nil {
			break
		}
		reply := ""
		if err := report(m.Report); err != nil {
			reply = err.Error()
		}
		send(message{Reply: &reply})
	}
	ended := cmd.Wait()
	switch {
	case err != nil:
		return nil, fmt.Errorf("child: %w: %v: %s", err, ended, stderr.String())
	case m.Failed != "":
		return nil, errors.New(m.Failed)
	}
	return m.Done, nil
}

// inChildren runs every task of a run in a process of its own, and counts them.
func (p program) inChildren(tasks *int) agent.RunOption { return remotely(tasks, p.inChild) }

// inJSON takes every task of a run through JSON to a worker of this process.
func (p program) inJSON(tasks *int) agent.RunOption {
	w := p.worker()
	return remotely(tasks, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
		return engine.Execute(ctx, w, task, report)
	})
}

func remotely(tasks *int, execute enginetest.Execute) agent.RunOption {
	return agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		var mu sync.Mutex
		return enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			mu.Lock()
			*tasks++
			mu.Unlock()
			return execute(ctx, task, report)
		}), nil
	})
}

// TestSceneInChildProcesses: nothing that a run needs is hidden in the memory of its process.
func TestSceneInChildProcesses(t *testing.T) {
	_, want, _ := whole(t, new(journal.Memory))
	for name, on := range map[string]func(program, *int) agent.RunOption{"in JSON": program.inJSON, "in child processes": program.inChildren} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, fill(nil))
			var tasks int
			res, err := s.run(t.Context(), nil, on(program{Name: "scene"}, &tasks))
			require.NoError(t, err)
			require.Equal(t, replaceInvalid(show(t, want.Messages)), replaceInvalid(show(t, res.Messages)))
			require.Equal(t, want.Output, res.Output)
			require.Equal(t, want.Usage, res.Usage)
			require.Empty(t, s.executed, "nothing is done in the process of the run")
			require.Greater(t, tasks, 40)
		})
	}
}

// talker is an agent that says all that a run can say while it goes on: deltas, events of tools from several goroutines, events
// of an inner agent. Its inner agent has a call that needs approval.
func talker(t testing.TB) *agent.Agent[none, string] {
	t.Helper()
	stream := func(sink model.Sink, resp *model.Message) (*model.Message, error) {
		for i, p := range resp.Parts {
			for _, word := range strings.SplitAfter(p.Text+string(p.Args), " ") {
				if sink == nil {
					break
				}
				if err := sink(model.Delta{Part: i, Kind: p.Kind, Text: word, CallID: p.CallID, Tool: p.Tool}); err != nil {
					return nil, err
				}
			}
		}
		resp.Usage = model.Usage{InputTokens: 3, OutputTokens: 2}
		return resp, nil
	}
	remove := toolset.Plain[none]("remove", "", func(context.Context, none) (string, error) { return "removed", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{Reason: "it cannot be undone"}, nil
		}))
	inner, err := agent.New(agent.Config[none, string]{
		Name: "inner", Tools: []*toolset.Tool[none]{remove},
		Model: model.Func(model.Info{}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			if len(req.Messages) == 1 {
				return stream(sink, model.Response(model.ToolCall("i", "remove", "{}")))
			}
			return stream(sink, model.Response(model.Text("it was "+req.Messages[2].Parts[0].Text)))
		}),
	})
	require.NoError(t, err)
	chat := toolset.Func("chat", "", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { run.Emit(map[string]any{"said": "hello"}) })
		}
		all.Wait()
		run.Emit(make(chan int))
		return "chatted", nil
	})
	a, err := agent.New(agent.Config[none, string]{
		Name: "talker", MaxParallelCalls: 1, Tools: []*toolset.Tool[none]{chat, agent.AsTool("ask", "", inner, func(n none) none { return n })},
		Model: model.Func(model.Info{Name: "m"}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			switch last := req.Messages[len(req.Messages)-1]; {
			case last.Text() == "" && last.Parts[0].Text == "wait":
				<-ctx.Done()
				return nil, context.Cause(ctx)
			case len(req.Messages) == 1:
				return stream(sink, model.Response(model.Text("well then "), model.ToolCall("1", "chat", "{}"), model.ToolCall("2", "ask", `{"prompt":"remove it"}`)))
			default:
				return stream(sink, model.Response(model.Text(last.Parts[0].Text+", and "+last.Parts[len(last.Parts)-1].Text)))
			}
		}),
	})
	require.NoError(t, err)
	return a
}

// talk returns what a stream of the talker tells, without what differs from run to run.
func talk(t *testing.T, prompt string, opts ...agent.RunOption) ([]string, *agent.Result[string], error) {
	t.Helper()
	var told []string
	s := talker(t).Stream(t.Context(), none{}, prompt, append(opts, agent.WithRunID("r"), agent.WithConversationID("c"))...)
	for e := range s.Events() {
		if n, ok := e.Value.(agent.Nested); ok && n.Event.Message != nil {
			n.Event.Message = nil // it has the id of the inner run
			e.Value = n
		}
		if e.Message != nil {
			m := *e.Message
			m.Time = time.Time{}
			e.Message = &m
		}
		data, err := json.Marshal(e)
		require.NoError(t, err)
		told = append(told, string(data))
	}
	res, err := s.Result()
	return told, res, err
}

// TestEventsOfChildProcesses: deltas, events of tools and of inner runs arrive, in order; an inner run that is pending in a child goes on
// in another one.
func TestEventsOfChildProcesses(t *testing.T) {
	want, _, wantErr := talk(t, "go")
	var tasks int
	got, _, err := talk(t, "go", program{}.inChildren(&tasks))
	require.Equal(t, want, got)
	require.EqualError(t, err, wantErr.Error())
	var pending, wantPending *agent.PendingError
	require.ErrorAs(t, wantErr, &wantPending)
	require.ErrorAs(t, err, &pending)
	require.Equal(t, wantPending.Calls, pending.Calls)
	require.Equal(t, "/2/i", pending.Calls[0].Key())

	resume := func(err error, opts ...agent.RunOption) *agent.Result[string] {
		var failed *agent.RunError
		require.ErrorAs(t, err, &failed)
		var results agent.DeferredResults
		results.Decide("/2/i", toolset.Allow())
		res, err := talker(t).Run(t.Context(), none{}, "", append(opts, agent.WithHistory(failed.Messages), agent.WithResults(results))...)
		require.NoError(t, err)
		return res
	}
	wantRes, res := resume(wantErr), resume(err, program{}.inChildren(&tasks))
	require.Equal(t, "chatted, and it was removed", res.Output)
	require.Equal(t, wantRes.Output, res.Output)
	require.Equal(t, wantRes.Usage, res.Usage)
}

func TestCancelledTaskOfAChildProcess(t *testing.T) {
	var tasks int
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	options := []agent.RunOption{program{}.inChildren(&tasks)}
	s := talker(t).Stream(ctx, none{}, "wait", options...)
	for e := range s.Events() {
		if e.Kind == agent.EventRequestStart {
			cancel(errBoom)
		}
	}
	_, err := s.Result()
	require.ErrorIs(t, err, errBoom)
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, agent.StageModel, failed.Stage)
}

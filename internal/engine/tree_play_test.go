// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
)

const legEnv = "PONTE_ENGINE_LEG"

// The ways to execute a conversation.
const (
	natively    = "natively"
	journaled   = "with a journal"
	inJSON      = "in JSON"
	inProcesses = "in processes" // each run in a process of its own, with a journal in files
	inTasks     = "in tasks"     // each task in a process of its own
)

// leg is one run of a conversation, as data: it begins a turn or goes on with one that was left pending.
type leg struct {
	Seed    uint64
	N       int
	Way     string
	Prompt  string
	History []*model.Message
	Results *agent.DeferredResults
	// Log and Journal are the files of a conversation that is not played in one process.
	Log, Journal string
}

// ended is what a leg came to.
type ended struct {
	Messages      []*model.Message
	Output, Agent string
	Requests      int
	Pending       bool
	Failed        string
}

// run runs a leg in this process.
func (l *leg) run(t testing.TB, w *tree, opts ...agent.RunOption) *ended {
	opts = append(opts, agent.WithRunID(fmt.Sprint("leg-", l.N)), agent.WithConversationID("talk"), agent.WithAsker(w.asker(l.N)))
	if l.History != nil {
		opts = append(opts, agent.WithHistory(l.History))
	}
	if l.Results != nil {
		opts = append(opts, agent.WithResults(*l.Results))
	}
	res, err := w.agent(t).Run(context.Background(), treeDeps{}, l.Prompt, opts...)
	if err == nil {
		return &ended{Messages: res.Messages, Output: res.Output, Agent: res.Agent, Requests: res.Usage.Requests}
	}
	var failed *agent.RunError
	var pending *agent.PendingError
	if !errors.As(err, &failed) || !errors.As(err, &pending) {
		return &ended{Failed: err.Error()}
	}
	return &ended{Messages: failed.Messages, Requests: failed.Usage.Requests, Pending: true}
}

// executeLeg is the child: it runs one leg, which it reads from its standard input. The history of
// some is too long for an environment.
func executeLeg() error {
	var l leg
	if err := json.NewDecoder(os.Stdin).Decode(&l); err != nil {
		return err
	}
	dir, err := journal.NewDir(l.Journal)
	if err != nil {
		return err
	}
	w := &tree{seed: l.Seed, log: &treeLog{file: l.Log}}
	return json.NewEncoder(os.Stdout).Encode(l.run(fatal{}, w, agent.WithJournal(dir)))
}

func (l *leg) inChild(t testing.TB) *ended {
	spec, err := json.Marshal(l)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), legEnv+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stdin = bytes.NewReader(spec)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	e := new(ended)
	require.NoError(t, json.Unmarshal(stdout.Bytes(), e), stdout.String())
	return e
}

// conversation is a conversation that is played in one way.
type conversation struct {
	way  string
	w    *tree
	legs []*ended
	// counts says what happened, for the test to know that it has seen everything.
	counts map[string]int
}

// play plays a conversation of a few turns. A turn that is left pending goes on from JSON.
func (w *tree) play(t *testing.T, way string) *conversation {
	c := &conversation{way: way, w: w, counts: map[string]int{}}
	l := &leg{Seed: w.seed, Way: way}
	if way == inProcesses || way == inTasks {
		dir := t.TempDir()
		l.Log, l.Journal = filepath.Join(dir, "log"), filepath.Join(dir, "journal")
	}
	w.log = &treeLog{file: l.Log}
	var j *journal.Memory
	if way == journaled {
		j = new(journal.Memory)
	}
	turns := 1 + w.random("turns").IntN(5)
	w.log.add(entry{Said: saidTurn, Name: "turn 1"})
	for turn := 1; ; l.N++ {
		if l.Prompt == "" && l.History == nil {
			l.Prompt = "turn 1"
		}
		require.Less(t, l.N, 60, "seed %d %s: there is no end", w.seed, way)
		e := c.leg(t, l, j)
		require.Empty(t, e.Failed, "seed %d %s: leg %d", w.seed, way, l.N)
		c.legs = append(c.legs, e)
		if !e.Pending && turn == turns {
			return c
		}
		data, err := json.Marshal(e.Messages)
		require.NoError(t, err)
		l.History, l.Prompt, l.Results = nil, "", nil
		require.NoError(t, json.Unmarshal(data, &l.History))
		if !e.Pending {
			turn++
			l.Prompt = fmt.Sprint("turn ", turn)
			w.log.add(entry{Said: saidTurn, Name: l.Prompt})
			continue
		}
		c.answer(t, l)
	}
}

// leg runs a leg and checks all that has happened so far.
func (c *conversation) leg(t *testing.T, l *leg, j *journal.Memory) *ended {
	models := c.models()
	var e *ended
	switch c.way {
	case natively:
		e = l.run(t, c.w)
	case journaled:
		e = l.run(t, c.w, agent.WithJournal(j))
		before := len(c.w.log.all())
		require.Equal(t, e, l.run(t, c.w, agent.WithJournal(j)), "seed %d: leg %d replayed", l.Seed, l.N)
		require.Len(t, c.w.log.all(), before, "seed %d: a replay of leg %d asks nobody and does nothing", l.Seed, l.N)
	case inJSON:
		worker := agent.NewWorker(c.w.agent(t), treeDeps{}, agent.WithAsker(c.w.asker(l.N)))
		e = l.run(t, c.w, remotely(new(int), func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			return engine.Execute(ctx, worker, task, report)
		}))
	case inTasks:
		e = l.run(t, c.w, program{Name: "tree", Seed: l.Seed, Leg: l}.inChildren(new(int)))
	case inProcesses:
		e = l.inChild(t)
		before := len(c.w.log.all())
		require.Equal(t, e, l.inChild(t), "seed %d: leg %d replayed", l.Seed, l.N)
		require.Len(t, c.w.log.all(), before, "seed %d: a replay of leg %d does nothing", l.Seed, l.N)
	}
	if e.Failed != "" {
		return e
	}
	check := c.w.check(c.way != inTasks)
	check.history(e.Messages, e.Pending)
	if !e.Pending {
		check.output(e.Output, e.Agent)
	}
	if got := c.models() - models; got != e.Requests {
		check.wrong("the run counts %d requests, made were %d", e.Requests, got)
	}
	if check.problem != nil {
		t.Log(c.recent())
	}
	require.NoError(t, check.problem, "seed %d %s: leg %d", l.Seed, c.way, l.N)
	return e
}

// recent writes what has happened last.
func (c *conversation) recent() string {
	all := c.w.log.all()
	var b strings.Builder
	for i := max(0, len(all)-60); i < len(all); i++ {
		data, _ := json.Marshal(all[i])
		fmt.Fprintf(&b, "%d %s\n", i, data)
	}
	return b.String()
}

func (c *conversation) models() (n int) {
	for _, e := range c.w.log.all() {
		if e.Said == saidModel {
			n++
		}
	}
	return n
}

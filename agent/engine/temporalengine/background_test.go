// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

var crews = flag.Int("crews", 2, "how many runs with an agent in the background lose a worker")

const crewEnv = "PONTE_TEMPORALENGINE_CREW"

// slowCrew is the number of a crew whose requests take time.
const slowCrew = "1000"

// crew is an agent that has another one work in the background, works itself, and waits for it. Its
// answer is what its calls returned. All of it takes 7 requests of 10 tokens.
func crew(log string) *agent.Agent[deps, string] {
	note := func(text string) error {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, text)
		return errors.Join(err, f.Close())
	}
	plays := func(steps ...func(n, told string) model.Part) model.Model {
		answer := func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			prompt, step, told := "", 0, ""
			for _, m := range req.Messages {
				if m.Kind == model.KindResponse {
					step++
				}
				for _, p := range m.Parts {
					switch p.Kind {
					case model.PartUser:
						prompt = p.Text
					case model.PartToolReturn:
						told += p.Text + "\n"
					}
				}
			}
			n := prompt[strings.LastIndex(prompt, " ")+1:]
			if err := note("asked " + n); err != nil {
				return nil, err
			}
			time.Sleep(time.Duration(10+mathrand.IntN(40)) * time.Millisecond)
			if n == slowCrew {
				time.Sleep(500 * time.Millisecond)
			}
			resp := model.Response(steps[step](n, told))
			resp.Usage = model.Usage{InputTokens: 10}
			return resp, nil
		}
		return model.Func(model.Info{}, answer)
	}
	call := func(id, tool, format string) func(n, told string) model.Part {
		return func(n, _ string) model.Part {
			return model.ToolCall(id, tool, strings.ReplaceAll(format, "N", n))
		}
	}
	dig := toolset.Plain[deps]("dig", "Dig.", func(context.Context, args) (string, error) {
		return "dug", nil
	}, toolset.Idempotent())
	scout := agent.Must(agent.New(agent.Config[deps, string]{
		Name: "scout", Tools: []*toolset.Tool[deps]{dig},
		Model: plays(call("a", "dig", `{"n":N}`), call("b", "dig", `{"n":N}`), func(n, _ string) model.Part {
			return model.Text("found " + n)
		}),
	}))
	same := func(d deps) deps { return d }
	background := subagents.New(subagents.Options[deps]{
		Agents: []subagents.Agent[deps]{subagents.Of("scout", "Scouts.", scout, same)},
	})
	used := func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
		s, err := next(ctx)
		if err != nil {
			return err
		}
		return note(fmt.Sprint("used ", s.Usage.Requests, " ", s.Usage.InputTokens, " ", s.Output))
	}
	return agent.Must(agent.New(agent.Config[deps, string]{
		Name: "crew", Tools: []*toolset.Tool[deps]{dig}, Capabilities: []agent.Capability[deps]{background},
		Hooks: []agent.Hooks[deps]{{Run: used}},
		Model: plays(
			call("1", "delegate", `{"agent":"scout","task":"look N","background":true}`), call("2", "dig", `{"n":N}`),
			call("3", "wait_for_agents", `{}`), func(_, told string) model.Part { return model.Text(told) },
		),
	}))
}

// crewHost has conversations with a crew.
func crewHost(c client.Client, w sessionWorker) (*host.Host, *sqlitestore.Store, error) {
	store, err := sqlitestore.Open(w.Dir, sqlitestore.Options{})
	if err != nil {
		return nil, nil, err
	}
	r, err := temporalengine.NewRunner(temporalengine.RunnerConfig{
		Client: c, TaskQueue: w.Queue, Store: store, Heartbeat: heartbeat,
	})
	if err != nil {
		return nil, nil, err
	}
	h, err := host.New(host.Config[deps, string]{
		Agent: crew(w.Log), Store: store, Runner: r, Attempts: 100, Logger: slog.New(slog.DiscardHandler),
	})
	return h, store, err
}

// crewChild is a worker of conversations or, without a directory, of workflows.
func crewChild(spec string) {
	var w sessionWorker
	err := json.Unmarshal([]byte(spec), &w)
	switch {
	case err != nil:
	case w.Dir != "":
		c, failed := connect(w.Address, new(temporalengine.MemoryBlobs))
		if err = failed; err != nil {
			break
		}
		var h *host.Host
		if h, _, err = crewHost(c, w); err == nil {
			fmt.Println("ready")
			err = h.Serve(context.Background())
		}
	default:
		blobs := temporalengine.DirBlobs{Dir: w.Log + ".blobs"}
		c, failed := connect(w.Address, blobs)
		if err = failed; err != nil {
			break
		}
		fast := temporalengine.Activity{Heartbeat: heartbeat, Attempts: 100}
		wk := worker.New(c, w.Queue, worker.Options{})
		_, err = temporalengine.Register(wk, temporalengine.Config[deps, string]{
			Name: "crew", Agent: crew(w.Log), Blobs: blobs, Step: fast,
			Tool: func(string) temporalengine.Activity { return fast },
		})
		if err == nil {
			fmt.Println("ready")
			err = wk.Run(nil)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// TestBackgroundOutlivesWorkers has conversations and workflows with an agent in the background on
// two workers, which are killed in turn while they run. No agent is lost, and no usage of one: what
// the run has used includes all responses that it has seen, and no request that was not made.
func TestBackgroundOutlivesWorkers(t *testing.T) {
	c := dial(t, new(temporalengine.MemoryBlobs))
	for name, conversations := range map[string]bool{"conversations": true, "workflows": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := sessionWorker{
				Address: shared.server.address, Queue: t.Name() + fmt.Sprint(time.Now().UnixNano()),
				Log: filepath.Join(dir, "log"),
			}
			var run func(n int) error
			if conversations {
				w.Dir = filepath.Join(dir, "store")
				run = crewOfConversations(t, c, w)
			} else {
				run = crewOfWorkflows(t, w)
			}
			workers := []*exec.Cmd{startWorker(t, crewEnv, w), startWorker(t, crewEnv, w)}
			lostAgents, lostUsage, more, cut := 0, 0, 0, 0
			for n := range *crews {
				ended := make(chan error, 1)
				go func() { ended <- run(n) }()
				for i := range workers { // whoever has it
					time.Sleep(time.Duration(50+mathrand.IntN(150)) * time.Millisecond)
					_ = workers[i].Process.Kill()
					_ = workers[i].Wait()
					workers[i] = startWorker(t, crewEnv, w)
				}
				if err := <-ended; errors.Is(err, errCutOff) {
					cut++
					continue
				} else {
					require.NoError(t, err)
				}
				data, err := os.ReadFile(w.Log)
				require.NoError(t, err)
				asked := strings.Count(string(data), fmt.Sprintf("asked %d\n", n))
				require.GreaterOrEqual(t, asked, 7)
				_, last, _ := strings.Cut(string(data)[strings.LastIndex(string(data), "\nused "):], "used ")
				var requests, tokens int
				_, err = fmt.Sscan(last, &requests, &tokens)
				require.NoError(t, err)
				require.LessOrEqual(t, requests, asked, last)
				if !strings.Contains(last, fmt.Sprintf("found %d\n", n)) {
					t.Log(last)
					lostAgents++
				}
				if requests < 7 || tokens < 70 {
					lostUsage++
				}
				more += asked - 7
			}
			t.Logf("%d runs lost both workers; agents lost in %d, usage in %d; %d requests were made again; %d were cut off",
				*crews, lostAgents, lostUsage, more, cut)
			require.Less(t, cut, *crews)
			require.Zero(t, lostAgents)
			require.Zero(t, lostUsage)
		})
	}
}

// errCutOff means that the worker was killed in the few milliseconds in which an agent was made, or
// the one in the background was in the middle of a call. A person is asked whether to delegate again,
// or the turn ends as interrupted.
var errCutOff = errors.New("the turn was cut off in the middle of a call")

func crewOfConversations(t *testing.T, c client.Client, w sessionWorker) func(n int) error {
	h, store, err := crewHost(c, w)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, h.Close(context.Background()))
		require.NoError(t, store.Close())
	})
	return func(n int) error {
		s, err := h.Create(t.Context(), session.New{}, nil)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(t.Context())
		var person sync.WaitGroup
		person.Go(func() { // who is asked about calls that may have run
			for ctx.Err() == nil {
				decideAll(ctx, s)
				time.Sleep(20 * time.Millisecond)
			}
		})
		o, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User(fmt.Sprint("go ", n))}})
		stop()
		person.Wait()
		switch {
		case err != nil:
		case o.Reason == transcript.Interrupted, o.Reason == transcript.Pending:
			err = errCutOff
		case o.Reason != transcript.Done:
			err = fmt.Errorf("the turn ended with %s: %w", o.Reason, o.Err)
		default:
			err = o.Err
		}
		return errors.Join(err, s.Close(t.Context()))
	}
}

func crewOfWorkflows(t *testing.T, w sessionWorker) func(n int) error {
	c, err := connect(w.Address, temporalengine.DirBlobs{Dir: w.Log + ".blobs"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	runs, err := temporalengine.NewClient[string](c, temporalengine.ClientOptions{Name: "crew", TaskQueue: w.Queue})
	require.NoError(t, err)
	return func(n int) error {
		run, err := runs.Start(t.Context(), temporalengine.Input{ID: fmt.Sprint(w.Queue, n), Prompt: fmt.Sprint("go ", n)})
		if err != nil {
			return err
		}
		res, err := run.Result(t.Context())
		if err != nil {
			return err
		}
		f, err := os.OpenFile(w.Log, os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, "used", res.Usage.Requests, res.Usage.InputTokens, res.Output)
		return errors.Join(err, f.Close())
	}
}

// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "record the histories in testdata/golden again, on a real server")

// golden has histories of workflows that a real server has recorded, and their blobs. A change of this package, of the loop, or of the form of tasks
// that breaks workflows that are going on breaks their replay. Then keep the old way for them, or, before a release that
// announces it, record them again: go test -run TestGoldenHistories -update
const golden = "testdata/golden"

// goldenStory is a run whose histories are golden.
type goldenStory struct {
	child, local bool
}

var goldenStories = map[string]goldenStory{"plain": {}, "child": {child: true}, "local": {local: true}}

// configs are those of a worker of the story.
func (g goldenStory) configs(change func(*agent.Config[deps, report])) (temporalengine.Config[deps, report], temporalengine.Config[deps, string]) {
	k := new(keys)
	inside := researcher(insideModel(), k)
	blobs := temporalengine.DirBlobs{Dir: filepath.Join(golden, "blobs")}
	c := config(storyteller(storyModel(), inside, k, change), blobs)
	c.Tool = func(name string) temporalengine.Activity {
		if g.child && name == "research" {
			return temporalengine.Activity{Child: "researcher"}
		}
		return temporalengine.Activity{Local: g.local}
	}
	return c, temporalengine.Config[deps, string]{Name: "researcher", Agent: inside, Blobs: blobs, Deps: c.Deps}
}

// record plays the story on a server that wants workflows to be continued after a few events.
func (g goldenStory) record(t *testing.T, s *server, name string) {
	outer, inner := g.configs(nil)
	c, err := connect(s.address, outer.Blobs)
	require.NoError(t, err)
	defer c.Close()
	w := worker.New(c, name, worker.Options{})
	closeOuter, err := temporalengine.Register(w, outer)
	require.NoError(t, err)
	defer closeOuter()
	closeInner, err := temporalengine.Register(w, inner)
	require.NoError(t, err)
	defer closeInner()
	require.NoError(t, w.Start())
	defer w.Stop()
	run, err := clientOf(t, c, name).Start(t.Context(), temporalengine.Input{ID: "golden-" + name, Prompt: "Go.", Metadata: ada})
	require.NoError(t, err)
	for range 4 { // five calls wait, one after another or together
		for _, call := range waiting(t, run) {
			_, err := run.Answer(t.Context(), allow([]agent.PendingCall{call})[0])
			require.NoError(t, err)
		}
		if res, err := resultSoon(t, run); err == nil {
			require.Equal(t, "done", res.Output.Text)
			break
		}
	}
	var save func(id, runID string, n int)
	save = func(id, runID string, n int) {
		var h historypb.History
		for it := c.GetWorkflowHistory(t.Context(), id, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			e, err := it.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, e)
			if a := e.GetChildWorkflowExecutionStartedEventAttributes(); a != nil {
				save(a.WorkflowExecution.WorkflowId, a.WorkflowExecution.RunId, 1)
			}
			if a := e.GetWorkflowExecutionContinuedAsNewEventAttributes(); a != nil {
				save(id, a.NewExecutionRunId, n+1)
			}
		}
		data, err := protojson.Marshal(&h)
		require.NoError(t, err)
		file := strings.ReplaceAll(strings.TrimPrefix(id, "golden-"), "/", "_") + "-" + string(rune('0'+n)) + ".json"
		require.NoError(t, os.WriteFile(filepath.Join(golden, file), data, 0o644))
	}
	first := history(t, c, run.ID())[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	save(run.ID(), first, 1)
}

// replay replays a golden history as a worker with the configurations would.
func replay[O any](t *testing.T, file string, outer temporalengine.Config[deps, O], inner temporalengine.Config[deps, string]) error {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	h, err := client.HistoryFromJSON(bytes.NewReader(data), client.HistoryJSONOptions{})
	require.NoError(t, err)
	began := h.Events[0].GetWorkflowExecutionStartedEventAttributes()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: temporalengine.Converter(outer.Blobs)})
	require.NoError(t, err)
	require.NoError(t, temporalengine.RegisterWorkflow(r, outer))
	require.NoError(t, temporalengine.RegisterWorkflow(r, inner))
	return r.ReplayWorkflowHistoryWithOptions(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h, worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: began.WorkflowId, RunID: began.OriginalExecutionRunId}})
}

func goldenFiles(t *testing.T, name string) []string {
	files, err := filepath.Glob(filepath.Join(golden, name+"*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestGoldenHistoriesReplay(t *testing.T) {
	if *update {
		require.NoError(t, os.RemoveAll(golden))
		require.NoError(t, os.MkdirAll(golden, 0o755))
		dial(t, new(temporalengine.MemoryBlobs)) // skips
		s, err := startServer()
		require.NoError(t, err)
		s.close()
		s.more = []string{"--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=45"}
		require.NoError(t, s.start())
		defer s.close()
		for name, g := range goldenStories {
			g.record(t, s, name)
		}
	}
	for name, g := range goldenStories {
		files := goldenFiles(t, name)
		require.Greater(t, len(files), 1, "the run was continued")
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				outer, inner := g.configs(nil)
				require.NoError(t, replay(t, file, outer, inner))
			})
		}
	}
}

// TestNewVersionFollowsTheHistory: other instructions, another model, and tools that come and go change nothing that has been recorded.
func TestNewVersionFollowsTheHistory(t *testing.T) {
	for _, file := range goldenFiles(t, "plain") {
		outer, inner := goldenStories["plain"].configs(func(c *agent.Config[deps, report]) {
			c.Instructions, c.Model = "Be brief.", said(model.Response(model.Text("Something else.")))
			c.Tools = append(slices.Clone(c.Tools[1:]), toolset.Plain[deps]("fresh", "Fresh.", func(context.Context, args) (string, error) { return "", nil }))
		})
		require.NoError(t, replay(t, file, outer, inner), file)
	}
}

// TestVersionThatDoesNotFitIsAnError and not another course of the run.
func TestVersionThatDoesNotFitIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*agent.Config[deps, report])
		tool   func(string) temporalengine.Activity
		want   string
	}{
		"a limit that the run has passed": {change: func(c *agent.Config[deps, report]) { c.Limits.Requests = 1 }, want: "TMPRL1100"},
		"local calls":                     {tool: func(string) temporalengine.Activity { return temporalengine.Activity{Local: true} }, want: "TMPRL1100"},
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := goldenStories["plain"].configs(c.change)
			if c.tool != nil {
				outer.Tool = c.tool
			}
			require.ErrorContains(t, replay(t, goldenFiles(t, "plain")[0], outer, inner), c.want)
		})
	}
	t.Run("results of other calls", func(t *testing.T) {
		file := goldenFiles(t, "plain")[0]
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotEmpty(t, data)
		outer, inner := goldenStories["plain"].configs(nil)
		swapped := filepath.Join(t.TempDir(), "swapped.json")
		require.NoError(t, os.WriteFile(swapped, swapResults(t, data), 0o600))
		err = replay(t, swapped, outer, inner)
		require.ErrorContains(t, err, "was started by another version of its agent")
	})
}

// swapResults gives two activities of a history the results of each other.
func swapResults(t *testing.T, data []byte) []byte {
	h, err := client.HistoryFromJSON(bytes.NewReader(data), client.HistoryJSONOptions{})
	require.NoError(t, err)
	var done []*historypb.ActivityTaskCompletedEventAttributes
	for _, e := range h.Events {
		if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
			done = append(done, a)
		}
	}
	done[1].Result, done[3].Result = done[3].Result, done[1].Result
	data, err = protojson.Marshal(h)
	require.NoError(t, err)
	return data
}

// again is a new version of an agent, with another type of output, for the replay of what it has done before.
func again[O any]() temporalengine.Config[deps, O] {
	old, _ := goldenStories["plain"].configs(nil)
	k := new(keys)
	return temporalengine.Config[deps, O]{Name: old.Name, Blobs: old.Blobs, Deps: old.Deps, Tool: old.Tool, Agent: agent.Must(agent.New(agent.Config[deps, O]{
		Name: "reporter", Model: storyModel(), ToolRetries: new(3), Instructions: "Report.",
		Tools: []*toolset.Tool[deps]{guardedTool(k), agent.AsTool("research", "Research.", researcher(insideModel(), k), func(d deps) deps { return d })},
	}))}
}

// TestOutputOfAnotherTypeIsAnError: JSON would leave out what the new type does not have, and make up what the old one did not. What still fits is taken.
func TestOutputOfAnotherTypeIsAnError(t *testing.T) {
	files := goldenFiles(t, "plain")
	last := files[len(files)-1]
	_, inner := goldenStories["plain"].configs(nil)
	const other = "its output does not have the fields of this worker's"
	require.ErrorContains(t, replay(t, last, again[struct {
		Text  string `json:"text"`
		Score int    `json:"score"`
	}](), inner), other)
	require.ErrorContains(t, replay(t, last, again[struct {
		Summary string `json:"summary"`
	}](), inner), other)
	require.NoError(t, replay(t, last, again[struct {
		Text string `json:"text"`
		More string `json:"more,omitempty"`
	}](), inner))
	err := replay(t, last, again[struct {
		Text int `json:"text"`
	}](), inner)
	require.ErrorContains(t, err, "the output does not fit its type")
}

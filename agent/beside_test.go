// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// background is an agent with tools that begin a run of another agent beside the call, and that get its result.
type background struct {
	runs  *agent.Outliving
	id    string // of the run that another process began
	lines []string
	asked int
	fails int  // so many requests of the run inside fail
	deep  bool // the run inside has one inside it
}

func (b *background) say(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

func (b *background) play(t *testing.T, j journal.Journal, opts ...agent.RunOption) {
	asked := model.Func(model.Info{Provider: "acme", Name: "inner"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if b.asked++; b.asked <= b.fails {
			return nil, errBoom
		}
		resp := model.Response(model.Text("found"))
		if b.deep && len(req.Messages) == 1 && len(req.Tools) > 0 {
			resp = model.Response(model.ToolCall("x", "deeper", `{"prompt":"dig"}`))
		}
		resp.Usage = model.Usage{InputTokens: 100, OutputTokens: 10}
		return resp, nil
	})
	deepest := newAgent(t, agent.Config[deps, string]{Name: "deepest", Model: asked})
	inner := newAgent(t, agent.Config[deps, string]{Name: "inner", Model: asked, Tools: []*toolset.Tool[deps]{agent.AsTool("deeper", "", deepest, sameDeps)}})
	begin := tool("begin", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		o := agent.Beside(ctx, run, b.id)
		if o == nil {
			return "nothing outlives this call", nil
		}
		b.runs = o
		b.say("begun with id %q, %d policies", o.ID(), len(o.Policies()))
		res, err := inner.Run(ctx, deps{}, "search", o.Options()...)
		if err != nil {
			return "", err
		}
		b.say("the run inside is %q of %q, its usage %s, its meter has counted %s", res.Output, res.RunID, plainJSON(res.Usage), plainJSON(o.Meter().Own()))
		return "begun", nil
	})
	collect := tool("collect", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
		if b.runs == nil {
			return "nothing to collect", nil
		}
		b.runs.Ended(ctx, run.Meter)
		return "collected", nil
	})
	n := 0
	script := []model.Part{call("a", "begin"), call("b", "collect"), model.Text("done")}
	outer := newAgent(t, agent.Config[deps, string]{Name: "outer", Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n++
		i := 0
		for _, m := range req.Messages {
			if m.Kind == model.KindResponse {
				i++
			}
		}
		return model.Response(script[i]), nil
	}), Policies: []*agent.Policy{agent.NewPolicy(agent.PolicyConfig[deps]{Name: "house"})}}, begin, collect)
	opts = append(opts, agent.WithRunID("r1"), agent.WithConversationID("k"))
	if j != nil {
		opts = append(opts, agent.WithJournal(j))
	}
	res, err := outer.Run(t.Context(), deps{}, "go", opts...)
	if err != nil {
		b.say("error %v, usage %s", err, plainJSON(asRunError(t, err).Usage))
	} else {
		b.say("result %q, usage %s", res.Output, plainJSON(res.Usage))
	}
	b.say("the outer model was asked %d times, the inner one %d times", n, b.asked)
}

// TestRunsBesideTheirCalls has what runs count that outlive their calls, and what becomes of them in another process.
func TestRunsBesideTheirCalls(t *testing.T) {
	var all strings.Builder
	var how background
	tell := func(name string, j journal.Journal, id string, opts ...agent.RunOption) {
		b := how
		b.id = id
		synctest.Test(t, func(t *testing.T) { b.play(t, j, opts...) })
		fmt.Fprintf(&all, "%s\n  %s\n", name, numbered(strings.Join(b.lines, "\n  ")))
	}
	tell("without a journal", nil, "")
	tell("with an id, and without a journal", nil, "x")
	tell("with a limit", nil, "", agent.WithLimits(agent.Limits{Requests: 3}))
	tell("with workers", nil, "", onEngine(nil, false))
	whole := newShelf()
	tell("with a journal", whole, "")
	require.Equal(t, []string{"r1", "r1/1/a"}, whole.order)
	for _, run := range whole.order {
		for _, line := range whole.logs[run] {
			fmt.Fprintf(&all, "    %s: %s\n", run, strings.NewReplacer(`"`, "").Replace(numbered(string(line))))
		}
	}
	tell("all of it again", whole.copy(), "")
	for n := range whole.logs["r1"] {
		for _, inner := range []bool{false, true} {
			cut := whole.copy()
			cut.logs["r1"] = whole.logs["r1"][:n+1]
			if !inner {
				delete(cut.logs, "r1/1/a")
			}
			tell(fmt.Sprintf("%d records, and those of the run beside it: %v", n+1, inner), cut, "")
		}
	}
	cut := whole.copy()
	cut.logs["r1"] = slices.Clip(whole.logs["r1"][:2])
	tell("under the id of another process", cut, "r1/1/a")
	tell("under another id", newShelf(), "other")
	for _, how = range []background{{fails: 1}, {deep: true}, {deep: true, fails: 1}} {
		shelf := newShelf()
		tell(fmt.Sprintf("deep %v, and %d requests fail", how.deep, how.fails), shelf, "")
		for _, run := range shelf.order {
			for _, line := range shelf.logs[run] {
				fmt.Fprintf(&all, "    %s: %s\n", run, strings.NewReplacer(`"`, "").Replace(numbered(string(line))))
			}
		}
		failed := how.fails
		how.fails = 0
		tell("and again", shelf.copy(), "")
		for _, run := range shelf.order[1:] {
			for n := range shelf.logs[run] {
				cut := shelf.copy()
				cut.logs["r1"] = cut.logs["r1"][:2]
				cut.logs[run] = cut.logs[run][:n+1]
				tell(fmt.Sprintf("2 records, and %d of %s", n+1, run), cut, "")
			}
		}
		how.fails = failed
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/beside.txt", []byte(all.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/beside.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), all.String(), "run with -update if it should be so")
}

// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

var everyAttack = flag.Bool("every-attack", false, "combine every hidden name with every command, as the deep tier does, and not some of them")

// group is a kind of attacks.
type group struct {
	name  string
	run   func(*suite)
	least int // how many attacks it has at least
}

var groups = []group{
	{"generalisation", generalisation, 300},
	{"deny and ask rules", denyAndAsk, 300},
	{"paths", paths, 100},
	{"code that runs later", runsLater, 500},
	{"code that runs later, unnamed", unnamed, 2500},
	{"names known in part", partly, 9000},
	{"other names", names, 1500},
	{"reads", reads, 60},
	{"reads of directories", directories, 400},
	{"other spellings", otherSpellings, 1200},
	{"hosts", hosts, 160},
	{"tables", tables, 590},
	{"races", races, 15},
	{"argv", arguments, 40},
	{"argv, options and variables", options, 7000},
	{"leaks", leaks, 60},
	{"leaks, printed", prints, 40},
	{"leaks, recorded", recorded, 400},
	{"forged answers", forged, 20},
	{"forged answers, at once", atOnce, 28},
	{"answers, useChat", pageAnswers, 80},
	{"answers, AG-UI", interruptAnswers, 80},
	{"answers, twins", twins, 40},
	{"answers, stale", staleAnswers, 60},
	{"answers, editors", editorAnswers, 60},
	{"answers, forms", formAnswers, 300},
	{"answers, MCP clients", exportedTools, 300},
	{"proxies", proxies, 60},
	{"proxies, claims", claims, 900},
	{"MCP", servers, 15},
	{"MCP, definitions", redefinitions, 20},
	{"undo", undoes, 10},
	{"undo, through links", undoesThroughLinks, 12},
}

// suite counts the attacks of a group.
type suite struct {
	*testing.T
	tried, failed int
}

// attack notes whether an attack was stopped.
func (s *suite) attack(stopped bool, format string, args ...any) {
	s.Helper()
	s.tried++
	if !stopped {
		s.failed++
		s.Errorf("an attack has succeeded: "+format, args...)
	}
}

// TestAttacksOnPermissionsFail makes the attacks of all groups.
func TestAttacksOnPermissionsFail(t *testing.T) {
	tried, failed := 0, 0
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			s := &suite{T: t}
			g.run(s)
			tried, failed = tried+s.tried, failed+s.failed
			t.Logf("%s: %d of %d attacks stopped", g.name, s.tried-s.failed, s.tried)
			require.GreaterOrEqual(t, s.tried, g.least)
		})
	}
	t.Logf("%d of %d attacks stopped, %d failed to be", tried-failed, tried, failed)
	require.GreaterOrEqual(t, tried, 1000)
}

// deps are what the tools of a world work on.
type deps struct {
	files   *workspace.Session
	changes *checkpoint.Recorder
}

// world is an agent with the tools for files and commands, and a person who is asked.
type world struct {
	t       testing.TB
	disk    workspace.Workspace
	roots   []string
	layers  []approval.Layer
	policy  *approval.Policy
	code    bool // the mode in which files are changed without a question
	reads   func(string) (toolset.Verdict, string)
	person  func(n int, r *toolset.ApprovalRequest) toolset.Decision
	asked   []toolset.ApprovalRequest
	turns   *checkpoint.Recorder
	started []workspace.Command
}

// never is a person who allows nothing.
func never(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Deny("no") }

// always is a person who allows everything, always.
func always(int, *toolset.ApprovalRequest) toolset.Decision {
	return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}
}

// memory makes a world in memory, in which every command succeeds.
func memory(t testing.TB, files map[string]string) *world {
	w := &world{t: t, roots: []string{"/project"}, policy: new(approval.Policy), person: never}
	m, err := workspace.NewMemory(workspace.MemoryConfig{Roots: w.roots, Files: files, Command: func(c workspace.Command) workspace.MemoryScript {
		w.started = append(w.started, c)
		return workspace.MemoryPrint("ran", 0)
	}})
	require.NoError(t, err)
	w.disk = m
	return w
}

// configure adds the layer of a configuration.
func (w *world) configure(config string) *world {
	c, err := approval.ParseConfig([]byte(config))
	require.NoError(w.t, err, config)
	layer, err := c.Layer(w.roots...)
	require.NoError(w.t, err, config)
	w.layers = append(w.layers, layer)
	w.reads, err = c.Reads(w.roots...)
	require.NoError(w.t, err)
	return w
}

// Approve implements [toolset.Asker]: it is the person.
func (w *world) Approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	w.asked = append(w.asked, r)
	return w.person(len(w.asked), &r), nil
}

// Answer implements [toolset.Asker].
func (w *world) Answer(context.Context, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, toolset.ErrNobody
}

// call has the agent call a tool. It returns what the model was told.
func (w *world) call(tool string, args any) string {
	w.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(w.t, err)
	if w.turns == nil {
		w.turns = checkpoint.New(w.disk, checkpoint.Options{})
	}
	w.asked, w.started = nil, nil
	files := workspace.NewSession(w.turns)
	defer files.Close(w.t.Context())
	if w.reads != nil {
		files.GuardReads(w.reads)
		w.turns.GuardReads(w.reads)
	}
	var asker toolset.Asker = w
	if w.code {
		asker = host.ModeCode().Policy(nil, asker)
	}
	asker = approval.Layered(approval.Remember(w.policy, asker), w.layers...)
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("c", tool, string(raw))), modeltest.SayText("done")),
		Toolsets: []toolset.Toolset[deps]{
			workspace.Tools(func(d deps) *workspace.Session { return d.files }),
			checkpoint.Tools(func(d deps) *checkpoint.Recorder { return d.changes }),
		},
		ToolRetries: new(100),
	}))
	res, err := a.Run(w.t.Context(), deps{files, w.turns}, "go", agent.WithAsker(asker))
	require.NoError(w.t, err)
	var told []string
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				told = append(told, p.Text)
			}
		}
	}
	require.Len(w.t, told, 1)
	return told[0]
}

// args are the arguments of a call.
type args map[string]any

// run has the agent run a line.
func (w *world) run(line string) string { return w.call("run_command", args{"command": line}) }

// write has the agent write a file.
func (w *world) write(name, text string) string {
	return w.call("write_file", args{"path": name, "content": text})
}

// quoted quotes a text for JSON.
func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// rules makes a configuration of rules.
func rules(mode string, all ...string) string {
	return fmt.Sprintf(`{"mode":%q,"rules":[%s]}`, mode, strings.Join(all, ","))
}

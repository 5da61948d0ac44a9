// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// words writes down what is told, for comparison with a file.
type words struct {
	strings.Builder
	t *testing.T
}

func (w *words) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *words) json(what string, v any) {
	data, err := json.Marshal(v)
	require.NoError(w.t, err, what)
	w.line("%s: %s", what, data)
}

// compare compares what was written down with a file. The flag is that of the other golden tests.
func (w *words) compare(path string) {
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(w.t, os.WriteFile(path, []byte(w.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(w.t, err, "run the test with -update to make it")
	require.Equal(w.t, string(want), w.String())
}

// stopped is an error of the program's own checks.
type stopped struct{}

func (stopped) Error() string   { return "stopped" }
func (stopped) Refused() string { return "Not on Sundays." }
func (stopped) Unwrap() error   { return agent.ErrContentFilter }

// TestEndingsAreTold compares how turns end that failed or were cut off with a record.
func TestEndingsAreTold(t *testing.T) {
	w := &words{t: t}
	told := func(what string, e *ending) {
		w.line("%s: %q %q", what, e.stop, e.notice)
		if e.err != nil {
			w.line("\t%d %q %s", e.err.Code, e.err.Message, e.err.Data)
		}
	}
	for _, finish := range []model.FinishReason{"", model.FinishStop, model.FinishLength, model.FinishContentFilter, model.FinishRefusal, model.FinishToolCalls, model.FinishError, "odd"} {
		told("finished with "+string(finish), endingOf(nil, finish))
	}
	run := func(stage agent.Stage, tool string, err error) error {
		return &agent.RunError{Stage: stage, Tool: tool, CallID: "c", Err: err}
	}
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	boom := errors.New("boom\n twice")
	for _, err := range []error{
		boom, agent.ErrTokenLimit, agent.ErrIncompleteToolCall, agent.ErrContentFilter, agent.ErrRefused, fmt.Errorf("%w: %w", agent.ErrContentFilter, agent.ErrRefused), stopped{},
		run(agent.StageModel, "", boom), run(agent.StageTool, "bad", boom), run(agent.StageOutput, "", boom), run(agent.StagePrepare, "", boom), run(agent.StageApproval, "bad", boom), run("odd", "", boom), run("auth", "", boom), run("busy", "", boom),
		run(agent.StageModel, "", agent.ErrResponseFailed), agent.ErrResponseFailed,
		run(agent.StageModel, "", &model.APIError{Provider: "p", Model: "m", Status: 500, Retryable: true, RetryAfter: 1500*time.Millisecond + 600*time.Microsecond}),
		run(agent.StageModel, "", &model.APIError{Provider: "p", Status: 401}), run(agent.StageModel, "", &model.APIError{Provider: "p", Status: 429, RetryAfter: time.Hour}), run(agent.StageModel, "", fmt.Errorf("too long: %w", model.ErrContextLength)),
		model.ErrAuth, acp.ErrAuthRequired, model.ErrRateLimited,
		&agent.PendingError{}, run(agent.StageTool, "bad", &agent.PendingError{Calls: []model.PendingCall{{}}}),
		&agent.PanicError{Value: "boom\nhere"}, run(agent.StageTool, "bad", &agent.PanicError{Value: boom}), run(agent.StageModel, "", &agent.PanicError{Value: 7}),
		&sessions.Error{Op: "open", Session: "one", Holder: "ada", Since: since, Err: sessions.ErrHeld}, &sessions.Error{Op: "open", Session: "one", Holder: "ada", Err: sessions.ErrHeld}, &sessions.Error{Op: "open", Session: "one", Err: sessions.ErrHeld},
		sessions.ErrFull, sessions.ErrCorrupt, sessions.ErrReadOnly, sessions.ErrVersion, sessions.ErrBusy, sessions.ErrUnavailable, sessions.ErrLeaseLost, sessions.ErrHeadMoved, sessions.ErrClosed, sessions.ErrNotFound,
		host.ErrMoved, fmt.Errorf("%w: %w", host.ErrMoved, sessions.ErrUnavailable), run(agent.StageTool, "bad", sessions.ErrBusy),
		acp.Errorf(-7, "my own"), acp.Errorf(-7, "my own").WithData(1), run(agent.StagePrepare, "", acp.Errorf(-7, "my own").WithData(1)), fmt.Errorf("around: %w", acp.Errorf(-7, "my own").WithData(1)),
		context.Canceled, errors.New(strings.Repeat("é", 500)), errors.New("x" + strings.Repeat("é", 500)), errors.New(strings.Repeat("x", 1001)),
	} {
		told(fmt.Sprintf("%.60q (%T)", err.Error(), err), endingOf(err, model.FinishLength))
	}
	for _, limit := range []toolset.LimitName{toolset.LimitRequests, toolset.LimitToolCalls, toolset.LimitInputTokens, toolset.LimitOutputTokens, toolset.LimitTotalTokens, toolset.LimitCost, "odd"} {
		for _, bound := range []float64{1, 1000000, 0.25} {
			told(fmt.Sprint("limit ", limit, " ", bound), endingOf(run(agent.StageModel, "", &agent.LimitError{Limit: limit, Bound: bound}), ""))
		}
	}
	for _, cause := range []error{nil, acp.ErrTurnCancelled, acp.ErrRequestCancelled, errSessionClosed, errShutdown, boom} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if cause != nil {
			cancel(cause)
		}
		if end := cancelled(ctx); end == nil {
			w.line("cancelled by %v: not", cause)
		} else {
			told(fmt.Sprint("cancelled by ", cause), end)
			resp, err := end.answer()
			w.line("\tanswered with %+v, %v", resp, err)
		}
		cancel(nil)
	}
	for _, e := range []*StuckError{
		{Waited: time.Second}, {Waited: 1500 * time.Millisecond, Tools: []string{"a"}}, {Waited: time.Second, Tools: []string{"a", "b"}, Err: boom}, {Err: boom},
	} {
		w.line("stuck: %q %v", e.Error(), errors.Unwrap(e) == e.Err)
	}
	for _, n := range []int{1, 2, 7} {
		w.line("%d unread: %s", n, unread(n))
	}
	for _, s := range []string{"", " a\n b\t", strings.Repeat("x", 1000), strings.Repeat("x", 998) + "é", strings.Repeat("x", 999) + "é", strings.Repeat("x", 997) + "\U0001F600"} {
		w.line("one line of %d: %q", len(s), oneLine(s))
	}
	require.Equal(t, "…", oneLine(strings.Repeat("\x80", 1001)), "no character begins in it")
	w.compare("testdata/endings.want")
}

// TestUsageOfATurnIsTold has the numbers of a turn's usage.
func TestUsageOfATurnIsTold(t *testing.T) {
	w := &words{t: t}
	for _, n := range []int64{-1, 0, 1, 2, 1000} {
		u := &toolset.Usage{Usage: model.Usage{InputTokens: n, OutputTokens: 2 * n, ReasoningTokens: n, CacheReadTokens: 3 * n, CacheWriteTokens: 4 * n}}
		w.json(fmt.Sprint(n), turnUsage(u))
	}
	w.json("of the input", turnUsage(&toolset.Usage{Usage: model.Usage{InputTokens: 7}}))
	w.compare("testdata/usage.want")
}

// TestPromptsAreConverted compares what the model is given of prompts with a record.
func TestPromptsAreConverted(t *testing.T) {
	w := &words{t: t}
	for _, media := range [][]string{nil, {"image"}, {"image/png", "audio", "application/pdf", "text/csv"}} {
		w.json("a model that takes "+strings.Join(media, ", "), promptCapabilities(media))
		for _, blocks := range []string{
			`[]`, `[{"type":"text","text":""}]`, `[{"type":"text","text":" \n"}]`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, `[{"type":"text","text":""},{"type":"text","text":"b"}]`,
			`[{"type":"text","text":"see "},{"type":"resource_link","uri":"file:///a/b c.go","name":"b[c]\n.go"},{"type":"text","text":" there"},{"type":"text","text":"more"}]`,
			`[{"type":"resource_link","uri":"file:///a/b.go","name":"","description":""}]`, `[{"type":"resource_link","uri":"file:///a/b.go","name":"","description":"It is\nold."}]`,
			`[{"type":"resource_link","uri":"https://a.example","name":""}]`, `[{"type":"resource_link","uri":"https://a.example/","name":""}]`, `[{"type":"resource_link","uri":"%zz","name":""}]`, `[{"type":"resource_link","uri":"a(b)<c>\nd","name":"x"}]`,
			`[{"type":"image","data":"iVBO","mimeType":"image/png"}]`, `[{"type":"image","data":"iVBO","mimeType":"IMAGE/PNG; x=1"}]`, `[{"type":"image","data":"","mimeType":"image/png"}]`, `[{"type":"image","data":"!","mimeType":"image/png"}]`, `[{"type":"image","data":"iVBO","mimeType":""}]`, `[{"type":"image","data":"iVBO","mimeType":"audio/wav"}]`, `[{"type":"image","data":"iVBO","mimeType":"image/gif"}]`,
			`[{"type":"audio","data":"iVBO","mimeType":"audio/wav"}]`, `[{"type":"audio","data":"iVBO","mimeType":"image/png"}]`,
			`[{"type":"text","text":"a"},{"type":"image","data":"iVBO","mimeType":"image/png"},{"type":"text","text":"b"},{"type":"image","data":"iVBP","mimeType":"image/png"},{"type":"text","text":" "}]`,
			`[{"type":"text","text":"in "},{"type":"resource","resource":{"uri":"file:///a/b.go","text":"package b"}},{"type":"text","text":" and "},{"type":"resource","resource":{"uri":"file:///c.md","text":"` + "```\\ncode\\n```\\n" + `"}}]`,
			`[{"type":"resource","resource":{"uri":"file:///a.png","blob":"iVBO","mimeType":"image/png"}}]`, `[{"type":"resource","resource":{"uri":"file:///a.png","blob":"","mimeType":"image/png"}}]`, `[{"type":"resource","resource":{"uri":"file:///a.txt","blob":"YQ==","mimeType":"text/plain"}}]`, `[{"type":"resource","resource":{"uri":"file:///a.txt","blob":"/w==","mimeType":"text/plain"}}]`,
			`[{"type":"resource","resource":{"uri":"file:///a.txt","blob":"!","mimeType":"text/plain"}}]`, `[{"type":"resource","resource":{"uri":"file:///a.csv","blob":"YQ==","mimeType":"text/csv"}}]`, `[{"type":"resource","resource":{"uri":"file:///a","blob":"YQ=="}}]`, `[{"type":"resource","resource":{"uri":"file:///a","blob":"YQ==","mimeType":"application/zip"}}]`, `[{"type":"resource","resource":{}}]`, `[{"type":"hologram"}]`, `[{"type":"text","text":"a"},{"type":"hologram"}]`,
		} {
			var prompt []acp.ContentBlock
			if err := json.Unmarshal([]byte(blocks), &prompt); err != nil {
				w.line("%s: %v", blocks, err)
				continue
			}
			parts, links, err := promptParts(prompt, media)
			w.line("%s", blocks)
			for _, p := range parts {
				w.line("\t%s %q %s %q %x", p.Kind, p.Text, p.MediaType, p.Name, p.Data)
			}
			for _, l := range links {
				w.line("\tlink %s", l.URI)
			}
			if err != nil {
				failure := acp.ToError(err)
				w.line("\terror %d %q %s", failure.Code, failure.Message, failure.Data)
			}
		}
	}
	w.compare("testdata/prompts.want")
}

// TestResultsOfCommandsAreShown compares how calls of the tools end for the user with a record.
func TestResultsOfCommandsAreShown(t *testing.T) {
	w := &words{t: t}
	state := func(s ws.CommandState) json.RawMessage {
		data, err := json.Marshal(s)
		require.NoError(t, err)
		return data
	}
	for _, about := range []ws.Subject{{Title: "a file"}, {Title: "a list", Listing: true}, {Title: "an output", Output: true}, {Title: "a command", Output: true, Runs: true}} {
		for _, live := range []bool{true, false} {
			for _, res := range []toolset.Result{
				{Text: "text\n[exit code 0]", Meta: state(ws.CommandState{Exit: &ws.Exit{}})}, {Text: "[no output]\n[exit code 7]", Meta: state(ws.CommandState{Exit: &ws.Exit{Code: 7}})},
				{Text: "a\n[killed]", Meta: state(ws.CommandState{Exit: &ws.Exit{Code: -1, Signal: "KILL"}, Truncated: true})}, {Text: "a\n[unknown]", Meta: state(ws.CommandState{Exit: &ws.Exit{Code: -1}})},
				{Text: "a\n[timed out]", Meta: state(ws.CommandState{TimedOut: true})}, {Text: "started", Meta: state(ws.CommandState{Terminal: "t", Running: true})},
				{Text: "\n[exit code 0]", Meta: state(ws.CommandState{Exit: &ws.Exit{}})}, {Text: "plain"}, {Text: "odd", Meta: json.RawMessage(`7`)}, {Text: "", Meta: json.RawMessage(`{"lines":1}`)},
			} {
				a := &report{about: about, live: live}
				w.json(fmt.Sprintf("%s, live %v, %q %s", about.Title, live, res.Text, res.Meta), a.completed(&res))
				if about.Runs && !live {
					a.output = &growingOutput{begun: true}
					a.output.add([]byte("so far\n"))
					w.json("\tand was shown before", a.completed(&res))
				}
			}
		}
	}
	for _, err := range []error{errors.New("odd"), toolset.Failed("It failed."), toolset.Denied("No."), &toolset.RetryError{Message: "Again."}, fmt.Errorf("around: %w", toolset.Failed("It failed."))} {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		w.line("%v: %q, and in a turn that was cancelled %q", err, forUser(t.Context(), err), forUser(ended, err))
	}
	for _, about := range []ws.Subject{{}, {Path: "/a"}, {Path: "/a", Line: 1}, {Path: "/a", Line: 7}, {Line: 7}} {
		w.json("locations", (&report{about: about}).locations())
	}
	w.compare("testdata/results.want")
}

// TestUpdatesOfTurnsAreKnown has each kind of update: those that belong to a turn and those that do not.
func TestUpdatesOfTurnsAreKnown(t *testing.T) {
	for want, all := range map[bool][]acp.SessionUpdate{
		true: {
			{UserMessageChunk: &acp.ContentChunk{}}, {AgentMessageChunk: &acp.ContentChunk{}}, {AgentThoughtChunk: &acp.ContentChunk{}}, {ToolCall: &acp.ToolCall{}}, {ToolCallUpdate: &acp.ToolCallUpdate{}}, {Plan: &acp.Plan{}},
		},
		false: {
			{}, {AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{}}, {CurrentModeUpdate: &acp.CurrentModeUpdate{}}, {ConfigOptionUpdate: &acp.ConfigOptionUpdate{}}, {SessionInfoUpdate: &acp.SessionInfoUpdate{}},
			{UsageUpdate: &acp.UsageUpdate{}}, {Notice: &acp.Notice{}}, {CompactionUpdate: &acp.CompactionUpdate{}}, {Unknown: json.RawMessage("{}")},
		},
	} {
		for _, u := range all {
			require.Equal(t, want, belongsToTurn(&u), "%+v", u)
		}
	}
}

// TestSettingsAreShown has the settings of a session as different clients get them.
func TestSettingsAreShown(t *testing.T) {
	w := &words{t: t}
	all := []view.Setting{
		{ID: "mode", Title: "Mode", Value: "b", Choices: []view.Choice{{ID: "a", Title: "A"}, {ID: "b", Title: "B", Description: "The second."}}},
		{ID: "fast", Description: "It is quick.", Switch: true, Value: "true", Category: "speed"}, {ID: "slow", Switch: true, Value: "odd"},
		{ID: "grouped", Title: "G", Choices: []view.Choice{{ID: "1", Group: "One"}, {ID: "2", Group: "Two", Title: "Second", Description: "It is."}, {ID: "3", Group: "One"}, {ID: "4"}}}, {ID: "empty"},
	}
	for _, can := range []string{`{}`, `{"session":{}}`, `{"session":{"configOptions":{}}}`, `{"session":{"configOptions":{"boolean":{}}}}`} {
		s := &session{info: &deps.Session{}}
		require.NoError(t, json.Unmarshal([]byte(can), &s.info.Capabilities))
		w.json(can, s.configOptions(all))
	}
	w.json("modes", modes(all))
	w.json("no modes", modes(all[1:]))
	w.json("none", (&session{info: &deps.Session{}}).configOptions(nil))
	w.compare("testdata/settings.want")
}

// TestTypesOfLinkedFilesAreKnown has the media types of links.
func TestTypesOfLinkedFilesAreKnown(t *testing.T) {
	for uri, want := range map[string]string{
		"a.png": "image/png", "a.PNG": "image/png", "a.jpg": "image/jpeg", "a.jpeg": "image/jpeg", "a.gif": "image/gif", "a.webp": "image/webp", "a.wav": "audio/wav", "a.mp3": "audio/mpeg", "a.pdf": "application/pdf", "a.go": "", "png": "", "a.png.txt": "",
	} {
		require.Equal(t, want, mediaTypeOf(&acp.ResourceLink{}, uri), uri)
		require.Equal(t, want, mediaTypeOf(&acp.ResourceLink{MIMEType: new("")}, uri), uri)
		require.Equal(t, "text/x", mediaTypeOf(&acp.ResourceLink{MIMEType: new("text/x")}, uri), uri)
	}
}

// linkedTo is a workspace with files by the addresses of links.
type linkedTo struct {
	ws.Workspace
	files map[string]string
	saved bool
	asked []string
}

func (l *linkedTo) Features() ws.Features { return ws.Features{Read: true, Saved: l.saved} }

func (l *linkedTo) Read(_ context.Context, path string, r ws.Range) (f ws.File, err error) {
	l.asked = append(l.asked, fmt.Sprintf("%s %d+%d limit %d saved %v", path, r.Line, r.Lines, r.Limit, r.Saved))
	text, ok := l.files[path]
	if !ok {
		return f, os.ErrNotExist
	}
	f.Data = []byte(text[:min(len(text), r.Limit)])
	f.More = strings.Contains(path, "more")
	return f, nil
}

// TestFilesOfLinksAreReadWithinLimits has links to files, and what is read and given to the model of them.
func TestFilesOfLinksAreReadWithinLimits(t *testing.T) {
	w := &words{t: t}
	for _, c := range []struct {
		limit int
		saved bool
		uris  []string
	}{
		{0, true, []string{"file:///a"}}, {4, true, []string{"file:///four"}}, {3, true, []string{"file:///four"}}, {8, true, []string{"file:///four", "file:///four", "file:///4", "file:///one"}}, {9, true, []string{"file:///four", "file:///4", "file:///one"}},
		{100, true, []string{"", "f", "file", "file:", "FILE:///four", "http:///four", "file:///empty", "file:///more", "file:///nul", "file:///first nul", "file:///bytes", "file:///none", "file:///four#L2-3"}},
		{100, true, []string{"file:///a.png", "file:///b.pdf", "file:///a.PNG"}}, {100, false, []string{"file:///a.png", "file:///four"}}, {7, true, []string{"file:///a.png"}},
	} {
		l := &linkedTo{saved: c.saved, files: map[string]string{"file:///four": "four", "FILE:///four": "four", "file:///4": "4444", "file:///one": "1", "file:///empty": "", "file:///more": "more", "file:///nul": "a\x00", "file:///first nul": "\x00a", "file:///bytes": "\xff", "file:///a.png": "\x89PNG\x00\x01\x02\x03", "file:///a.PNG": "\x89PNG", "file:///b.pdf": "pdf"}}
		var links []*acp.ResourceLink
		for _, uri := range c.uris {
			links = append(links, &acp.ResourceLink{URI: uri})
		}
		w.line("limit %d, saved %v, %q", c.limit, c.saved, c.uris)
		for _, p := range linkedFiles(t.Context(), l, links, []string{"image"}, c.limit) {
			w.line("\t%s %q %s %q %q", p.Kind, p.Text, p.MediaType, p.Name, p.Data)
		}
		for _, asked := range l.asked {
			w.line("\tasked %s", asked)
		}
	}
	l := &linkedTo{files: map[string]string{}}
	var links []*acp.ResourceLink
	for i := range 60 {
		links = append(links, &acp.ResourceLink{URI: fmt.Sprint("file:///", i)})
		l.files[links[i].URI] = "x"
	}
	w.line("sixty files: %d", len(linkedFiles(t.Context(), l, links, nil, 1000)))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.line("in a turn that has ended: %d", len(linkedFiles(ended, l, links, nil, 1000)))
	w.compare("testdata/links.want")
}

// TestNotesOfCallsStay has a call whose content is replaced: who allowed it stays.
func TestNotesOfCallsStay(t *testing.T) {
	client := &noted{}
	d := deps.ACPDeps{Client: client, Tracker: deps.NewTracker(client, "s", nil)}
	note := deps.TextContent(view.AllowedBy + "configuration")
	require.NoError(t, d.Tracker.Start(t.Context(), acp.ToolCall{ToolCallID: "c", Title: "T", Content: []acp.ToolCallContent{
		deps.TextContent("preview"), note, {Diff: &acp.Diff{Path: "/a"}}, {Content: &acp.Content{}}, {Terminal: &acp.Terminal{}}, deps.TextContent("by " + view.AllowedBy),
	}}))
	a := &report{ACPDeps: d, id: "c", about: ws.Subject{Runs: true, Output: true}}
	require.Equal(t, []acp.ToolCallContent{note}, a.notes())
	a.showTerminal(t.Context(), "t")
	require.Equal(t, []acp.ToolCallContent{{Terminal: &acp.Terminal{TerminalID: "t"}}, note}, d.Tracker.Snapshot("c").Content)
	o := &growingOutput{begun: true}
	o.add([]byte("out\n"))
	a.showOutput(t.Context(), o)
	require.Equal(t, []acp.ToolCallContent{note, deps.TextContent("```text\nout\n")}, d.Tracker.Snapshot("c").Content)
	state, err := json.Marshal(ws.CommandState{Exit: &ws.Exit{}})
	require.NoError(t, err)
	u := a.completed(&toolset.Result{Text: "out\n[exit code 0]", Meta: state})
	require.Equal(t, []acp.ToolCallContent{note, deps.TextContent("```text\nout\n[exit code 0]\n```")}, u.Content)
}

// TestVariablesThatAreSetAgainCountOnce has variables by their names.
func TestVariablesThatAreSetAgainCountOnce(t *testing.T) {
	env := []string{"A=1", "B", "AB=2", "=x"}
	for name, want := range map[string]bool{"A": true, "B": true, "AB": true, "": true, "C": false, "a": false, "A=1": false} {
		require.Equal(t, want, setAgain(env, name), name)
	}
	require.False(t, setAgain(nil, ""))
}

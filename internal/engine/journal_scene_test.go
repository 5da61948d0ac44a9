// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// scene is a scripted run that uses all that a run can: calls in parallel and alone, retries, failures, approvals of every
// kind, media, typed output, validators, a processed history, an inner agent, instructions that change, messages that
// come in. The model answers by what it is asked alone, so that any process can go on.
type scene struct {
	agent *agent.Agent[*scene, city]
	inbox *agent.Inbox

	mu sync.Mutex
	// executed are the model requests, tool calls and so on that were made, by the names that records have.
	executed []string
}

type city struct {
	Name       string   `json:"name" validate:"required"`
	Population int      `json:"population" validate:"min=1"`
	Rivers     []string `json:"rivers,omitempty"`
}

type none struct{}

type number struct {
	N int `json:"n" validate:"max=100"`
}

func (s *scene) did(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.executed = append(s.executed, fmt.Sprintf(format, args...))
}

func toolName(run *toolset.RunContext[*scene]) string {
	name := fmt.Sprintf("tool/%d/%s", run.Step, run.Call.ID)
	if run.Call.Approved {
		name += "/approved"
	}
	return name
}

// tool makes a tool that says what it was called.
func (s *scene) tool(name string, fn func(ctx context.Context, run *toolset.RunContext[*scene], n int) (any, error), opts ...toolset.Option) *toolset.Tool[*scene] {
	return toolset.Func(name, name, func(ctx context.Context, run *toolset.RunContext[*scene], in number) (toolset.Result, error) {
		s.did("%s", toolName(run))
		value, err := fn(ctx, run, in.N)
		if res, ok := value.(toolset.Result); ok || err != nil {
			return res, err
		}
		return toolset.Result{Text: fmt.Sprint(value)}, nil
	}, opts...)
}

func newScene(t testing.TB, inbox *agent.Inbox) *scene {
	t.Helper()
	s := &scene{inbox: inbox}
	inner, err := agent.New(agent.Config[none, string]{
		Name: "inner",
		Model: model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			resp := model.Response(model.Text("the inner agent agrees"))
			if len(req.Messages) == 1 {
				resp = model.Response(model.ToolCall("i1", "think", `{}`))
			}
			s.did("inner/%d", len(req.Messages))
			resp.Usage = model.Usage{InputTokens: 100, OutputTokens: 1}
			return resp, nil
		}),
		Toolsets: []toolset.Toolset[none]{toolset.Of(toolset.Plain[none]("think", "", func(context.Context, none) (string, error) {
			s.did("inner/think")
			return "hm", nil
		}))},
	})
	require.NoError(t, err)
	tools := toolset.Of(
		s.tool("double", func(_ context.Context, _ *toolset.RunContext[*scene], n int) (any, error) {
			time.Sleep(time.Duration(n) * time.Millisecond / 4)
			return 2 * n, nil
		}),
		s.tool("flaky", func(_ context.Context, run *toolset.RunContext[*scene], n int) (any, error) {
			if run.Call.Attempt == 0 {
				return nil, toolset.Retry("again, with more than %d", n)
			}
			return "at last", nil
		}),
		s.tool("broken", func(context.Context, *toolset.RunContext[*scene], int) (any, error) {
			return nil, toolset.Failed("it is broken")
		}),
		s.tool("draw", func(context.Context, *toolset.RunContext[*scene], int) (any, error) {
			return toolset.Result{Text: "see below, not UTF-8: \xff", Meta: json.RawMessage(`{"dpi":72}`), Content: []model.Part{model.Media("image/png", []byte{0, 1, 2})}}, nil
		}),
		s.tool("asks", func(_ context.Context, run *toolset.RunContext[*scene], _ int) (any, error) {
			if !run.Call.Approved {
				return nil, toolset.ApprovalRequired(toolset.Approval{Reason: "better ask", Meta: json.RawMessage(`[1]`)})
			}
			return "as approved", nil
		}),
		s.tool("alone", func(context.Context, *toolset.RunContext[*scene], int) (any, error) { return "alone", nil }, toolset.Sequential()),
	)
	remove := s.tool("remove", func(_ context.Context, _ *toolset.RunContext[*scene], n int) (any, error) {
		return fmt.Sprint("removed ", n), nil
	})
	s.agent, err = agent.New(agent.Config[*scene, city]{
		Name:  "scene",
		Model: model.Func(model.Info{}, s.answer),
		Dynamic: []agent.InstructionFunc[*scene]{func(_ context.Context, run *toolset.RunContext[*scene]) (string, error) {
			return fmt.Sprintf("Phase %d.", run.Step/3), nil
		}},
		Toolsets: []toolset.Toolset[*scene]{
			tools,
			toolset.Of(agent.AsTool("inner", "", inner, func(*scene) none { return none{} })),
			toolset.Approved(toolset.Of(remove), func(_ context.Context, _ *toolset.RunContext[*scene], _ *toolset.Tool[*scene], args any) (*toolset.Approval, error) {
				if args.(*number).N == 0 {
					return nil, nil
				}
				return &toolset.Approval{Reason: "it cannot be undone", Scope: "all"}, nil
			}),
		},
		Asker:   toolset.AskerFuncs{OnApprove: s.approve},
		History: []agent.HistoryProcessor[*scene]{s.summarise},
		Validators: []agent.Validator[*scene, city]{func(_ context.Context, run *toolset.RunContext[*scene], out city) (city, error) {
			s.did("output/%d/%s", run.Step, run.Call.ID)
			if len(out.Rivers) == 0 {
				return out, toolset.Retry("there is a river")
			}
			out.Name = strings.ToUpper(out.Name)
			return out, nil
		}},
	})
	require.NoError(t, err)
	return s
}

func (s *scene) approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	if r.Invalid != "" {
		s.did("approve/%d/%s/1", r.Step, r.CallID())
		return toolset.AllowWith(json.RawMessage(`{"n":78}`)), nil
	}
	s.did("approve/%d/%s", r.Step, r.CallID())
	switch r.CallID() {
	case "deny":
		return toolset.Deny("it is needed"), nil
	case "edit":
		return toolset.AllowWith(json.RawMessage(`{"n":77}`)), nil
	case "bad edit":
		return toolset.AllowWith(json.RawMessage(`{"n":777}`)), nil
	}
	return toolset.Allow(), nil
}

// summarise replaces what the first step said, once, as if it had asked a model; otherwise it copies a message.
func (s *scene) summarise(_ context.Context, run *toolset.RunContext[*scene], messages []*model.Message) ([]*model.Message, error) {
	if run.Step == 2 {
		messages = slices.Clone(messages)
		messages[0] = messages[0].Clone() // for no reason
		return messages, nil
	}
	if run.Step != 5 {
		return messages, nil
	}
	s.did("history/%d", run.Step)
	run.Meter.Add(toolset.Usage{Requests: 1, Usage: model.Usage{InputTokens: 1000, OutputTokens: 10}})
	summary := model.UserText("Summary: numbers were doubled.")
	return append([]*model.Message{messages[0], summary}, messages[3:]...), nil
}

var stepOf = regexp.MustCompile(`^step (\d+)`)

func call(id, tool string, n int) model.Part {
	return model.ToolCall(id, tool, fmt.Sprintf(`{"n":%d}`, n))
}

func (s *scene) answer(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	step := 1
	for _, m := range req.Messages {
		if found := stepOf.FindStringSubmatch(m.Text()); m.Kind == model.KindResponse && found != nil {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				return nil, err
			}
			step = n + 1
		}
	}
	s.did("model/%d/", step)
	parts := []model.Part{model.Text(fmt.Sprintf("step %d", step))}
	switch step {
	case 1:
		parts = append([]model.Part{{Kind: model.PartThinking, Text: "hm", Provider: "p", Signature: []byte{7}}}, parts...)
		parts = append(parts, call("a", "double", 9), call("b", "double", 2), call("c", "double", 5), call("", "double", 101), call("e", "nothing", 1))
	case 2:
		parts = append(parts, call("a", "double", 3), call("f", "flaky", 1), call("b", "broken", 1), call("d", "draw", 1), call("q", "asks", 1))
	case 3:
		parts = append(parts, call("f", "flaky", 2), call("allow", "remove", 1), call("deny", "remove", 2), call("one", "alone", 1),
			call("edit", "remove", 3), call("free", "remove", 0), call("bad edit", "remove", 4))
	case 4:
		parts = append(parts, model.ToolCall("sub", "inner", `{"prompt":"think"}`), call("a", "double", 4))
	case 5:
		parts = append(parts, model.ToolCall("o", "final_result", `{"name":"Oslo","population":700000}`))
	case 6, 7:
		parts = append(parts, call("a", "double", 1), model.ToolCall("o", "final_result", `{"name":"Oslo","population":700000,"rivers":["Aker"]}`))
	default:
		return nil, fmt.Errorf("there is no step %d", step)
	}
	if sink != nil {
		for i := range parts {
			if err := sink(model.Delta{Part: i, Kind: parts[i].Kind, CallID: parts[i].CallID, Tool: parts[i].Tool, Text: parts[i].Text + string(parts[i].Args)}); err != nil {
				return nil, err
			}
		}
	}
	resp := model.Response(parts...)
	resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
	return resp, nil
}

func (s *scene) options(j journal.Journal, more ...agent.RunOption) []agent.RunOption {
	return append([]agent.RunOption{agent.WithJournal(j), agent.WithRunID("scene"), agent.WithConversationID("talk"), agent.WithInbox(s.inbox)}, more...)
}

const scenePrompt = "Tell me about Oslo."

func (s *scene) run(ctx context.Context, j journal.Journal, more ...agent.RunOption) (*agent.Result[city], error) {
	return s.agent.Run(ctx, s, scenePrompt, s.options(j, more...)...)
}

const urgent, atEnd = "By the way, be brief.", "And once more?"

// fill sends what comes in to an inbox, but for what a run has read already.
func fill(records []string) *agent.Inbox {
	var inbox agent.Inbox
	all := strings.Join(records, "\n")
	if !strings.Contains(all, urgent) {
		inbox.Send(model.User(urgent))
	}
	if !strings.Contains(all, atEnd) {
		inbox.SendAtEnd(model.User(atEnd))
	}
	return &inbox
}

// raw returns the records of a run that nobody holds.
func raw(t testing.TB, j journal.Journal, run string) []string {
	t.Helper()
	l, err := j.Open(context.Background(), run)
	require.NoError(t, err)
	defer l.Close()
	loaded, err := l.Load(context.Background())
	require.NoError(t, err)
	var records []string
	for _, r := range loaded {
		records = append(records, string(r))
	}
	return records
}

// names are what the records say was done, by the names of [scene.executed].
func names(t testing.TB, records []string) []string {
	t.Helper()
	var done []string
	for _, line := range records {
		var r struct {
			Op, Call string
			Step, N  int
			Approved bool
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		name := fmt.Sprintf("%s/%d/%s", r.Op, r.Step, r.Call)
		if r.Op == "history" {
			name = fmt.Sprintf("%s/%d", r.Op, r.Step)
		}
		if r.Approved {
			name += "/approved"
		}
		if r.N > 0 && r.Op == "approve" {
			name += fmt.Sprint("/", r.N)
		}
		done = append(done, name)
	}
	return done
}

// show shows all of a history but the times.
func show(t testing.TB, messages []*model.Message) string {
	t.Helper()
	var lines []string
	for _, m := range messages {
		c := *m
		require.False(t, c.Time.IsZero() && c.RunID != "")
		c.Time = time.Time{}
		data, err := json.Marshal(&c)
		require.NoError(t, err)
		lines = append(lines, string(data))
	}
	return strings.Join(lines, "\n")
}

// replaceInvalid makes texts comparable that JSON has made UTF-8 of.
func replaceInvalid(s string) string { return strings.ReplaceAll(s, `\ufffd`, "\ufffd") }

func newDir(t testing.TB) *journal.Dir {
	t.Helper()
	d, err := journal.NewDir(t.TempDir())
	require.NoError(t, err)
	return d
}

var errKilled = errors.New("killed")

// mortal is a journal that dies: the append after the first n fails, before or after it was written, and so do all later.
type mortal struct {
	journal.Journal
	mu      sync.Mutex
	left    int
	written bool
}

func (m *mortal) Open(ctx context.Context, run string) (journal.Log, error) {
	l, err := m.Journal.Open(ctx, run)
	return mortalLog{l, m}, err
}

type mortalLog struct {
	journal.Log
	m *mortal
}

func (l mortalLog) Append(ctx context.Context, record []byte) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.m.left--
	if l.m.left >= 0 {
		return l.Log.Append(ctx, record)
	}
	if l.m.left == -1 && l.m.written {
		if err := l.Log.Append(ctx, record); err != nil {
			return err
		}
	}
	return errKilled
}

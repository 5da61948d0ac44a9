// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func sortStrings(s []string) { slices.Sort(s) }

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// doing holds the arguments of most tools of the corpus: what the tool does, in words.
type doing struct {
	Do string `json:"do"`
}

// act does what a call says, word by word.
func (w *setting) act(ctx context.Context, run *toolset.RunContext[deps], in doing) (toolset.Result, error) {
	res := toolset.Result{Text: in.Do}
	w.pause(run.Call.ID)
	for _, word := range strings.Fields(in.Do) {
		word, arg, _ := strings.Cut(word, ":")
		switch word {
		case "sleep":
			n, _ := strconv.Atoi(arg)
			select {
			case <-time.After(time.Duration(n) * time.Millisecond):
			case <-ctx.Done():
				w.say("tool %s is cancelled: %v", run.Call.ID, context.Cause(ctx))
				return res, ctx.Err()
			}
		case "emit":
			run.Emit(arg)
		case "ask":
			reply, err := run.Ask(ctx, toolset.Question{Message: arg})
			if err != nil {
				return res, err
			}
			res.Text += " " + string(reply.Content)
		case "generate":
			resp, err := run.Generate(ctx, &model.Request{Instructions: arg})
			if err != nil {
				return res, err
			}
			res.Text += " " + resp.Text()
		case "retry":
			return res, toolset.Retry("try %s again", arg)
		case "fail":
			return res, toolset.Failed("%s failed", arg)
		case "deny":
			return res, toolset.Denied("%s denied", arg)
		case "error":
			return res, errBoom
		case "panic":
			panic(arg)
		case "approve": // of itself, with a basis
			if !run.Call.Approved {
				return res, toolset.ApprovalRequired(toolset.Approval{Reason: "now", Basis: arg})
			}
		case "again": // of what was approved already
			return res, toolset.ApprovalRequired(toolset.Approval{Reason: "again"})
		case "always": // asks for approval of something new each time
			w.bases++
			return res, toolset.ApprovalRequired(toolset.Approval{Reason: "once more", Basis: strconv.Itoa(w.bases)})
		case "defer":
			return res, toolset.Deferred(json.RawMessage(`{"ticket":1}`))
		case "badmeta":
			res.Meta = json.RawMessage(`{`)
		case "meta":
			res.Meta, res.Keep = json.RawMessage(`{"n":1}`), arg
		case "content":
			res.Content = append(res.Content, model.User(arg), model.Media("image/png", []byte("x")))
		case "cancel":
			w.cancel(errors.New("cancelled by " + arg))
		case "send":
			w.inbox.Send(model.User(arg))
		case "later":
			w.inbox.SendAtEnd(model.User(arg))
		case "pending":
			if r := run.Call.Resume; r != nil {
				return toolset.Result{Text: "resumed with " + plainJSON(r)}, nil
			}
			return res, toolset.Pending(json.RawMessage(`{"state":1}`), toolset.PendingCall{ID: "in", Tool: "x", Args: json.RawMessage(`{}`)}, toolset.PendingCall{ID: "out", Tool: "y", External: true, Args: json.RawMessage(`{}`)})
		}
	}
	call := run.Call
	call.Resume = nil
	w.say("tool %s did %q in step %d of %s: %s", run.Call.ID, in.Do, run.Step, run.RunID, plainJSON(call))
	return res, nil
}

// pause lets the calls of a batch end in the order of their ids, at different times.
func (w *setting) pause(id string) {
	at := 0
	for i, r := range id {
		at += int(r) * (i + 7) % 101
	}
	if id != "" && id[0] >= '0' && id[0] <= '9' {
		at = 10*int(id[0]-'0') + len(id) - 1
	}
	time.Sleep(time.Duration(at) * time.Millisecond)
}

// toolsOf returns the tools that the answers of a model name.
func (w *setting) toolsOf(answers []string, inner bool) []*toolset.Tool[deps] {
	check := toolset.Check(func(ctx context.Context, run *toolset.RunContext[deps], in doing) error {
		w.say("check of %s: %q, attempt %d", run.Call.ID, in.Do, run.Call.Attempt)
		if strings.Contains(in.Do, "costly") {
			if _, err := run.Generate(ctx, &model.Request{Instructions: "check"}); err != nil {
				return err
			}
		}
		switch {
		case strings.Contains(in.Do, "bad"):
			return toolset.Retry("%q is bad", in.Do)
		case strings.Contains(in.Do, "boom"):
			return errBoom
		case strings.Contains(in.Do, "forbidden"):
			return toolset.Denied("forbidden")
		}
		return nil
	})
	approve := toolset.Approve(func(ctx context.Context, run *toolset.RunContext[deps], in doing) (*toolset.Approval, error) {
		a := &toolset.Approval{Reason: "may I " + in.Do, Scope: "s"}
		if strings.Contains(in.Do, "costly") {
			if _, err := run.Generate(ctx, &model.Request{Instructions: "preview"}); err != nil {
				return nil, err
			}
		}
		switch {
		case strings.Contains(in.Do, "free"):
			a = nil
		case strings.Contains(in.Do, "shady"):
			return nil, errBoom
		case strings.Contains(in.Do, "moving"):
			w.mu.Lock()
			w.bases++
			a.Basis = strconv.Itoa(w.bases)
			w.mu.Unlock()
		case strings.Contains(in.Do, "based"):
			a.Basis = "b"
		}
		w.say("preview of %s: %q is %s", run.Call.ID, in.Do, plainJSON(a))
		return a, nil
	})
	all := []*toolset.Tool[deps]{
		toolset.Func("act", "", w.act),
		toolset.Func("twice", "", w.act, toolset.Retries(2)),
		toolset.Func("never", "", w.act, toolset.Retries(0)),
		toolset.Func("seq", "", w.act, toolset.Sequential()),
		toolset.Func("asks", "", w.act, approve, toolset.OfKind(toolset.KindDelete, "Asks first")),
		toolset.Func("idem", "", w.act, approve, toolset.Idempotent()),
		toolset.Func("seqasks", "", w.act, approve, toolset.Sequential()),
		toolset.Func("checks", "", w.act, check),
		toolset.Func("both", "", w.act, check, approve),
		toolset.Func("short", "", w.act, toolset.Timeout(15*time.Millisecond)),
		toolset.ExternalTool[deps, doing]("ext", ""),
		toolset.ExternalTool[deps, doing]("seqext", "", toolset.Sequential()),
		toolset.ExternalTool[deps, doing]("extasks", "", approve),
	}
	if !inner {
		if a, err := w.scene.innerAgent(w); err == nil {
			all = append(all, agent.AsTool("sub", "", a, sameDeps))
		}
	}
	named := namedTools(answers)
	return slices.DeleteFunc(all, func(tool *toolset.Tool[deps]) bool { return !named[tool.Def.Name] })
}

// namedTools returns the tools that answers name.
func namedTools(answers []string) map[string]bool {
	all := map[string]bool{}
	for _, a := range answers {
		for part := range strings.SplitSeq(a, " | ") {
			if fields := strings.Fields(part); len(fields) > 1 {
				all[fields[1]] = true
			}
		}
	}
	return all
}

func readLimits(t *testing.T, text string) (l agent.Limits) {
	for item := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(item, ":")
		n := atoi(t, value)
		switch key {
		case "requests":
			l.Requests = n
		case "calls":
			l.ToolCalls = n
		case "input":
			l.InputTokens = int64(n)
		case "output":
			l.OutputTokens = int64(n)
		case "total":
			l.TotalTokens = int64(n)
		case "cost":
			l.Cost = float64(n)
		default:
			require.Fail(t, "unknown limit", key)
		}
	}
	return l
}

// finish is the function of output tools: it does what a call says, as tools do.
func (w *setting) finish(name string) agent.Alternative[deps, string] {
	return agent.OutputFunc(name, "", func(ctx context.Context, run *toolset.RunContext[deps], in doing) (string, error) {
		res, err := w.act(ctx, run, in)
		return name + ": " + res.Text, err
	})
}

// agent makes the agent of a scene. The words of its configuration are
//
//	end, parallel, toolretries, outretries, norepair, nocut, filtered, limits, choice, instructions, dynamic, history, validate
//	out=text|final|two|both|over|overtext|textover|stay|media|mediatext|prompted|native
//	store=1|full|lost: see [scenesStore]
//	hooks, hooks2, policy, policy2, toolerror: see [setting.hooks] and [setting.policy]
//	info=native,noforced,unpriced   only=stream|here   parts=1 to tell of parts, too
func (s *scene) agent(w *setting) (*agent.Agent[deps, string], error) {
	c := s.config
	config := agent.Config[deps, string]{
		Name: "outer", Model: w.asModel("outer", &w.model, s.model), Tools: w.toolsOf(s.model, false),
		EndStrategy: agent.EndStrategy(c["end"]), Instructions: c["instructions"], NoRepair: c["norepair"] != "",
		Endings: agent.Endings{NoCut: c["nocut"] != "", Filtered: c["filtered"] != ""},
		Prices:  model.Prices{"acme/outer": {Input: 1e6, Output: 2e6}, "acme/inner": {Input: 1e6, Output: 2e6}},
	}
	if s.asker != nil {
		config.Asker = toolset.AskerFuncs{OnApprove: w.decide, OnAnswer: w.reply}
	}
	if c["parallel"] != "" {
		config.MaxParallelCalls, _ = strconv.Atoi(c["parallel"])
	}
	for key, at := range map[string]**int{"toolretries": &config.ToolRetries, "outretries": &config.OutputRetries} {
		if c[key] != "" {
			n, _ := strconv.Atoi(c[key])
			*at = &n
		}
	}
	if c["limits"] != "" {
		config.Limits = readLimits(&testing.T{}, c["limits"])
	}
	if choice := c["choice"]; choice != "" {
		if tool, ok := strings.CutPrefix(choice, "tool:"); ok {
			config.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceTool, Tool: tool}
		} else {
			config.ToolChoice.Mode = model.ToolChoiceMode(choice)
		}
	}
	if c["dynamic"] != "" {
		config.Dynamic = []agent.InstructionFunc[deps]{func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
			if c["dynamic"] == "error" && run.Step > 1 {
				return "", errBoom
			}
			return fmt.Sprintf("step %d, %d messages, %d requests", run.Step, len(run.Messages), run.Usage.Requests), nil
		}}
	}
	if c["history"] != "" {
		config.History = []agent.HistoryProcessor[deps]{w.processor(c["history"])}
	}
	if c["validate"] != "" {
		config.Validators = []agent.Validator[deps, string]{func(_ context.Context, run *toolset.RunContext[deps], out string) (string, error) {
			w.say("validate %q of call %q", out, run.Call.ID)
			switch {
			case strings.Contains(out, "wrong"):
				return out, toolset.Retry("%q is wrong", out)
			case strings.Contains(out, "awful"):
				return out, errBoom
			}
			return out + "!", nil
		}}
	}
	w.withDoors(&config)
	var over agent.Alternative[deps, string]
	if inner, err := s.innerAgent(w); err == nil {
		var opts []agent.HandOverOption
		if c["stay"] != "" {
			opts = append(opts, agent.Stay())
		}
		if c["pass"] != "" {
			opts = append(opts, agent.PassHistory(nil))
		}
		over = agent.HandOver("over", "", inner, sameDeps, opts...)
	}
	media := agent.Media(func(_ context.Context, _ *toolset.RunContext[deps], media []model.Part, text string) (string, error) {
		return fmt.Sprintf("%d media and %q", len(media), text), nil
	})
	type alternatives = []agent.Alternative[deps, string]
	switch c["out"] {
	case "final":
		config.Alternatives = alternatives{w.finish("final")}
	case "two":
		config.Alternatives = alternatives{w.finish("final"), w.finish("other")}
	case "both":
		config.Alternatives = alternatives{w.finish("final"), textOutput()}
	case "over":
		config.Alternatives = alternatives{over}
	case "overtext":
		config.Alternatives = alternatives{over, textOutput()}
	case "overfinal":
		config.Alternatives = alternatives{over, w.finish("final")}
	case "textover":
		config.Alternatives, config.Output.Mode = alternatives{over}, agent.OutputPrompted
	case "media":
		config.Alternatives = alternatives{media}
	case "mediafinal":
		config.Alternatives = alternatives{media, w.finish("final")}
	case "mediatext":
		config.Alternatives = alternatives{media, textOutput()}
	case "prompted":
		config.Alternatives, config.Output.Mode = alternatives{w.finish("final")}, agent.OutputPrompted
	case "native":
		config.Alternatives, config.Output.Mode = alternatives{w.finish("final")}, agent.OutputNative
	}
	return agent.New(config)
}

// innerAgent makes the agent inside. It can hand back by the output "back".
func (s *scene) innerAgent(w *setting) (*agent.Agent[deps, string], error) {
	config := agent.Config[deps, string]{
		Name: "inside", Model: w.asModel("inner", &w.inner, s.inner), Tools: w.toolsOf(s.inner, true),
		Alternatives: []agent.Alternative[deps, string]{agent.HandBack[deps, string]("back", ""), textOutput()},
	}
	return agent.New(config)
}

// processor is a history processor.
func (w *setting) processor(what string) agent.HistoryProcessor[deps] {
	return func(ctx context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		run.Emit(what)
		if what == "costly" {
			if _, err := run.Generate(ctx, &model.Request{Instructions: "summarise"}); err != nil {
				return nil, err
			}
		}
		w.say("history of step %d has %d messages", run.Step, len(messages))
		if run.Step == 1 {
			return messages, nil
		}
		switch what {
		case "last":
			return messages[len(messages)-1:], nil
		case "copy":
			return slices.Clone(messages), nil
		case "calls":
			return messages[len(messages)-2 : len(messages)-1], nil
		case "none":
			return nil, nil
		case "nil":
			return []*model.Message{nil, messages[len(messages)-1]}, nil
		case "kind":
			return []*model.Message{{Kind: "other"}, messages[len(messages)-1]}, nil
		case "error":
			return nil, errBoom
		case "summary":
			return []*model.Message{model.UserText("summary"), messages[len(messages)-1]}, nil
		case "new":
			return []*model.Message{model.UserText("only this")}, nil
		}
		return messages, nil
	}
}

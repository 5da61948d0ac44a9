// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// doingAt reads words such as "input:error,call:retry": what is done at a place.
func doingAt(words string) map[string]string {
	does := map[string]string{}
	for item := range strings.SplitSeq(words, ",") {
		at, what, _ := strings.Cut(item, ":")
		does[at] = what
	}
	return does
}

// outcomeOf is the error that a word stands for, or nil.
func outcomeOf(word string) error {
	switch strings.TrimPrefix(word, "late") {
	case "error":
		return errBoom
	case "retry":
		return toolset.Retry("once more")
	case "fail":
		return toolset.Failed("no luck")
	case "deny":
		return toolset.Denied("forbidden")
	case "approve":
		return toolset.ApprovalRequired(toolset.Approval{Reason: "the door wants it"})
	case "defer":
		return toolset.Deferred(nil)
	case "panic":
		panic("ouch")
	}
	return nil
}

// hooks are hooks that note what passes and do what words say: before what they wrap, or after it if a word begins with "late".
// The words "change", "skip" and "twice" change what passes, do not let it pass, and let it pass again.
func (w *setting) hooks(owner, words string) agent.Hooks[deps] {
	does := doingAt(words)
	early := func(at, about string) error {
		w.say("%s of %s: %s", at, owner, about)
		if strings.HasPrefix(does[at], "late") {
			return nil
		}
		return outcomeOf(does[at])
	}
	late := func(at, about string, err error) error {
		w.say("%s of %s is back: %s, %v", at, owner, about, err)
		if strings.HasPrefix(does[at], "late") {
			return outcomeOf(does[at])
		}
		return err
	}
	return agent.Hooks[deps]{
		Run: func(ctx context.Context, run *toolset.RunContext[deps], next agent.RunFunc) error {
			if err := early("run", run.Agent); err != nil || does["run"] == "skip" {
				return err
			}
			summary, err := next(ctx)
			if does["run"] == "twice" {
				_, err = next(ctx)
			}
			if does["run"] == "hide" {
				return late("run", "", nil)
			}
			return late("run", fmt.Sprintf("%v of %s, %d messages, %d requests", summary.Output, summary.RunID, len(summary.Messages), summary.Usage.Requests), err)
		},
		Input: func(_ context.Context, _ *toolset.RunContext[deps], parts []model.Part) ([]model.Part, error) {
			if err := early("input", fmt.Sprint(parts[0].Text)); err != nil {
				return nil, err
			}
			switch does["input"] {
			case "change":
				parts = append(parts, model.User("and "+owner))
			case "skip":
				parts = nil
			}
			return parts, late("input", "", nil)
		},
		Approval: func(_ context.Context, run *toolset.RunContext[deps], a *toolset.Approval) (*toolset.Approval, error) {
			if err := early("approval", fmt.Sprintf("%s %s", run.Call.ID, plainJSON(a))); err != nil {
				return a, err
			}
			switch does["approval"] {
			case "change":
				a = &toolset.Approval{Reason: "by " + owner}
			case "skip":
				a = nil
			}
			return a, late("approval", "", nil)
		},
		Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			if err := early("request", fmt.Sprintf("step %d with %d messages", run.Step, len(req.Messages))); err != nil {
				return nil, err
			}
			switch does["request"] {
			case "skip":
				return model.Response(model.Text("from " + owner)), nil
			case "nothing":
				return nil, nil
			}
			resp, err := next(ctx, req)
			if err == nil && does["request"] == "change" && !resp.HasToolCalls() {
				resp = model.Response(append(resp.Parts, model.Text(" by "+owner))...)
			}
			about := ""
			if resp != nil {
				about = resp.Text()
			}
			return resp, late("request", about, err)
		},
		Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
			time.Sleep(time.Duration(run.Call.ID[0]-'0')*time.Millisecond + time.Microsecond) // hooks of calls that begin together follow one another
			if err := early("call", fmt.Sprintf("%s with %v", run.Call.ID, plainJSON(args))); err != nil {
				return toolset.Result{}, err
			}
			switch does["call"] {
			case "skip":
				return toolset.Result{Text: "from " + owner}, nil
			case "change":
				args = &doing{Do: "by " + owner}
			}
			res, err := next(ctx, args)
			return res, late("call", res.Text, err)
		},
	}
}

// policy is a policy whose doors are such hooks. It has further words: output, made and approvals say what it does there; whole, and limits
// such as requests:2, say what it bounds.
func (w *setting) policy(name, words string) *agent.Policy {
	does := doingAt(words)
	c := agent.PolicyConfig[deps]{Name: name, Doors: w.hooks("policy "+name, words)}
	c.Output = func(_ context.Context, run *toolset.RunContext[deps], output any) (any, error) {
		w.say("output of policy %s: %v of call %q", name, output, run.Call.ID)
		if does["output"] == "change" {
			output = fmt.Sprint(output, " by ", name)
		}
		if strings.Contains(fmt.Sprint(output), "fine") {
			return output, nil
		}
		return output, outcomeOf(does["output"])
	}
	if does["made"] != "" {
		c.Made = func(_ context.Context, run *toolset.RunContext[deps], resp *model.Message) (*model.Message, error) {
			w.say("made of policy %s: %q in step %d", name, resp.Text(), run.Step)
			if does["made"] == "change" {
				resp = model.Response(model.Text("made by " + name))
			}
			return resp, outcomeOf(does["made"])
		}
	}
	if said := does["approvals"]; said != "" {
		c.Approvals = func(next toolset.Asker) toolset.Asker {
			return toolset.AskerFuncs{OnAnswer: next.Answer, OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
				w.say("approvals of policy %s: %s of %s says %s", name, r.Tool, r.Agent, said)
				switch said {
				case "allow":
					return toolset.Decision{Verdict: toolset.VerdictAllow, By: name}, nil
				case "deny":
					return toolset.Decision{Verdict: toolset.VerdictDeny, By: name}, nil
				case "error":
					return toolset.Decision{}, errBoom
				}
				return next.Approve(ctx, r)
			}}
		}
	}
	_, c.Whole = does["whole"]
	for _, limit := range []string{"requests", "calls", "total", "cost"} {
		if n := does[limit]; n != "" {
			var value int
			_, _ = fmt.Sscan(n, &value)
			switch limit {
			case "requests":
				c.Limits.Requests = value
			case "calls":
				c.Limits.ToolCalls = value
			case "total":
				c.Limits.TotalTokens = int64(value)
			case "cost":
				c.Limits.Cost = float64(value)
			}
		}
	}
	if does["check"] != "" {
		c.Check = func() error { return errors.New("the policy is wrong") }
	}
	return agent.NewPolicy(c)
}

// withDoors adds the hooks and policies of a scene to a configuration.
func (w *setting) withDoors(config *agent.Config[deps, string]) {
	c := w.scene.config
	for _, key := range []string{"hooks", "hooks2"} {
		if c[key] != "" {
			config.Hooks = append(config.Hooks, w.hooks(key, c[key]))
		}
	}
	for _, key := range []string{"policy", "policy2"} {
		if c[key] != "" {
			config.Policies = append(config.Policies, w.policy(key, c[key]))
		}
	}
	if what := c["toolerror"]; what != "" {
		config.ToolError = func(_ context.Context, run *toolset.RunContext[deps], err error) error {
			w.say("error of tool %s: %v", run.Call.ID, err)
			return outcomeOf(what)
		}
	}
}

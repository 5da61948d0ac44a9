// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// in has the arguments of the tools.
type in struct {
	To string `json:"to"`
}

// background is the end of prompts for which an agent works in the background.
const background = "b"

// newAgent returns an agent that for a prompt NAME marks what needs an approval, asks a question,
// has another agent mark something, and says "NAME done". If the prompt ends in [background],
// another agent marks things meanwhile, for one of which it needs an approval.
func newAgent(marks string) *agent.Agent[deps.ACPDeps, string] {
	mark := func(_ context.Context, rc *toolset.RunContext[deps.ACPDeps], in in) (string, error) {
		return "marked " + in.To, mark(marks, in.To, rc.IdempotencyKey())
	}
	approve := toolset.Approve(func(
		_ context.Context, _ *toolset.RunContext[deps.ACPDeps], in in,
	) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Mark " + in.To}, nil
	})
	ask := func(ctx context.Context, rc *toolset.RunContext[deps.ACPDeps], _ in) (string, error) {
		schema := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)
		r, err := rc.Ask(ctx, toolset.Question{Message: "Whom?", Schema: schema})
		if errors.Is(err, toolset.ErrNobody) {
			return "nobody", nil
		}
		return string(r.Action), err
	}
	inner := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Name: "helper", Model: steps("mark"), Tools: []*toolset.Tool[deps.ACPDeps]{
			toolset.Func("mark", "Mark.", mark),
		},
	}))
	same := func(d deps.ACPDeps) deps.ACPDeps { return d }
	behind := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Name: "behind", Model: steps("mark", "approved"), Tools: []*toolset.Tool[deps.ACPDeps]{
			toolset.Func("mark", "Mark.", mark),
			toolset.Func("approved", "Mark with an approval.", mark, approve),
		},
	}))
	return agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Name: "fleet", Model: steps("approved", "ask", "help"), Tools: []*toolset.Tool[deps.ACPDeps]{
			toolset.Func("approved", "Mark with an approval.", mark, approve),
			toolset.Func("ask", "Ask.", ask),
			agent.AsTool("help", "Have it marked.", inner, same),
		},
		Capabilities: []agent.Capability[deps.ACPDeps]{subagents.New(subagents.Options[deps.ACPDeps]{
			Agents: []subagents.Agent[deps.ACPDeps]{
				subagents.Of("behind", "Works in the background.", behind, same),
			},
		})},
	}))
}

// steps is a model that calls tools one after the other, and then ends.
func steps(usual ...string) model.Model {
	behind := slices.Concat([]string{"delegate"}, usual, []string{"wait_for_agents"})
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		name, n := "", 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				switch {
				case p.Kind == model.PartUser:
					name, n = p.Text, 0
				case p.Kind == model.PartToolReturn || p.Kind == model.PartRetry:
					n++
				}
			}
		}
		tools := usual
		if strings.HasSuffix(name, background) {
			tools = behind
		}
		if n >= len(tools) {
			return model.Response(model.Text(name + " done")), nil
		}
		args := map[string]any{"to": name + "-" + tools[n]}
		switch tools[n] {
		case "help":
			args = map[string]any{"prompt": name + "-help"}
		case "delegate":
			args = map[string]any{"agent": "behind", "task": name + "-behind", "background": true}
		case "wait_for_agents":
			args = map[string]any{}
		}
		data, err := json.Marshal(args)
		return model.Response(model.ToolCall(fmt.Sprint("c", n), tools[n], string(data))), err
	})
}

// mark notes in a file what was done under a key.
func mark(file, what, key string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s\n", what, key)
	return errors.Join(err, f.Close())
}

// readMarks returns the keys under which each mark was made.
func readMarks(name string) (map[string]map[string]bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	marks := map[string]map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		what, key, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			continue // it was cut off
		}
		if marks[what] == nil {
			marks[what] = map[string]bool{}
		}
		marks[what][key] = true
	}
	return marks, lines.Err()
}

// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

type target struct {
	Arg string `json:"arg"`
}

var (
	randomPaths    = []string{"/repo/a", "/repo/docs/a", "/repo/docs/b/c", "/repo/src/a.go", "/repo/src/.env", "/repo/.env", "/etc/motd"}
	randomCommands = []string{"go test ./a", "go test ./b -v", "go test ./a | tail -5", "tail a", "git push", "git push --force", "make x=y", "ls && git push", "rm -rf a", "go vet ./a && go test ./a"}
	randomPatterns = []string{"docs/**", "src/**", "**/.env", "a", "/etc/**"}
	randomWords    = []string{"go test", "tail", "git push", "rm", "go vet"}
)

// world is a run's policies and what happens under them. What is expected of them is found out without the package's own code.
type world struct {
	r         *rand.Rand
	forbidden map[string]bool
	config    approval.Config
	layer     approval.Layer
	always    map[string]toolset.Verdict // by tool and scope
	calls     int
	expected  toolset.Verdict // of the call at hand: allow, deny, or ask
	answer    toolset.Verdict // of the person
	asked     bool
	ran       bool
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func newWorld(r *rand.Rand) *world {
	w := &world{r: r, forbidden: map[string]bool{}, always: map[string]toolset.Verdict{}}
	for range r.IntN(3) {
		w.forbidden[pick(r, slices.Concat(randomPaths, randomCommands))] = true
	}
	return w
}

// reconfigure makes another configuration, as a user does while a session goes on.
func (w *world) reconfigure(t *testing.T) {
	t.Helper()
	r := w.r
	w.config = approval.Config{}
	w.config.Mode = pick(r, []approval.Mode{"", approval.ModeAsk, approval.ModeAsk, approval.ModeAuto, approval.ModeReadOnly})
	for range r.IntN(5) {
		rule := approval.ConfigRule{Decision: pick(r, []toolset.Verdict{toolset.VerdictAllow, toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk})}
		switch r.IntN(3) {
		case 0:
			rule.Path = pick(r, randomPatterns)
		case 1:
			rule.Command = pick(r, randomWords)
		case 2:
			rule.Tool = pick(r, []string{"write", "run", "r*"})
		}
		w.config.Rules = append(w.config.Rules, rule)
	}
	var err error
	w.layer, err = w.config.Layer("/repo")
	require.NoError(t, err)
}

// expect works out what the layers have to say about a call.
func (w *world) expect(tool, arg string, scopes []string) toolset.Verdict {
	decisions, doubt := map[toolset.Verdict]bool{}, false
	allowed := map[string]bool{}
	for _, rule := range w.config.Rules {
		fits := rule.Tool == tool || rule.Tool == "r*" && tool == "run"
		if rule.Path != "" && tool == "write" {
			rel, inside := strings.CutPrefix(arg, "/repo/")
			switch rule.Path {
			case "docs/**", "src/**":
				fits = inside && strings.HasPrefix(rel, rule.Path[:4][:strings.Index(rule.Path, "/")]+"/")
			case "**/.env":
				fits = inside && strings.HasSuffix("/"+rel, "/.env")
			case "a":
				fits = rel == "a"
			case "/etc/**":
				fits = strings.HasPrefix(arg, "/etc/")
			}
		}
		if rule.Command != "" && tool == "run" {
			if rule.Decision == toolset.VerdictAllow {
				allowed[rule.Command] = true
				fits = arg == rule.Command
			} else {
				fits = strings.Contains(" "+arg+" ", " "+rule.Command+" ")
			}
		}
		if rule.Path != "" && arg == "rm -rf a" { // which removes a, and whatever is below it
			switch {
			case rule.Decision == toolset.VerdictAllow:
			case rule.Path == "a":
				fits = true
			case rule.Path == "**/.env":
				doubt = true
			}
		}
		if fits {
			decisions[rule.Decision] = true
		}
	}
	if tool == "run" && !slices.ContainsFunc(scopes, func(s string) bool { return !allowed[s] }) {
		decisions[toolset.VerdictAllow] = true
	}
	denied, remembered := false, true
	for _, s := range scopes {
		denied = denied || w.always[tool+s] == toolset.VerdictDeny
		remembered = remembered && w.always[tool+s] == toolset.VerdictAllow
	}
	if whole := w.always[tool+arg]; whole != "" { // a line with several parts that was denied as a whole
		denied = denied || whole == toolset.VerdictDeny
	}
	switch {
	case w.forbidden[arg], decisions[toolset.VerdictDeny], denied:
		return toolset.VerdictDeny
	case doubt && w.config.Mode == approval.ModeReadOnly && !decisions[toolset.VerdictAllow] && !decisions[approval.VerdictAsk]:
		return toolset.VerdictDeny
	case decisions[approval.VerdictAsk], doubt:
		return approval.VerdictAsk
	case decisions[toolset.VerdictAllow]:
		return toolset.VerdictAllow
	case w.config.Mode == approval.ModeReadOnly:
		return toolset.VerdictDeny
	case w.config.Mode == approval.ModeAuto, remembered:
		return toolset.VerdictAllow
	}
	return approval.VerdictAsk
}

// approval is what the tools show of a call.
func (w *world) approval(tool, arg string) *toolset.Approval {
	if tool == "write" {
		return &toolset.Approval{Scope: arg, Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: arg, New: new("x")}}}}
	}
	inside := func(path string) bool { return path == "/repo" || strings.HasPrefix(path, "/repo/") }
	s := command.ScopeOf(command.Command{Line: arg, Dir: "/repo"}, command.Place{Roots: []string{"/repo"}, Inside: inside})
	return &toolset.Approval{
		Scope: s.Scope, Covers: s.Covers, Parts: s.Parts, Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: arg, Dir: "/repo"}}},
	}
}

// scopesOf are the scopes that have to be allowed.
func scopesOf(a *toolset.Approval) []string {
	if len(a.Parts) > 0 {
		return a.Parts
	}
	return []string{a.Scope}
}

// person answers at random, and remembers for the oracle what it has answered with always.
func (w *world) person(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	w.asked = true
	d := toolset.Decision{Verdict: pick(w.r, []toolset.Verdict{toolset.VerdictAllow, toolset.VerdictDeny}), By: "person", Always: w.r.IntN(3) == 0}
	w.answer = d.Verdict
	if d.Always {
		arg := r.Approval.Preview[0]
		switch {
		case r.Once && d.Verdict == toolset.VerdictAllow:
		case d.Verdict == toolset.VerdictDeny && len(r.Approval.Parts) > 0:
			w.always[r.Tool+arg.Command.Line] = d.Verdict
		default:
			for _, s := range scopesOf(&r.Approval) {
				if w.always[r.Tool+s] != toolset.VerdictDeny {
					w.always[r.Tool+s] = d.Verdict
				}
			}
		}
	}
	return d, nil
}

// Under random policies of all layers, nothing is written and nothing is run without permission, what is permitted is done, and
// nobody is asked in vain.
func TestRandomPoliciesPermitNothingElse(t *testing.T) {
	const wanted, each = 10_000, 40
	r := rand.New(rand.NewPCG(7, 11))
	calls, ran, asked := 0, 0, 0
	for calls < wanted {
		w := newWorld(r)
		calls += w.run(t, each, func(tool, arg string) {
			permitted := w.expected == toolset.VerdictAllow || w.expected == approval.VerdictAsk && w.answer == toolset.VerdictAllow
			require.Equal(t, permitted, w.ran, "%s %s: %s %s under %+v forbidden %v always %v", tool, arg, w.expected, w.answer, w.config, w.forbidden, w.always)
			require.Equal(t, w.expected == approval.VerdictAsk, w.asked, "%s %s under %+v %v", tool, arg, w.config, w.always)
			if w.ran {
				ran++
			}
			if w.asked {
				asked++
			}
		})
	}
	require.Greater(t, ran, wanted/10)
	require.Greater(t, asked, wanted/10)
}

func (w *world) run(t *testing.T, calls int, check func(tool, arg string)) int {
	t.Helper()
	made := func(name string) *toolset.Tool[struct{}] {
		return toolset.Plain[struct{}](name, "", func(context.Context, target) (string, error) {
			w.ran = true
			return "done", nil
		}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[struct{}], in target) (*toolset.Approval, error) {
			return w.approval(name, in.Arg), nil
		}))
	}
	var tool, arg string
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		if w.calls > 0 {
			check(tool, arg)
		}
		if w.calls == calls {
			return model.Response(model.Text("done")), nil
		}
		if w.calls%10 == 0 {
			w.reconfigure(t)
		}
		w.calls++
		if tool, arg = "write", pick(w.r, randomPaths); w.r.IntN(2) == 0 {
			tool, arg = "run", pick(w.r, randomCommands)
		}
		w.ran, w.asked, w.answer = false, false, ""
		w.expected = w.expect(tool, arg, scopesOf(w.approval(tool, arg)))
		return model.Response(model.ToolCall(fmt.Sprint(w.calls), tool, fmt.Sprintf(`{"arg":%q}`, arg))), nil
	})
	forbids := approval.Layer{Name: "program", Decide: func(_ context.Context, r *toolset.ApprovalRequest) (approval.Ruling, error) {
		for arg := range w.forbidden {
			if strings.Contains(string(r.Args), fmt.Sprintf(":%q", arg)) {
				return approval.Ruling{Verdict: toolset.VerdictDeny, Rule: arg}, nil
			}
		}
		return approval.Ruling{}, nil
	}}
	configuration := approval.Layer{Name: "configuration", Decide: func(ctx context.Context, r *toolset.ApprovalRequest) (approval.Ruling, error) {
		return w.layer.Decide(ctx, r)
	}}
	asker := approval.Layered(approval.Remember(new(approval.Policy), toolset.AskerFuncs{OnApprove: w.person}), forbids, configuration)
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: m, Tools: []*toolset.Tool[struct{}]{made("write"), made("run")}, Limits: agent.Limits{Requests: calls + 1}}))
	_, err := a.Run(t.Context(), struct{}{}, "go", agent.WithAsker(asker))
	var limit *toolset.LimitError
	require.False(t, errors.As(err, &limit))
	require.NoError(t, err)
	return w.calls
}

// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

var errLayer = errors.New("boom")

// rulingOf is the ruling that a word stands for.
func rulingOf(word string) (r approval.Ruling, err error) {
	switch word {
	case "error":
		return approval.Ruling{Verdict: toolset.VerdictDeny}, errLayer
	case "yields":
		return approval.Ruling{Verdict: toolset.VerdictAllow, Yields: true, Rule: "yielding"}, nil
	case "reason":
		return approval.Ruling{Verdict: toolset.VerdictDeny, Reason: "because"}, nil
	case "none":
		word = ""
	case "allow", "deny", "ask":
		r.Rule = "r " + word
	}
	r.Verdict = toolset.Verdict(word)
	return r, nil
}

func layerOf(name, word string) approval.Layer {
	return approval.Layer{Name: name, Decide: func(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error) { return rulingOf(word) }}
}

func toldDecision(d toolset.Decision, err error) string {
	if err != nil {
		return fmt.Sprintf("error %v %s", err, plain(d))
	}
	return plain(d)
}

// TestLayersInATable: what two layers before each kind of asker decide, and what a person is asked.
func TestLayersInATable(t *testing.T) {
	words := []string{"none", "defer", "allow", "yields", "ask", "deny", "reason", "error", "maybe"}
	var b strings.Builder
	numbers, order := map[string]int{}, []string{}
	for _, inner := range []string{"person", "remembers allow", "remembers deny", "layered ask", "layered deny", "layered yields", "layered error", "logged ask", "logged deny", "logged person", "remembering layered ask", "remembering layered deny", "nobody"} {
		for _, once := range []bool{false, true} {
			fmt.Fprintf(&b, "# %s, once %v: rows are the first layer, columns the second one\n%12s", inner, once, "")
			for _, w := range words {
				fmt.Fprintf(&b, "%7s", w)
			}
			b.WriteString("\n")
			for _, first := range words {
				fmt.Fprintf(&b, "%12s", first)
				for _, second := range words {
					text := layered(t, inner, once, first, second)
					if numbers[text] == 0 {
						order = append(order, text)
						numbers[text] = len(order)
					}
					fmt.Fprintf(&b, "%7d", numbers[text])
				}
				b.WriteString("\n")
			}
		}
	}
	for i, text := range order {
		fmt.Fprintf(&b, "%d: %s\n", i+1, text)
	}
	compareTable(t, "testdata/layers.txt", b.String())
}

func layered(t *testing.T, inner string, once bool, first, second string) string {
	asked := "; not asked"
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = fmt.Sprintf("; asked, once %v", r.Once)
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: "ada", Always: true}, nil
	}}
	kind, what, _ := strings.Cut(inner, " ")
	var policy approval.Policy
	var asker toolset.Asker = person
	log := slog.New(slog.DiscardHandler)
	switch kind {
	case "nobody":
		asker = nil
	case "remembers":
		policy.Remember("run", "s", toolset.Verdict(what))
		asker = approval.Remember(&policy, person)
	case "layered":
		asker = approval.Layered(person, layerOf("inner", what))
	case "logged":
		if asker = approval.Logged(person, log); what != "person" {
			asker = approval.Logged(approval.Layered(person, layerOf("inner", what)), log)
		}
	case "remembering":
		asker = approval.Remember(&policy, approval.Layered(person, layerOf("inner", strings.TrimPrefix(what, "layered "))))
	}
	r := request("s")
	r.Once = once
	d, err := approval.Layered(asker, layerOf("one", first), layerOf("two", second)).Approve(t.Context(), r)
	return toldDecision(d, err) + asked + fmt.Sprint("; ", policy.Rules())
}

// TestPoliciesInATable: what rules decide about approvals, and what rules decisions make.
func TestPoliciesInATable(t *testing.T) {
	approvals := map[string]*toolset.Approval{}
	var names []string
	add := func(name string, a toolset.Approval) { names, approvals[name] = append(names, name), &a }
	add("nothing", toolset.Approval{})
	add("a scope", toolset.Approval{Scope: "x"})
	add("covers", toolset.Approval{Scope: "z", Covers: []string{"x", "y"}})
	add("parts", toolset.Approval{Scope: "z", Parts: []string{"x", "y"}})
	add("parts twice", toolset.Approval{Scope: "z", Parts: []string{"x", "x"}})
	add("of a server", toolset.Approval{Scope: "x", Source: "mcp:s"})
	add("once", toolset.Approval{Scope: "x", Once: true})
	protected := wrote("/repo/.git/config")
	protected.Scope, protected.Wider = "x", []toolset.WiderScope{{Scope: "w"}}
	add("protected", protected)
	add("wider", toolset.Approval{Scope: "x", Wider: []toolset.WiderScope{{Scope: "w"}, {Scope: ""}}})
	add("wider of a server", toolset.Approval{Scope: "x", Source: "mcp:s", Wider: []toolset.WiderScope{{Scope: "w"}}})
	var b strings.Builder
	ruleSets := [][]approval.Rule{nil}
	for _, v := range []toolset.Verdict{toolset.VerdictAllow, toolset.VerdictDeny} {
		for _, scopes := range [][]string{{""}, {"x"}, {"y"}, {"x", "y"}, {"z"}, {"w"}} {
			for _, source := range []string{"", "mcp:s"} {
				var rules []approval.Rule
				for _, s := range scopes {
					rules = append(rules, approval.Rule{Tool: "run", Source: source, Scope: s, Verdict: v})
				}
				ruleSets = append(ruleSets, rules)
			}
		}
	}
	ruleSets = append(ruleSets,
		[]approval.Rule{{Tool: "run", Scope: "x", Verdict: toolset.VerdictAllow}, {Tool: "run", Scope: "y", Verdict: toolset.VerdictDeny}},
		[]approval.Rule{{Tool: "run", Verdict: toolset.VerdictDeny}, {Tool: "run", Scope: "x", Verdict: toolset.VerdictAllow}},
		[]approval.Rule{{Tool: "other", Verdict: toolset.VerdictAllow}})
	for _, rules := range ruleSets {
		data, err := json.Marshal(map[string]any{"version": 1, "rules": append([]approval.Rule{}, rules...)})
		require.NoError(t, err)
		var p approval.Policy
		require.NoError(t, p.UnmarshalJSON(data))
		fmt.Fprintf(&b, "%v:", rules)
		for _, name := range names {
			kept, err := approval.Kept(&keeper{rules}).Decide(t.Context(), &toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run"}, Approval: *approvals[name]})
			require.NoError(t, err)
			fmt.Fprintf(&b, " %s %s", name, p.DecideApproval("run", approvals[name]))
			if kept.Verdict != "" {
				fmt.Fprintf(&b, " (kept: %s %q %q)", kept.Verdict, kept.Rule, kept.Reason)
			}
			b.WriteString(";")
		}
		b.WriteString("\n")
	}
	for _, name := range names {
		for _, d := range []toolset.Decision{
			{Verdict: toolset.VerdictAllow}, {Verdict: toolset.VerdictAllow, Always: true}, {Verdict: toolset.VerdictDeny, Always: true}, {Verdict: toolset.VerdictDefer, Always: true}, {Verdict: toolset.VerdictAllow, Always: true, Lasting: true},
			{Verdict: toolset.VerdictAllow, Always: true, Scope: "w"}, {Verdict: toolset.VerdictDeny, Always: true, Scope: "w"}, {Verdict: toolset.VerdictAllow, Always: true, Scope: "v"}, {Verdict: toolset.VerdictAllow, Always: true, Args: []byte("{}")},
		} {
			var p approval.Policy
			p.RememberDecision("run", approvals[name], d)
			fmt.Fprintf(&b, "%s, %s: %v, for the project %v", name, plain(d), p.Rules(), approval.RulesOf("run", approvals[name], d))
			for _, once := range []bool{false, true} {
				var q approval.Policy
				asked := 0
				asker := approval.Remember(&q, toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
					if asked++; r.Once != once {
						fmt.Fprintf(&b, " told once %v", r.Once)
					}
					return d, nil
				}})
				r := toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run"}, Approval: *approvals[name], Once: once}
				_, err := asker.Approve(t.Context(), r)
				require.NoError(t, err)
				again, err := asker.Approve(t.Context(), r)
				fmt.Fprintf(&b, "; once %v: %v, asked %d times, then %s", once, q.Rules(), asked, toldDecision(again, err))
			}
			b.WriteString("\n")
		}
		for _, remembers := range []bool{false, true} {
			for _, lasting := range []bool{false, true} {
				fmt.Fprintf(&b, "choices of %s, remembers %v, lasting %v: %s\n", name, remembers, lasting, plain(approval.Choices(&toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run"}, Approval: *approvals[name], Lasting: lasting}, remembers)))
			}
		}
	}
	compareTable(t, "testdata/policies.txt", b.String())
}

// TestMistakesAreFound: what is wrong with texts of configurations, and where.
func TestMistakesAreFound(t *testing.T) {
	var b strings.Builder
	for _, text := range []string{
		``, `x`, `[]`, `"a"`, `{}`, `{} x`, `{"mode":1}`, `{"mode":"x"}`, `{"modes":"ask"}`, `{"mode":"ask","mode":"auto"}`, `{"rules":{}}`, `{"rules":null}`, `{"rules":[1]}`, `{"rules":[]}`, "{\n \"rules\": [\n  {},\n  {\"decision\": \"no\", \"tool\": \"t\"}]}",
		`{"rules":[{"decision":"allow","tool":"a"},{"decision":"deny","tools":"a"}]}`, `{"rules":[{"decision":1,"tool":2,"server":3,"path":4,"read":5,"command":6,"dir":7,"host":8,"sandbox":9,"reason":true}]}`, `{"rules":[null,[],"x"]}`,
		`{"rules":[{"decision":"deny","path":"a["}],"mode":"x"}`, `{"rules":[{"decision":"deny","host":"a:b","reason":"r"},{"decision":"deny","read":"~","tool":"t"}]}`, `{"rules":[{"decision":"deny","command":"git *"}]}`, `{"rules":[{"decision":"allow","command":"a","dir":"b/"}]}`, `{"rules":[{"decision":"allow","sandbox":"outside"}]}`,
		`{"` + strings.Repeat("x", 64) + `":1}`, `{"` + strings.Repeat("x", 65) + `":1}`, `{"a\"b":1}`, "{\"\u202e\":1}", `{"rules":[{"decison":"allow","tool":"a"}]}`,
	} {
		c, err := approval.ParseConfig([]byte(text))
		fmt.Fprintf(&b, "%s\n\t%s\n", strings.ReplaceAll(text, "\n", "⏎"), plain(c))
		if err != nil {
			fmt.Fprintf(&b, "\t%s\n", strings.ReplaceAll(err.Error(), "\n", "\n\t"))
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				fmt.Fprintf(&b, "\t%+v\n", *e.(*approval.ConfigError))
			}
		}
	}
	compareTable(t, "testdata/mistakes.txt", b.String())
}

// TestLogsOfDecisions has all that is logged.
func TestLogsOfDecisions(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	r := request("s")
	r.RunID, r.Agent, r.Path = "r1", "desk", []string{"a", "b"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		inner toolset.Asker
	}{
		{t.Context(), approval.Layered(nil, layerOf("one", "allow"))}, {t.Context(), approval.Layered(nil, layerOf("one", "error"))}, {ended, approval.Layered(nil, layerOf("one", "error"))},
		{t.Context(), toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Decision{}, toolset.ErrNobody
		}}},
		{t.Context(), toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Decision{Verdict: toolset.VerdictDeny, Always: true, By: "ada", Reason: "secret"}, nil
		}}},
	} {
		d, err := approval.Logged(c.inner, log).Approve(c.ctx, r)
		b.WriteString(toldDecision(d, err) + "\n")
	}
	require.Equal(t, `{"level":"INFO","msg":"approval: decided","tool":"run","run":"r1","call":"b","agent":"desk","verdict":"allow","by":"one","rule":"r allow","always":false}
{verdict:allow,by:one,meta:{rule:r allow}}
{"level":"WARN","msg":"approval: no decision","tool":"run","run":"r1","call":"b","agent":"desk","error":"*fmt.wrapError"}
error approval: one: boom {verdict:}
error approval: one: boom {verdict:}
error there is no one to ask {verdict:}
{"level":"INFO","msg":"approval: decided","tool":"run","run":"r1","call":"b","agent":"desk","verdict":"deny","by":"ada","rule":"","always":true}
{verdict:deny,reason:secret,by:ada}
`, strings.ReplaceAll(b.String(), ",always:true", ""))
}

func compareTable(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "run with -update if it should be so")
}

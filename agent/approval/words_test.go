// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestRulesInWords: how surfaces list rules.
func TestRulesInWords(t *testing.T) {
	for want, rule := range map[string]fmt.Stringer{
		"allow run: every call":                       approval.Rule{Tool: "run", Verdict: toolset.VerdictAllow},
		"deny run: go test":                           approval.Rule{Tool: "run", Scope: "go test", Verdict: toolset.VerdictDeny},
		"allow pay of mcp:bank: every call":           approval.Rule{Tool: "pay", Source: "mcp:bank", Verdict: toolset.VerdictAllow},
		"deny pay of mcp:bank: all":                   approval.Rule{Tool: "pay", Source: "mcp:bank", Scope: "all", Verdict: toolset.VerdictDeny},
		`allow tool "t" path "p"`:                     approval.ConfigRule{Decision: toolset.VerdictAllow, Tool: "t", Path: "p", Reason: "r"},
		`ask server "s"`:                              approval.ConfigRule{Decision: approval.VerdictAsk, Server: "s"},
		`deny read "r" host "h"`:                      approval.ConfigRule{Decision: toolset.VerdictDeny, Read: "r", Host: "h"},
		`allow command "c" dir "d" sandbox "outside"`: approval.ConfigRule{Decision: toolset.VerdictAllow, Command: "c", Dir: "d", Sandbox: "outside"},
	} {
		require.Equal(t, want, rule.String())
	}
	c := approval.Config{Mode: approval.ModeAuto, Rules: []approval.ConfigRule{{Decision: toolset.VerdictDeny, Tool: "t"}}}
	rules := func() (texts []string) {
		layer, err := c.Layer()
		require.NoError(t, err)
		for _, r := range layer.Rules() {
			require.Nil(t, r.Drop, "nobody but the user changes the configuration")
			require.Empty(t, r.Origin)
			texts = append(texts, r.Text)
		}
		return texts
	}
	require.Equal(t, []string{`deny tool "t"`, "mode auto"}, rules())
	c.Mode = approval.ModeAsk
	require.Equal(t, []string{`deny tool "t"`}, rules())
	c.Mode = ""
	require.Equal(t, []string{`deny tool "t"`}, rules())
}

// TestMistakesInConfigurations: each says what is wrong and what to write.
func TestMistakesInConfigurations(t *testing.T) {
	deny, allow := toolset.VerdictDeny, toolset.VerdictAllow
	for _, c := range []struct {
		rule approval.ConfigRule
		want string
	}{
		{approval.ConfigRule{Decision: deny}, "rules[0]: matches nothing; set tool, server, path, read, command, host or sandbox, or use mode for all calls"},
		{approval.ConfigRule{Decision: "no", Tool: "t"}, `rules[0].decision: unknown decision "no"; use allow, deny or ask`},
		{approval.ConfigRule{Decision: deny, Read: "a", Host: "b"}, "rules[0]: has several of path, read, command, host and sandbox, which no call has to have all; make a rule of each"},
		{approval.ConfigRule{Decision: deny, Server: "s", Path: "a"}, "rules[0]: has a server and more than a tool of it; what servers do is not known"},
		{approval.ConfigRule{Decision: deny, Command: "go", Dir: "d"}, "rules[0].dir: is for commands that are allowed; leave it out: a rule that denies or asks holds in every directory"},
		{approval.ConfigRule{Decision: allow, Tool: "t", Dir: "d"}, "rules[0].dir: is for commands that are allowed; leave it out: a rule that denies or asks holds in every directory"},
		{approval.ConfigRule{Decision: allow, Command: " \t"}, "rules[0].command: is blank"},
		{approval.ConfigRule{Decision: allow, Command: "go:*"}, `rules[0].command: "go:*" is the form of another program; write "go"`},
		{approval.ConfigRule{Decision: allow, Sandbox: "x"}, `rules[0].sandbox: unknown value "x"; use inside or outside`},
		{approval.ConfigRule{Decision: allow, Sandbox: "outside"}, "rules[0].sandbox: would allow every command to do anything; allow each with command"},
		{approval.ConfigRule{Decision: deny, Sandbox: "inside"}, "rules[0].sandbox: commands in the sandbox are what is safest; deny or ask about outside"},
		{approval.ConfigRule{Decision: deny, Path: "a["}, `rules[0].path: "a[" is not a pattern; use names, *, ? and **, with slashes between them`},
		{approval.ConfigRule{Decision: deny, Path: `a\b`}, `rules[0].path: "a\\b" is not a pattern; use names, *, ? and **, with slashes between them`},
		{approval.ConfigRule{Decision: deny, Path: "a/../b"}, `rules[0].path: "a/../b" must not have ".."; write the path that is meant`},
		{approval.ConfigRule{Decision: deny, Path: "/"}, `rules[0].path: "/" never matches; use "/**"`},
		{approval.ConfigRule{Decision: deny, Path: "."}, `rules[0].path: "." never matches; use "**"`},
		{approval.ConfigRule{Decision: deny, Read: "~/x"}, `rules[0].read: "~/x" never matches: ~ has no meaning here; write the whole path`},
		{approval.ConfigRule{Decision: deny, Path: "./a"}, `rules[0].path: "./a" never matches; write "a"`},
		{approval.ConfigRule{Decision: deny, Path: "a/./b"}, `rules[0].path: "a/./b" never matches; write "a/b"`},
		{approval.ConfigRule{Decision: deny, Path: "a/"}, `rules[0].path: "a/" never matches; use "a/**" for all files below it`},
		{approval.ConfigRule{Decision: deny, Path: "a**"}, `rules[0].path: "**" in "a**" must stand alone between slashes`},
		{approval.ConfigRule{Decision: deny, Path: "***"}, `rules[0].path: "**" in "***" must stand alone between slashes`},
		{approval.ConfigRule{Decision: deny, Host: "a*b"}, `rules[0].host: "a*b" is not a host; use a name such as example.com, or *.example.com`},
		{approval.ConfigRule{Decision: deny, Host: "*.a.*"}, `rules[0].host: "*.a.*" is not a host; use a name such as example.com, or *.example.com`},
		{approval.ConfigRule{Decision: deny, Host: "http://a"}, `rules[0].host: "http://a" is not a host; use a name such as example.com, or *.example.com`},
		{approval.ConfigRule{Decision: deny, Host: "a:80"}, `rules[0].host: "a:80" is not a host; use a name such as example.com, or *.example.com`},
		{approval.ConfigRule{Decision: deny, Host: "a b"}, `rules[0].host: "a b" is not a host; use a name such as example.com, or *.example.com`},
		{approval.ConfigRule{Decision: deny, Host: "[::1]:80"}, `rules[0].host: "[::1]:80" is not a host; use a name such as example.com, or *.example.com`},
		{approval.ConfigRule{Decision: deny, Host: "::1"}, ""}, {approval.ConfigRule{Decision: deny, Host: "[2001:db8::1]"}, ""},
		{approval.ConfigRule{Decision: deny, Host: "*"}, ""}, {approval.ConfigRule{Decision: deny, Host: "*.a"}, ""}, {approval.ConfigRule{Decision: allow, Command: "go", Dir: "d"}, ""},
		{approval.ConfigRule{Decision: deny, Sandbox: "outside"}, ""}, {approval.ConfigRule{Decision: allow, Sandbox: "inside"}, ""}, {approval.ConfigRule{Decision: deny, Server: "s", Tool: "t"}, ""},
		{approval.ConfigRule{Decision: deny, Path: "**"}, ""}, {approval.ConfigRule{Decision: deny, Path: "a/**/b"}, ""}, {approval.ConfigRule{Decision: deny, Path: "~a"}, `rules[0].path: "~a" never matches: ~ has no meaning here; write the whole path`},
	} {
		config := approval.Config{Rules: []approval.ConfigRule{c.rule}}
		_, err := config.Layer()
		_, readsErr := config.Reads()
		require.Equal(t, err, readsErr, "%v", c.rule)
		if c.want == "" {
			require.NoError(t, err, "%v", c.rule)
			continue
		}
		require.EqualError(t, err, "approval: configuration: "+c.want, "%v", c.rule)
	}
	_, err := (&approval.Config{Mode: "yolo"}).Layer()
	require.EqualError(t, err, `approval: configuration: mode: unknown mode "yolo"; use ask, read-only or auto`)
	var e *approval.ConfigError
	require.ErrorAs(t, err, &e)
	require.Equal(t, approval.ConfigError{Field: "mode", Problem: `unknown mode "yolo"; use ask, read-only or auto`}, *e, "it has no place in a text")
}

// TestChoicesInWords: what the answers to a question are called, and what they decide.
func TestChoicesInWords(t *testing.T) {
	allow := toolset.Decision{Verdict: toolset.VerdictAllow}
	deny := toolset.Decision{Verdict: toolset.VerdictDeny}
	always, never, project := allow, deny, allow
	always.Always, never.Always, project.Always, project.Lasting = true, true, true, true
	once := approval.Choice{ID: "allow_once", Class: "allow_once", Title: "Allow once", Decision: allow}
	reject := approval.Choice{ID: "reject_once", Class: "reject_once", Title: "Reject", Decision: deny}
	for _, c := range []struct {
		approval toolset.Approval
		lasting  bool
		want     []string // the titles between once and reject, and that of never
	}{
		{toolset.Approval{}, false, []string{"Always allow every call of pay in this session", "Always reject every call of pay in this session"}},
		{toolset.Approval{Scope: "Bob"}, false, []string{"Always allow pay for Bob in this session", "Always reject pay for Bob in this session"}},
		{toolset.Approval{Scope: "x", ScopeTitle: "payments\nto Bob"}, true, []string{
			"Always allow payments⟨LF⟩to Bob in this session", "Always allow payments⟨LF⟩to Bob in this project", "Always reject payments⟨LF⟩to Bob in this session",
		}},
		{toolset.Approval{Scope: "a && b", Parts: []string{"a", "b"}}, false, []string{"Always allow pay for a && b in this session", "Always reject exactly this in this session"}},
		{toolset.Approval{Scope: "x", Wider: []toolset.WiderScope{{Scope: "w", Title: "all\tof it"}, {Scope: "v", Title: "more"}}}, false, []string{
			"Always allow pay for x in this session", "Always allow all⟨TAB⟩of it in this session", "Always allow more in this session", "Always reject pay for x in this session",
		}},
	} {
		r := &toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "pay"}, Approval: c.approval, Lasting: c.lasting}
		all := approval.Choices(r, true)
		require.Equal(t, once, all[0])
		require.Equal(t, reject, all[len(all)-2])
		require.Equal(t, approval.Choice{ID: "reject_always", Class: "reject_always", Title: c.want[len(c.want)-1], Decision: never}, all[len(all)-1])
		require.Equal(t, approval.Choice{ID: "allow_always", Class: "allow_always", Title: c.want[0], Decision: always}, all[1])
		var titles []string
		for i, choice := range all[1 : len(all)-2] {
			titles = append(titles, choice.Title)
			require.Equal(t, "allow_always", choice.Class)
			require.True(t, choice.Decision.Always)
			require.Equal(t, c.lasting && i > 0, choice.Decision.Lasting)
		}
		require.Equal(t, c.want[:len(c.want)-1], titles)
		require.Equal(t, []approval.Choice{once, reject}, approval.Choices(r, false))
		if c.lasting {
			require.Equal(t, "allow_always_project", all[2].ID)
		}
		for i, w := range c.approval.Wider {
			require.Equal(t, fmt.Sprint("allow_always_wider_", i+1), all[i+2].ID)
			require.Equal(t, w.Scope, all[i+2].Decision.Scope)
		}
		r.Approval.Once = true
		require.Equal(t, []approval.Choice{once, reject}, approval.Choices(r, true))
		r.Approval.Once, r.Once = false, true
		require.Equal(t, []approval.Choice{once, reject}, approval.Choices(r, true))
	}
}

// TestRulesOfDecisions: what an answer makes rules of, and what it does not.
func TestRulesOfDecisions(t *testing.T) {
	plain := toolset.Approval{Scope: "s", Source: "mcp:x", Wider: []toolset.WiderScope{{Scope: "w"}}}
	parts := toolset.Approval{Scope: "a && b", Parts: []string{"a", "b"}}
	once := plain
	once.Once = true
	protected := toolset.Approval{Scope: "s", Effects: []toolset.Effect{{Kind: model.EffectWrite, Path: "/repo/.git/config"}}, Wider: []toolset.WiderScope{{Scope: "w"}}}
	rule := func(source, scope string, v toolset.Verdict) approval.Rule {
		return approval.Rule{Tool: "t", Source: source, Scope: scope, Verdict: v}
	}
	const allow, deny = toolset.VerdictAllow, toolset.VerdictDeny
	for i, c := range []struct {
		approval toolset.Approval
		decision toolset.Decision
		want     []approval.Rule
	}{
		{plain, toolset.Decision{Verdict: allow}, []approval.Rule{}},
		{plain, toolset.Decision{Verdict: allow, Always: true}, []approval.Rule{rule("mcp:x", "s", allow)}},
		{plain, toolset.Decision{Verdict: deny, Always: true}, []approval.Rule{rule("mcp:x", "s", deny)}},
		{plain, toolset.Decision{Verdict: toolset.VerdictDefer, Always: true}, []approval.Rule{}},
		{plain, toolset.Decision{Verdict: allow, Always: true, Scope: "w"}, []approval.Rule{rule("mcp:x", "w", allow)}},
		{plain, toolset.Decision{Verdict: deny, Always: true, Scope: "w"}, []approval.Rule{rule("mcp:x", "w", deny)}},
		{plain, toolset.Decision{Verdict: allow, Always: true, Scope: "v"}, []approval.Rule{}},
		{parts, toolset.Decision{Verdict: allow, Always: true}, []approval.Rule{rule("", "a", allow), rule("", "b", allow)}},
		{parts, toolset.Decision{Verdict: deny, Always: true}, []approval.Rule{rule("", "a && b", deny)}},
		{once, toolset.Decision{Verdict: allow, Always: true}, []approval.Rule{}},
		{once, toolset.Decision{Verdict: deny, Always: true}, []approval.Rule{rule("mcp:x", "s", deny)}},
		{once, toolset.Decision{Verdict: allow, Always: true, Scope: "w"}, []approval.Rule{}},
		{once, toolset.Decision{Verdict: deny, Always: true, Scope: "w"}, []approval.Rule{rule("mcp:x", "w", deny)}},
		{protected, toolset.Decision{Verdict: allow, Always: true}, []approval.Rule{}},
		{protected, toolset.Decision{Verdict: allow, Always: true, Scope: "w"}, []approval.Rule{}},
		{protected, toolset.Decision{Verdict: deny, Always: true}, []approval.Rule{rule("", "s", deny)}},
	} {
		require.Equal(t, c.want, approval.RulesOf("t", &c.approval, c.decision), i)
		c.decision.Lasting = true
		require.Equal(t, c.want, approval.RulesOf("t", &c.approval, c.decision), "those that are kept are the same: %d", i)
		var p approval.Policy
		p.RememberDecision("t", &c.approval, c.decision)
		require.Empty(t, p.Rules(), "a lasting one is for a Keeper")
	}
}

// TestRulesCanBeDropped: one, and no other.
func TestRulesCanBeDropped(t *testing.T) {
	var p approval.Policy
	p.Remember("t", "a", toolset.VerdictAllow)
	p.Remember("t", "b", toolset.VerdictDeny)
	p.RememberApproval("t", &toolset.Approval{Source: "mcp:x", Scope: "a"}, toolset.VerdictAllow)
	all := p.Rules()
	require.Len(t, all, 3)
	wrong := all[0]
	wrong.Verdict = toolset.VerdictDeny
	require.False(t, p.Drop(wrong), "another verdict")
	require.False(t, (*approval.Policy)(nil).Drop(all[0]))
	require.Equal(t, all, p.Rules())
	require.True(t, p.Drop(all[0]))
	require.False(t, p.Drop(all[0]))
	require.Equal(t, all[1:], p.Rules())
	p.Forget("t", "a")
	require.Equal(t, []approval.Rule{{Tool: "t", Scope: "b", Verdict: toolset.VerdictDeny}}, p.Rules(), "whatever the source is")
}

// TestPoliciesThatCannotBeRead: and what of them is wrong.
func TestPoliciesThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":0}`: "approval: policy: version 0 is not supported, this program reads version 1", `{"version":2}`: "approval: policy: version 2 is not supported, this program reads version 1",
		`{"version":1,"rules":[{"tool":"x","verdict":"maybe"}]}`: `approval: policy: rule for "x": unknown verdict "maybe"`,
		`{"version":1,"rules":[{"tool":"x","verdict":"defer"}]}`: `approval: policy: rule for "x": unknown verdict "defer"`,
		`{"version":"1"}`: "approval: policy: json: cannot unmarshal string into Go struct field policyJSON.version of type int",
	} {
		require.EqualError(t, json.Unmarshal([]byte(text), new(approval.Policy)), want)
	}
	for _, order := range []string{`"allow"},{"tool":"x","verdict":"deny"`, `"deny"},{"tool":"x","verdict":"allow"`} {
		var p approval.Policy
		require.NoError(t, json.Unmarshal([]byte(`{"version":1,"rules":[{"tool":"x","verdict":`+order+`}]}`), &p))
		require.Equal(t, toolset.VerdictDeny, p.Decide("x"))
	}
}

// failingKeeper is a keeper whose rules cannot be read.
type failingKeeper struct{ approval.Keeper }

func (failingKeeper) Kept() ([]approval.Rule, error) { return nil, errors.New("disk") }

// TestKeptRulesInWords: what the layer says of a rule, and of rules that cannot be read.
func TestKeptRulesInWords(t *testing.T) {
	_, err := approval.Kept(failingKeeper{}).Decide(t.Context(), new(toolset.ApprovalRequest))
	require.EqualError(t, err, "the rules cannot be read: disk")
	k := &keeper{rules: []approval.Rule{{Tool: "t", Scope: "a", Verdict: toolset.VerdictAllow}, {Tool: "t", Scope: "b", Verdict: toolset.VerdictDeny}}}
	for scope, want := range map[string]approval.Ruling{
		"a": {Verdict: toolset.VerdictAllow, Rule: "always t for a"},
		"b": {Verdict: toolset.VerdictDeny, Reason: "The user denied this and asked not to be asked again."},
		"c": {},
	} {
		got, err := approval.Kept(k).Decide(t.Context(), &toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "t"}, Approval: toolset.Approval{Scope: scope}})
		require.NoError(t, err)
		require.Equal(t, want, got, scope)
	}
}

// TestPreviewsOfSandboxes: how a command runs is a part of what is shown.
func TestPreviewsOfSandboxes(t *testing.T) {
	for sandbox, want := range map[string]string{
		"": "Run in a shell:\n  x", model.SandboxNetwork: "Run in a shell, with the network:\n  x", model.SandboxNone: "Run in a shell, outside of the sandbox:\n  x", "other": "Run in a shell, outside of the sandbox:\n  x",
	} {
		require.Equal(t, want, approval.PreviewText(&toolset.Preview{Command: &toolset.CommandLine{Line: "x", Sandbox: sandbox}}))
	}
	three := &toolset.Diff{Path: "f", Old: text("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), New: text("1\n2\n3\n4\nfive\n6\n7\n8\n9\n")}
	require.Equal(t, "Change f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8", approval.PreviewText(&toolset.Preview{Diff: three}), "three lines around a change")
	require.Empty(t, approval.Text(&toolset.Approval{}))
	require.Equal(t, "line 1: ⟨U+202E⟩\nline 3: ⟨U+200B⟩", approval.Hidden(&toolset.Preview{Diff: &toolset.Diff{Path: "f", New: text("\u202e\nb\n\u200b")}}))
}

// TestHostsInTheirForms: an address may be written in many ways, and a name as programs may read it.
func TestHostsInTheirForms(t *testing.T) {
	const allow, deny, ask = toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk
	for _, c := range []struct {
		rule, host string
		want       toolset.Verdict
	}{
		{"10.0.0.1", "10.0.0.1", deny}, {"10.0.0.1", "10.1", deny}, {"10.0.0.1", "0xa000001", deny}, {"10.0.0.1", "167772161", deny}, {"10.0.0.1", "012.0.0.1", deny}, {"10.0.0.1", "10.0.1", deny},
		{"10.0.0.1", "10.0.0.2", allow}, {"10.0.0.1", "10.2", allow}, {"10.0.0.1", "::ffff:10.0.0.1", deny}, {"10.0.0.1", "[::ffff:10.0.0.1]", deny}, {"10.0.0.1", "10.0.0.0.1", allow}, {"10.0.0.1", "256.0.0.1", allow},
		{"::1", "::1", deny}, {"::1", "[::1]", deny}, {"[0:0::1]", "::1", deny}, {"::1", "0:0:0:0:0:0:0:1", deny}, {"::1", "::2", allow}, {"::ffff:10.0.0.1", "10.1", deny},
		{"a.example", "a.example.", deny}, {"A.example", "a.EXAMPLE", deny}, {"a.example", "b.a.example", allow}, {"*.a.example", "b.a.example", deny}, {"*.a.example", "a.example", deny}, {"*.a.example", "ba.example", allow},
		{"*", "a.example", deny}, {"a.example", "*", ask}, {"a.example", "%61.example", ask}, {"a.example", "{a,b}.example", ask}, {"a.example", "á.example", ask}, {"a.example", `a\.example`, ask},
	} {
		r := toolset.ApprovalRequest{Approval: toolset.Approval{Effects: []toolset.Effect{{Kind: model.EffectHost, Host: c.host}}}}
		got := decided(t, `{"mode":"auto","rules":[{"decision":"deny","host":"`+c.rule+`"}]}`, r).Verdict
		require.Equal(t, c.want, got, "%s against %s", c.host, c.rule)
		if c.want == deny && c.rule != "*" {
			require.Equal(t, allow, decided(t, `{"rules":[{"decision":"allow","host":"`+c.rule+`"}]}`, r).Verdict, "%s against %s", c.host, c.rule)
		}
	}
}

// TestWordsMayBeHosts: a program whose effects are not known may reach a host that its words name.
func TestWordsMayBeHosts(t *testing.T) {
	const allow, ask = toolset.VerdictAllow, approval.VerdictAsk
	for _, c := range []struct {
		rule, word string
		want       toolset.Verdict
	}{
		{"a.example", "a.example", ask}, {"a.example", "https://a.example/x", ask}, {"a.example", "x@a.example:22", ask}, {"a.example", "A.EXAMPLE", ask}, {"a.example", "a.example.", ask}, {"a.example", "a.example.com", allow},
		{"a.example", "ba.example", allow}, {"a.example", "b.a.example", allow}, {"*.a.example", "b.a.example", ask}, {"*.a.example", "ba.example", allow}, {"a.example", "-ha.example", ask}, {"a.example", "a.examples", allow}, {"a.example", "a.example-x", allow},
		{"a.example", "ba.example a.example", ask}, {"a.example", "a.example.x,a.example", ask}, {"10.0.0.1", "10.1", ask}, {"10.0.0.1", "10.2", allow},
		{"10.0.0.1", "--to=0xa000001", ask}, {"::1", "http://[0:0::1]:80/x", ask}, {"0:0::1", "x://[::1]", ask}, {"::1", "http://[::2]/", allow}, {"::1", "a::b", allow}, {"a.example", "=a.example.?", ask},
	} {
		r := toolset.ApprovalRequest{Approval: toolset.Approval{Effects: []toolset.Effect{{Kind: model.EffectUnknown, Argv: []string{"prog", c.word}}}}}
		require.Equal(t, c.want, decided(t, `{"mode":"auto","rules":[{"decision":"deny","host":"`+c.rule+`"}]}`, r).Verdict, "%q against %s", c.word, c.rule)
		r.Approval.Effects[0].Kind = model.EffectRun
		require.Equal(t, allow, decided(t, `{"mode":"auto","rules":[{"decision":"deny","host":"`+c.rule+`"}]}`, r).Verdict, "what it does is known: %q", c.word)
	}
}

// TestJudgesThatAreInvalid: all that is wrong is told at once.
func TestJudgesThatAreInvalid(t *testing.T) {
	_, err := approval.Judge{Policy: " ", Timeout: -1, Reserved: []string{"ok", "["}}.Layer()
	require.EqualError(t, err, "approval: judge: Model is nil\napproval: judge: Policy is empty\napproval: judge: Timeout is -1ns and MaxBytes 0; neither may be negative\n"+
		`approval: judge: Reserved: "[" is not a pattern for names of tools`)
	m := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, errors.New("down")
	})
	_, err = approval.Judge{Model: m, Policy: "p", MaxBytes: -1}.Layer()
	require.EqualError(t, err, "approval: judge: Timeout is 0s and MaxBytes -1; neither may be negative")
	var failed error
	layer, err := approval.Judge{Model: m, Policy: "p", OnError: func(_ context.Context, _ *toolset.ApprovalRequest, err error) { failed = err }}.Layer()
	require.NoError(t, err)
	require.Equal(t, "judge", layer.Name)
	ruling, err := layer.Decide(t.Context(), new(toolset.ApprovalRequest))
	require.NoError(t, err)
	require.Zero(t, ruling)
	require.ErrorContains(t, failed, "down")
}

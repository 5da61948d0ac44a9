// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// letter stands for what a layer says about a call.
func letter(t *testing.T, layer approval.Layer, r toolset.ApprovalRequest) string {
	ruling, err := layer.Decide(t.Context(), &r)
	require.NoError(t, err)
	if ruling.Verdict == "" {
		return "."
	}
	return string(ruling.Verdict)[:1]
}

// lettersOf has a row for each call, with a letter for each rule: a(llow), d(eny), (a)sk is "a" in rules that deny, and a dot for nothing.
func lettersOf(t *testing.T, b *strings.Builder, title string, roots []string, rules []approval.ConfigRule, names []string, calls []toolset.ApprovalRequest) {
	var layers []approval.Layer
	fmt.Fprintf(b, "# %s\n", title)
	for _, rule := range rules {
		c := approval.Config{Rules: []approval.ConfigRule{rule}}
		layer, err := c.Layer(roots...)
		text, _ := json.Marshal(rule)
		if err != nil {
			fmt.Fprintf(b, "## %s: %v\n", text, err)
			continue
		}
		fmt.Fprintf(b, "## %s\n", text)
		layers = append(layers, layer)
	}
	for i, r := range calls {
		row := ""
		for _, layer := range layers {
			row += letter(t, layer, r)
		}
		fmt.Fprintf(b, "%s %s\n", row, strings.ReplaceAll(names[i], "\n", "⏎"))
	}
}

// ruled makes rules of one decision about one thing.
func ruled(decision toolset.Verdict, set func(r *approval.ConfigRule, value string), values ...string) (all []approval.ConfigRule) {
	for _, v := range values {
		r := approval.ConfigRule{Decision: decision}
		set(&r, v)
		all = append(all, r)
	}
	return all
}

// TestRulesInLetters: what rules of each kind say about calls of each kind.
func TestRulesInLetters(t *testing.T) {
	const allow, deny = toolset.VerdictAllow, toolset.VerdictDeny
	var b strings.Builder
	byCommand := func(r *approval.ConfigRule, v string) { r.Command = v }
	byPath := func(r *approval.ConfigRule, v string) { r.Path = v }
	byRead := func(r *approval.ConfigRule, v string) { r.Read = v }
	byHost := func(r *approval.ConfigRule, v string) { r.Host = v }
	byTool := func(r *approval.ConfigRule, v string) { r.Tool = v }
	byServer := func(r *approval.ConfigRule, v string) { r.Server = v }

	roots := []string{"/r", "/more/"}
	var sections []string
	var names []string
	var calls []toolset.ApprovalRequest
	for _, program := range []string{
		"git", "/usr/bin/git", "./git", "git.exe", "GIT", "g*t", "gi?", "[g]it", "'git'", `g\it`, "sudo git", "env X=1 git", "sh -c 'git", "$(git", "xargs git", "a/b/../git", "$x/git", "echo git", "bin/git", `C:\bin\git.exe`, "git-push", "gitt", "ls | git", "x; git",
	} {
		for _, args := range []string{"push", "-f push", "push --force", "push --for", "push --fo -x", "-fr push", "push -r -f", "push --recursive --f", "push -abcdefg", "pu*h", "commit push", `"push"`, "status", ""} {
			l := program + " " + args
			names, calls = append(names, l), append(calls, runs(toolset.CommandLine{Line: l, Dir: "/r"}))
		}
	}
	for _, l := range []string{"git | push", "git a | x push", "push | git", "git|push", "git & push", "git || push", "git [push]", "git:push", "cd a; ./git push", "cd bin && ./git push", "git push # x", "git $a", "git `x` push", "a | sh", "a | bash -e", "a|zsh;x", "x shh", "ash", "echo $", "echo $ x", "echo \"$\"", "a \\\n b", "git pu\\\nsh", "git\tpush", "git\u00a0push", "git {push,pull}", "git={push}", "(git push)", "<git push", "git>push", "push git", "git 'a b' push", "a/git push", "/x/a/git push", "git -fo-", "git -a -b -c -d", "git -a -c", "git -cba -d", "git -n", "git -xn", "git -abcdefn", "git -abcdefgn", "git --n", "git --no", "git --r push", "git --re push", "git --recursivex push", "git - push"} {
		names, calls = append(names, l), append(calls, runs(toolset.CommandLine{Line: l, Dir: "/r/bin"}))
	}
	for _, args := range [][]string{{"git", "push"}, {"git", "x y", "push"}, {"git push"}, {"git", "--force", "push"}, {"sh", "-c", "git push"}} {
		names, calls = append(names, fmt.Sprintf("%q", args)), append(calls, runs(toolset.CommandLine{Args: args, Dir: "/r"}))
	}
	patterns := []string{
		"git", "git push", "git push -f", "git push --force", "git push -r -f", "git push --recursive", "git | push", "git push | x", "./git push", "/usr/bin/git push", "a/git push", "bin/git", "git -n", "git -abcd", "git -abc", "git --fo", "push", "git *", "pu?h", "git-push", "sh", "-f", "GIT PUSH", "-", "| |", "git.exe",
	}
	lettersOf(t, &b, "commands that are denied", roots, ruled(deny, byCommand, patterns...), names, calls)

	names, calls = nil, nil
	for _, c := range []toolset.CommandLine{
		{Line: "git push"}, {Line: "git push", Dir: "/r"}, {Line: "git push", Dir: "/r/"}, {Line: "git push", Dir: "/r/a"}, {Line: "git push", Dir: "/more"}, {Line: "git push", Dir: "a"}, {Line: "git push", Dir: "/q"}, {Line: "git push", Dir: "/r", Env: []string{"A=1"}}, {Line: "git  push", Dir: "/r"}, {Line: "git push ", Dir: "/r"},
		{Args: []string{"git", "push"}, Dir: "/r"}, {Args: []string{"git push"}, Dir: "/r"}, {Line: "git push x", Dir: "/r"}, {Line: "GIT push", Dir: "/r"},
	} {
		for _, scopes := range [][]string{nil, {"git push"}, {"git"}, {"git", "git push"}} {
			names, calls = append(names, fmt.Sprintf("%q %q in %q with %q, scopes %q", c.Line, c.Args, c.Dir, c.Env, scopes)), append(calls, runs(c, scopes...))
		}
	}
	var exact []approval.ConfigRule
	for _, dir := range []string{"", "**", "a", "/q", "/r/**"} {
		for _, l := range []string{"git push", "git", " git  push "} {
			exact = append(exact, approval.ConfigRule{Decision: allow, Command: l, Dir: dir})
		}
	}
	lettersOf(t, &b, "commands that are allowed", roots, exact, names, calls)

	names, calls = nil, nil
	paths := []string{
		"/r/a", "/r/a/", "/r/a/b", "/r/A", "/r/a/x/b", "/r/a/x/", "/r/", "/r", "/", "/q/a", "a", "a/b", "../a", "./a", `C:\r\a`, "C:/r/a", "/r/.a", "/r/x.go", "/r/axb", "/r/x/y", "/r/x/y/z", "/more/a", "/more/", "/R/a", "/r/a//b", "/r/[a", "/r/b/../a", "/r/git/config",
		"/r/" + command.Computed, "/r/a" + command.Computed, command.Computed + "/a", "/r/" + command.Computed + "/b", "/r/a" + command.Computed + "b", command.Computed, "/r/" + command.Computed + ".go", "/q/" + command.Computed + "a", "/r/x/" + command.Computed + "/", "/r/" + strings.Repeat("d/", 29) + "a", "/r/" + strings.Repeat("d/", 30) + "a", "/r/" + strings.Repeat("d/", 31) + "a", "/r/" + strings.Repeat("d/", 32) + "x.go", "/" + strings.Repeat("d/", 40),
	}
	globs := []string{"**", "*", "a", "a/**", "**/a", "a/*/b", "?", "a/?", "/r/a", "/r/**", "/**", "*.go", "a*b", "**/x/**", ".*", "A", "x/**/z", "**/b", "/q/*", "C:/r/*", "a/b", "/r", "/more/a", "*/*", "**/*.go", "**/**", "git/config"}
	for _, p := range paths {
		names, calls = append(names, "write "+p), append(calls, effects("write", model.Effect{Kind: model.EffectWrite, Path: p}))
	}
	for _, p := range paths {
		names, calls = append(names, "read "+p), append(calls, effects("read", model.Effect{Kind: model.EffectRead, Path: p}))
	}
	for _, pair := range [][2]model.Effect{
		{{Kind: model.EffectWrite, Path: "/r/a"}, {Kind: model.EffectWrite, Path: "/q/a"}}, {{Kind: model.EffectRead, Path: "/r/a"}, {Kind: model.EffectWrite, Path: "/r/a"}}, {{Kind: model.EffectRead, Path: "/q/a"}, {Kind: model.EffectWrite, Path: "/r/a"}},
		{{Kind: model.EffectWrite, Path: "/r/a"}, {Kind: model.EffectHost, Host: "a.b"}}, {{Kind: model.EffectRead, Path: "/r/a"}, {Kind: model.EffectHost, Host: "a.b"}}, {{Kind: model.EffectWrite, Path: "/r/a"}, {Kind: model.EffectServer, Server: "s"}}, {{Kind: model.EffectRead}, {Kind: model.EffectRead, Path: "/r/a"}}, {{Kind: model.EffectWrite}, {Kind: model.EffectWrite, Path: "/r/a"}},
		{{Kind: model.EffectWrite, Path: "/r/a"}, {Kind: model.EffectRun, Argv: []string{"x"}}}, {{Kind: model.EffectWrite, Path: "/r/a"}, {Kind: model.EffectSandbox}}, {{Kind: model.EffectRead, Path: "/r/a"}, {Kind: model.EffectUnknown}},
	} {
		names, calls = append(names, plain(pair)), append(calls, effects("two", pair[:]...))
	}
	for _, l := range []string{"frob a", "frob a*", "frob [ab]", "frob ?", "frob */b", "frob .*", "frob *a", "frob $x", "frob a$x", "frob $x/a", "frob x/$y/z", "frob --to=a", "cd a; frob b", "frob /q/*", "frob ..", "frob a/x/b", "frob A", "rm a", "rm -r a", "rm -r .", "cp a x.go", "cat a", "tee a", "mv a x/", "frob >a", "frob <a", "frob [", "frob {a,b}", "frob ~/a"} {
		names, calls = append(names, "$ "+l), append(calls, runs(toolset.CommandLine{Line: l, Dir: "/r"}))
	}
	lettersOf(t, &b, "writes that are denied", roots, ruled(deny, byPath, globs...), names, calls)
	lettersOf(t, &b, "writes that are allowed", roots, ruled(allow, byPath, globs...), names, calls)
	lettersOf(t, &b, "reads that are denied", roots, ruled(deny, byRead, globs...), names, calls)
	lettersOf(t, &b, "reads that are allowed", roots, ruled(allow, byRead, globs...), names, calls)
	lettersOf(t, &b, "reads that are asked about", roots, ruled(approval.VerdictAsk, byRead, globs[:6]...), names, calls)

	names, calls = nil, nil
	for _, dir := range []string{"", "/r", "b", "/q"} {
		for _, l := range []string{"echo x > a", "cat a", "frob a", "cd b && rm a"} {
			names, calls = append(names, fmt.Sprintf("$ %s in %q", l, dir)), append(calls, runs(toolset.CommandLine{Line: l, Dir: dir}))
		}
	}
	for _, p := range []string{"a", "/r/a", "b/a", "../r/a", "/a"} {
		names, calls = append(names, "change "+p, "write "+p, "read "+p), append(calls, writes(p), effects("write", model.Effect{Kind: model.EffectWrite, Path: p}), effects("read", model.Effect{Kind: model.EffectRead, Path: p}))
	}
	for title, roots := range map[string][]string{"no directory": nil, "one directory": {"/r"}, "the root": {"/"}} {
		var own strings.Builder
		lettersOf(t, &own, title, roots, append(append(ruled(deny, byPath, "a", "/r/a", "**", "/a"), ruled(deny, byRead, "a", "/r/a", "**", "/a")...), ruled(allow, byPath, "a", "/r/a", "**", "/a")...), names, calls)
		sections = append(sections, own.String())
	}
	slices.Sort(sections)
	b.WriteString(strings.Join(sections, ""))

	names, calls = nil, nil
	for _, h := range []string{
		"a.b", "x.a.b", "xa.b", "a.b.", "A.B", "b", "10.0.0.1", "10.1", "10.0.1", "0xa000001", "167772161", "012.0.0.1", "10.0.0.01", "[::1]", "::1", "0:0:0:0:0:0:0:1", "::ffff:10.0.0.1", "::ffff:a00:1", "*", command.Computed, command.Computed + ".a.b", "a." + command.Computed, "a.b" + command.Computed, command.Computed + "b", "ä.b", "%61.b", "a.{b}", `a\.b`, "1.2.3.4.5", "256.1", "1.256.1", "10.0.0.256", "4294967296", "4294967295", "1..1", "", "127.0.0.1", "2130706433",
	} {
		names, calls = append(names, "host "+h), append(calls, effects("get", model.Effect{Kind: model.EffectHost, Host: h}))
	}
	names, calls = append(names, "two hosts"), append(calls, effects("get", model.Effect{Kind: model.EffectHost, Host: "a.b"}, model.Effect{Kind: model.EffectHost, Host: "x.a.b"}))
	names, calls = append(names, "a host and a server"), append(calls, effects("get", model.Effect{Kind: model.EffectHost, Host: "a.b"}, model.Effect{Kind: model.EffectServer, Server: "s"}))
	for _, l := range []string{"frob a.b", "frob xa.b", "frob x.a.b", "frob a.b.", "frob a.b..", "frob a.b.c", "frob a.b.-", "frob -ha.b", "frob xa.b/", "frob http://a.b:80/", "frob user@a.b", "frob a.b-c", "frob a.bc", "frob A.B", "frob xa.b a.b", "frob xa.ba.b", "frob 10.1", "frob 10.0.0.1:80", "frob 0xa000001", "frob x10.1", "frob -h=10.1", "frob ::1", "frob [::1]:80", "frob 110.0.0.1", "curl a.b", "curl -x $y a.b", "frob \"10.0.0.1\""} {
		names, calls = append(names, "$ "+l), append(calls, runs(toolset.CommandLine{Line: l, Dir: "/r"}))
	}
	hosts := []string{"a.b", "*.a.b", "*", "10.0.0.1", "::1", "0x7f.1", "b", "A.B.", "*.B", "10.1", "255.255.255.255", "*.10.0.0.1"}
	lettersOf(t, &b, "hosts that are denied", roots, ruled(deny, byHost, hosts...), names, calls)
	lettersOf(t, &b, "hosts that are allowed", roots, ruled(allow, byHost, hosts...), names, calls)

	names, calls = nil, nil
	for _, tool := range []string{"", "a", "ab", "aba", "abab", "ba", "xax", "aXbXc", "abc", "A"} {
		for _, source := range []string{"", "mcp:ab", "mcp:", "ab"} {
			r := effects(tool, model.Effect{Kind: model.EffectUnknown})
			r.Approval.Source = source
			names, calls = append(names, fmt.Sprintf("%q of %q", tool, source)), append(calls, r)
		}
	}
	wild := []string{"*", "a", "a*", "*a", "*a*", "a*b*c", "a*a", "ab*ab", "**", "*b*b*", "ab"}
	lettersOf(t, &b, "tools", roots, ruled(deny, byTool, wild...), names, calls)
	lettersOf(t, &b, "servers", roots, append(ruled(deny, byServer, wild...), ruled(allow, byServer, wild...)...), names, calls)

	if *update {
		require.NoError(t, os.WriteFile("testdata/letters.txt", []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/letters.txt")
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"), "run with -update if it should be so")
}

func effects(tool string, all ...model.Effect) toolset.ApprovalRequest {
	return toolset.ApprovalRequest{Origin: toolset.Origin{Tool: tool}, Approval: toolset.Approval{Effects: all}}
}

func plain(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(data), `"`, "")
}

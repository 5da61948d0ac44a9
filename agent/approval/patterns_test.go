// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

func TestPatternsOfTools(t *testing.T) {
	for pattern, tools := range map[string]map[string]bool{
		"pay":     {"pay": true, "payout": false, "prepay": false, "": false},
		"*":       {"pay": true, "a/b": true},
		"pay*":    {"pay": true, "payout": true, "prepay": false},
		"*pay":    {"pay": true, "prepay": true, "payout": false},
		"*pay*":   {"pay": true, "prepayment": true, "pya": false},
		"a*b*c":   {"abc": true, "aXbYc": true, "a*b*c": true, "abcbc": true, "ac": false, "acb": false, "aXc": false, "abYcX": false, "Xabc": false, "ab": false, "bc": false},
		"a*b*b":   {"abb": true, "aXbYb": true, "ab": false, "aXb": false},
		"*b*b":    {"bb": true, "abab": true, "b": false},
		"a*a":     {"aa": true, "aXa": true, "a": false},
		"ab*ba":   {"abba": true, "aba": false},
		"a**c":    {"ac": true, "abc": true, "a": false},
		"a*b*c*d": {"abcd": true, "acbcd": true, "acbd": false, "abdc": false},
	} {
		for tool, want := range tools {
			for _, verdict := range []toolset.Verdict{toolset.VerdictAllow, toolset.VerdictDeny} {
				c := approval.Config{Rules: []approval.ConfigRule{{Decision: verdict, Tool: pattern}}}
				layer, err := c.Layer("/repo")
				require.NoError(t, err)
				got, err := layer.Decide(t.Context(), &toolset.ApprovalRequest{Origin: toolset.Origin{Tool: tool}})
				require.NoError(t, err)
				assert.Equal(t, want, got.Verdict == verdict, "%s %q: %q", verdict, pattern, tool)
			}
		}
	}
}

func TestPatternsOfPaths(t *testing.T) {
	for pattern, paths := range map[string]map[string]bool{
		"a":              {"/repo/a": true, "/repo/a/b": false, "/repo/b": false, "/a": false},
		"a?":             {"/repo/ab": true, "/repo/a": false, "/repo/abc": false, "/repo/a/": false},
		"a*c":            {"/repo/ac": true, "/repo/abc": true, "/repo/a/c": false},
		"a/*/c":          {"/repo/a/b/c": true, "/repo/a/c": false, "/repo/a/b/b/c": false},
		"a/**/b/**/c":    {"/repo/a/b/c": true, "/repo/a/x/b/y/z/c": true, "/repo/a/c": false, "/repo/a/x/c": false, "/repo/a/b/c/d": false, "/repo/b/c": false},
		"**/b":           {"/repo/b": true, "/repo/a/a/b": true, "/repo/b/a": false, "/b": false},
		"a/**":           {"/repo/a/b": true, "/repo/a/b/c": true, "/repo/a": false, "/repo/ab": false},
		"a/**/**":        {"/repo/a/b": true, "/repo/a": false},
		"/etc/*":         {"/etc/hosts": true, "/etc/ssh/x": false, "/repo/etc/hosts": false},
		"/**":            {"/etc/hosts": true, "/x": true},
		"C:/code/**":     {`C:\code\a`: true, "C:/code/a/b": true, `D:\code\a`: false, "/repo/code/a": false},
		"//host/share/*": {`\\host\share\a`: false},
	} {
		for name, want := range paths {
			for _, verdict := range []toolset.Verdict{toolset.VerdictAllow, toolset.VerdictDeny} {
				got := decided(t, `{"rules":[{"decision":"`+string(verdict)+`","path":"`+pattern+`"}]}`, writes(name))
				assert.Equal(t, want, got.Verdict == verdict, "%s %q: %q", verdict, pattern, name)
			}
		}
	}
	for _, wrong := range []string{"a]", `a\\b`, "a/[b]", "a/../b", "..", "a**", "a/b**/c"} {
		_, err := approval.ParseConfig([]byte(`{"rules":[{"decision":"deny","path":"` + wrong + `"}]}`))
		require.ErrorContains(t, err, "rules[0].path", wrong)
	}
}

func TestRulesAboutPathsNeedARoot(t *testing.T) {
	c := approval.Config{Rules: []approval.ConfigRule{{Decision: toolset.VerdictAllow, Path: "**"}}}
	layer, err := c.Layer()
	require.NoError(t, err)
	for _, name := range []string{"a", "/a"} {
		r := writes(name)
		got, err := layer.Decide(t.Context(), &r)
		require.NoError(t, err)
		require.Empty(t, got.Verdict, name)
	}
	r := writes("/repo/a")
	r.Approval.Preview = append(r.Approval.Preview, runs(line("rm -rf /"), "exactly x").Approval.Preview...)
	require.Empty(t, decided(t, `{"rules":[{"decision":"allow","path":"**"}]}`, r).Verdict, "a call that runs a command, too")
}

func TestWordsOfADeniedCommandAreLookedForInTheirOrder(t *testing.T) {
	const deny, ask = toolset.VerdictDeny, approval.VerdictAsk
	for text, want := range map[string]toolset.Verdict{
		"git push":            deny,
		"git -c x=y push":     deny,
		"push; git status":    "",
		"git status":          "",
		"git":                 "",
		"push":                "",
		"gitx push":           "",
		"git.exe push":        deny,
		"git pushx":           "",
		"echo git | push":     deny,
		"gi[ push":            deny,
		"gi[a-z] push":        deny,
		"gi[a-s] push":        "",
		"ls *":                "",
		"ls a$ push":          "",
		"ls 'a$'":             "",
		"ls a$":               "",
		"$X push":             ask,
		"$(x) y":              ask,
		"ls ${x}":             ask,
		"ls `x`":              ask,
		`C:\bin\git.exe push`: deny,
	} {
		got := decided(t, `{"rules":[{"decision":"deny","command":"git push"}]}`, runs(line(text), "exactly x"))
		assert.Equal(t, want, got.Verdict, text)
		if want == ask {
			assert.Equal(t, `deny command "git push", which the command may hide`, got.Rule)
		}
	}
	for tool, want := range map[string]toolset.Verdict{"run_*": ask, "other": ""} {
		got := decided(t, `{"rules":[{"decision":"deny","command":"git push","tool":"`+tool+`"}]}`, runs(line("$X push"), "exactly x"))
		require.Equal(t, want, got.Verdict, tool)
	}
}

func TestSeveralRulesAllowOneLine(t *testing.T) {
	const config = `{"rules":[{"decision":"allow","command":"go test"},{"decision":"allow","command":"go  vet"},{"decision":"allow","command":"tail"}]}`
	got := decided(t, config, runs(line("go vet . && go test . | tail"), "go test", "go vet", "tail"))
	require.Equal(t, toolset.VerdictAllow, got.Verdict)
	require.Equal(t, `allow command "go test", allow command "go  vet", allow command "tail"`, got.Rule)
	require.Empty(t, decided(t, config, runs(line("go build . && go test ."), "go build", "go test")).Verdict)
	none := runs(line("x"))
	none.Approval.Scope = ""
	require.Empty(t, decided(t, config, none).Verdict, "a command without a scope")
}

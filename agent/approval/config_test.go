// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

func TestErrorsOfConfigurationsSayWhatToDo(t *testing.T) {
	for text, want := range map[string][]string{
		`{`:                        {"line 1, column 1: unexpected end of JSON input; the configuration is a JSON object"},
		"{\n  \"mode\": ask\n}":    {"line 2, column 11: invalid character 'a'"},
		`[]`:                       {"the configuration is a JSON object"},
		`{"rule":[]}`:              {`rule: unknown; use mode, rules`},
		`{"mode":"yolo"}`:          {`mode: unknown mode "yolo"; use ask, read-only or auto`},
		`{"mode":1,"rules":{}}`:    {"mode: want a string", "rules: want a list of rules"},
		`{"rules":[7]}`:            {"rules[0]: want an object with decision and one of tool, server, path, read, command, host and sandbox"},
		`{"rules":[null]}`:         {"rules[0]: want an object"},
		`{"rules":[{"tool":"x"}]}`: {`rules[0].decision: unknown decision ""; use allow, deny or ask`},
		`{"rules":[{"decision":"reject","tool":"x"},{"decision":"allow"}]}`: {
			`rules[0].decision: unknown decision "reject"`, "rules[1]: matches nothing; set tool, server, path, read, command, host or sandbox, or use mode for all calls"},
		`{"rules":[{"decision":"allow","tools":"x","why":""}]}`:                         {"rules[0].tools: unknown; use decision, tool, server, path, read, command, dir, host, sandbox, reason", "rules[0].why: unknown"},
		`{"rules":[{"decision":"allow","tool":null}]}`:                                  {"rules[0].tool: want a string"},
		`{"rules":[{"decision":"deny","path":"a","command":"b"}]}`:                      {"rules[0]: has several of path, read, command, host and sandbox, which no call has to have all; make a rule of each"},
		`{"rules":[{"decision":"deny","path":"src/**.go"}]}`:                            {`rules[0].path: "**" in "src/**.go" must stand alone between slashes`},
		`{"rules":[{"decision":"deny","path":"../x"},{"decision":"deny","path":"[a"}]}`: {`must not have ".."`, `rules[1].path: "[a" is not a pattern; use names, *, ? and **`},
		`{"rules":[{"decision":"deny","command":"  "}]}`:                                {"rules[0].command: is blank"},
	} {
		_, err := approval.ParseConfig([]byte(text))
		require.Error(t, err, text)
		for _, w := range want {
			require.ErrorContains(t, err, w, text)
		}
		for line := range strings.Lines(err.Error()) {
			require.True(t, strings.HasPrefix(line, "approval: configuration: "), line)
		}
	}
	_, err := (&approval.Config{Mode: "x"}).Layer()
	require.Error(t, err)
}

func TestErrorsOfConfigurationsSayWhere(t *testing.T) {
	_, err := approval.ParseConfig([]byte("{\n  \"mode\": \"ask\",\n  \"rules\": [\n    {\"decison\": \"deny\", \"tool\": 7},\n    {\"decision\": \"deny\", \"path\": \"é\"}\n  ]\n}"))
	require.EqualError(t, err, `approval: configuration: line 4, column 6: rules[0].decison: unknown; use decision, tool, server, path, read, command, dir, host, sandbox, reason; did you mean decision?
approval: configuration: line 4, column 33: rules[0].tool: want a string`)
	_, err = approval.ParseConfig([]byte("{\"rules\": [{\"decision\": \"allow\", \"tool\": \"é\", \"path\": \"[\"},\n {\"decision\": \"deny\"}], \"mode\": \"Ask\"}"))
	require.EqualError(t, err, `approval: configuration: line 2, column 33: mode: unknown mode "Ask"; use ask, read-only or auto
approval: configuration: line 1, column 55: rules[0].path: "[" is not a pattern; use names, *, ? and **, with slashes between them
approval: configuration: line 2, column 2: rules[1]: matches nothing; set tool, server, path, read, command, host or sandbox, or use mode for all calls`)
	_, err = approval.ParseConfig([]byte(`{"rules": [], "rules": [{"decision": "deny", "tool": "*"}]}`))
	var e *approval.ConfigError
	require.ErrorAs(t, err, &e)
	require.Equal(t, approval.ConfigError{Line: 1, Column: 15, Problem: `"rules" is there twice; the configuration is a JSON object with mode and rules`}, *e)
}

func TestConfigHasAName(t *testing.T) {
	c := approval.Config{Name: "the project's configuration", Rules: []approval.ConfigRule{{Decision: toolset.VerdictDeny, Tool: "*", Reason: "no"}}}
	layer, err := c.Layer("/repo")
	require.NoError(t, err)
	require.Equal(t, "the project's configuration", layer.Name)
	r := writes("/repo/a")
	ruling, err := layer.Decide(t.Context(), &r)
	require.NoError(t, err)
	require.Equal(t, "Not permitted by the project's configuration: no", ruling.Reason)
}

// decided is what a configuration says about a call in /repo.
func decided(t testing.TB, config string, r toolset.ApprovalRequest) approval.Ruling {
	t.Helper()
	c, err := approval.ParseConfig([]byte(config))
	require.NoError(t, err, config)
	layer, err := c.Layer("/repo", "/more")
	require.NoError(t, err)
	require.Equal(t, "configuration", layer.Name)
	ruling, err := layer.Decide(t.Context(), &r)
	require.NoError(t, err)
	return ruling
}

func writes(paths ...string) toolset.ApprovalRequest {
	r := toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "write_file", Kind: toolset.KindEdit}}
	for _, p := range paths {
		r.Approval.Preview = append(r.Approval.Preview, toolset.Preview{Diff: &toolset.Diff{Path: p, New: new(string)}})
	}
	return r
}

func runs(c toolset.CommandLine, scopes ...string) toolset.ApprovalRequest {
	r := toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run_command", Kind: toolset.KindExecute}}
	r.Approval.Preview = []toolset.Preview{{Command: &c}}
	if r.Approval.Scope = "exactly this"; len(scopes) == 1 {
		r.Approval.Scope = scopes[0]
	} else {
		r.Approval.Parts = scopes
	}
	return r
}

func line(l string) toolset.CommandLine { return toolset.CommandLine{Line: l, Dir: "/repo"} }

func TestConfigurationDecidesByPath(t *testing.T) {
	const allow, deny, ask = toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk
	for _, c := range []struct {
		rule  string
		paths []string
		want  toolset.Verdict
	}{
		{`"allow","path":"docs/**"`, []string{"/repo/docs/a.md"}, allow},
		{`"allow","path":"docs/**"`, []string{"/repo/docs/a/b/c.md", "/more/docs/x"}, allow},
		{`"allow","path":"docs/**"`, []string{"/repo/docs"}, ""},
		{`"allow","path":"docs/**"`, []string{"/repo/docs/a.md", "/repo/src/a.go"}, ""},
		{`"allow","path":"docs/**"`, []string{"/repo/docs/../src/a.go"}, ""},
		{`"allow","path":"docs/**"`, []string{"/workdocs/a"}, ""},
		{`"allow","path":"docs/**"`, []string{"/other/docs/a"}, ""},
		{`"allow","path":"docs/**"`, []string{"/repo/Docs/a"}, ""},
		{`"allow","path":"docs/**"`, []string{`/repo/docs\..\..\etc`}, ""},
		{`"allow","path":"docs/**"`, []string{"docs/a"}, allow},
		{`"allow","path":"docs/**"`, nil, ""},
		{`"allow","path":"*.md"`, []string{"/repo/a.md"}, allow},
		{`"allow","path":"*.md"`, []string{"/repo/sub/a.md"}, ""},
		{`"allow","path":"**/*.md"`, []string{"/repo/a.md"}, allow},
		{`"allow","path":"**/*.md"`, []string{"/repo/x/y/a.md"}, allow},
		{`"allow","path":"a/**/b"`, []string{"/repo/a/b"}, allow},
		{`"allow","path":"a/**/b"`, []string{"/repo/a/x/b/c"}, ""},
		{`"allow","path":"**"`, []string{"/repo/x"}, allow},
		{`"allow","path":"**"`, []string{"/etc/passwd"}, ""},
		{`"allow","path":"/tmp/**"`, []string{"/tmp/x"}, allow},
		{`"deny","path":"**/.env"`, []string{"/repo/a", "/repo/x/.ENV"}, deny},
		{`"deny","path":"**/.git/**"`, []string{"/repo/sub/.git/config"}, deny},
		{`"ask","path":"go.mod"`, []string{"/repo/go.mod"}, ask},
		{`"deny","path":"secret/**","tool":"write_*"`, []string{"/repo/secret/x"}, deny},
		{`"deny","path":"secret/**","tool":"read_*"`, []string{"/repo/secret/x"}, ""},
	} {
		got := decided(t, `{"rules":[{"decision":`+c.rule+`}]}`, writes(c.paths...))
		require.Equal(t, c.want, got.Verdict, "%s %s", c.rule, c.paths)
	}
	c := approval.Config{Rules: []approval.ConfigRule{{Decision: allow, Path: "docs/**"}}}
	layer, err := c.Layer(`C:\work`)
	require.NoError(t, err)
	r := writes(`C:\work\docs\a.md`)
	got, err := layer.Decide(t.Context(), &r)
	require.NoError(t, err)
	require.Equal(t, allow, got.Verdict)
}

func TestConfigurationDecidesByCommand(t *testing.T) {
	const allow, deny, ask = toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk
	rules := func(rules ...string) string {
		return `{"rules":[{"decision":` + strings.Join(rules, `},{"decision":`) + `}]}`
	}
	for _, c := range []struct {
		config string
		r      toolset.ApprovalRequest
		want   toolset.Verdict
	}{
		{rules(`"allow","command":"go test"`), runs(line("go test ./..."), "go test"), allow},
		{rules(`"allow","command":"go test"`), runs(line("go test -exec sh"), "exactly x"), ""},
		{rules(`"allow","command":"go test"`), runs(line("go test | tail"), "go test", "tail"), ""},
		{rules(`"allow","command":"go test"`, `"allow","command":"tail"`), runs(line("go test | tail"), "go test", "tail"), allow},
		{rules(`"allow","command":"deploy --now"`), runs(line("deploy --now"), "exactly x"), allow},
		{rules(`"allow","command":"deploy --now"`), runs(line("deploy --now; rm x"), "exactly x"), ""},
		{rules(`"allow","command":"deploy --now"`), runs(toolset.CommandLine{Args: []string{"deploy", "--now"}}, "exactly x"), allow},
		{rules(`"allow","command":"deploy --now"`), runs(toolset.CommandLine{Args: []string{"deploy --now"}}, "exactly x"), ""},
		{rules(`"allow","command":"deploy --now"`), runs(toolset.CommandLine{Line: "deploy --now", Env: []string{"A=b"}}, "exactly x"), ""},
		{rules(`"allow","command":"go test"`), writes("/repo/a"), ""},
		{rules(`"allow","tool":"run_*"`), runs(line("anything"), "exactly x"), allow},
		{rules(`"allow","path":"**"`), runs(line("anything"), "exactly x"), ""},
		{rules(`"deny","command":"git push"`), runs(line("git push --force"), "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(line("git -C sub push"), "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(line("cd a && /usr/bin/git push"), "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(line(`g"i"t pu\sh`), "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(line("sh -c 'git push'"), "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(line("/usr/bin/gi? p*"), "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(line("{git,push}"), "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(toolset.CommandLine{Line: `C:\bin\Git.exe push`}, "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(toolset.CommandLine{Args: []string{"sh", "-c", "git  push"}}, "exactly x"), deny},
		{rules(`"deny","command":"git push"`), runs(line("git pull"), "exactly x"), ""},
		{rules(`"deny","command":"git push"`, `"allow","tool":"*"`), runs(line("$X push"), "exactly x"), ask},
		{rules(`"deny","command":"git push"`, `"allow","tool":"*"`), runs(line("`x` push"), "exactly x"), ask},
		{rules(`"deny","command":"git push"`, `"allow","tool":"*"`), runs(line("go test -run '^A$' ./..."), "go test"), allow},
		{rules(`"deny","command":"git push"`, `"ask","command":"git"`, `"allow","tool":"*"`), runs(line("git push"), "exactly x"), deny},
		{rules(`"ask","command":"git"`, `"allow","command":"git push"`), runs(line("git push"), "exactly x"), ask},
	} {
		got := decided(t, c.config, c.r)
		require.Equal(t, c.want, got.Verdict, "%s %+v", c.config, c.r.Approval.Preview[0].Command)
		if got.Verdict != "" {
			require.NotEmpty(t, got.Rule)
		}
	}
}

func TestConfigurationHasAMode(t *testing.T) {
	r := runs(line("x"), "exactly x")
	require.Equal(t, approval.Ruling{}, decided(t, `{}`, r))
	require.Equal(t, approval.Ruling{}, decided(t, `{"mode":"ask"}`, r))
	require.Equal(t, approval.Ruling{Verdict: toolset.VerdictAllow, Rule: "mode auto"}, decided(t, `{"mode":"auto"}`, r))
	require.Equal(t, toolset.VerdictDeny, decided(t, `{"mode":"read-only"}`, r).Verdict)
	require.Equal(t, approval.Ruling{Verdict: toolset.VerdictDeny, Rule: `deny command "x"`, Reason: "Not permitted by the user's configuration: it breaks things"},
		decided(t, `{"mode":"auto","rules":[{"decision":"deny","command":"x","reason":"it breaks things"}]}`, r), "a rule comes before the mode")
	require.Equal(t, toolset.VerdictAllow, decided(t, `{"mode":"read-only","rules":[{"decision":"allow","command":"x"}]}`, r).Verdict)
}

// FuzzParseConfig checks that a configuration that is accepted makes a layer, and that one without rules that allow, in mode ask, allows
// nothing.
func FuzzParseConfig(f *testing.F) {
	f.Add(`{"mode":"auto","rules":[{"decision":"deny","path":"a/**/b"},{"decision":"ask","command":"git push"},{"decision":"allow","tool":"*"}]}`, "/repo/a/x/b", "git push")
	f.Add(`{"rules":[{"decision":"deny","path":"/**","reason":"r"}]}`, `C:\x`, "`x`")
	f.Fuzz(func(t *testing.T, text, path, command string) {
		c, err := approval.ParseConfig([]byte(text))
		if err != nil {
			return
		}
		layer, err := c.Layer("/repo")
		require.NoError(t, err)
		allows := c.Mode == approval.ModeAuto
		for _, r := range c.Rules {
			allows = allows || r.Decision == toolset.VerdictAllow
		}
		for _, r := range []toolset.ApprovalRequest{writes(path), runs(line(command), "exactly x"), runs(toolset.CommandLine{Args: strings.Fields(command)}, "go test", "tail")} {
			ruling, err := layer.Decide(t.Context(), &r)
			require.NoError(t, err)
			require.False(t, !allows && ruling.Verdict == toolset.VerdictAllow)
		}
	})
}

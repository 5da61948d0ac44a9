// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

const whole = "\uFEFF" + `{
  "model": "openai:gpt-5-mini",
  "models": ["ollama:qwen3:8b", "offline"],
  "thinking": "low",
  "mode": "plan",
  "instructions": "Use tabs.",
  "permissions": {"mode": "auto", "rules": [{"decision": "deny", "path": "**/.env"}]},
  "always": [{"project": "/p", "tool": "run_command", "scope": "go test", "verdict": "allow"}],
  "files": "local",
  "terminal": "client-or-local",
  "env": ["GH_TOKEN", "MY_*"],
  "sandbox": true,
  "mcpServers": {"files": {"command": "npx"}},
  "languageServers": {"gopls": {"disabled": true}},
  "prompts": "my/prompts",
  "encrypt": "my/key",
  "bare": true
}`

func TestUserFileSetsEveryKey(t *testing.T) {
	dir := t.TempDir()
	u, err := config.ParseUser(filepath.Join(dir, "config.json"), []byte(whole))
	require.NoError(t, err)
	require.Equal(t, "openai:gpt-5-mini", u.Model)
	require.Equal(t, []string{"ollama:qwen3:8b", "offline"}, u.Models)
	require.Equal(t, []string{"low", "plan", "Use tabs."}, []string{u.Thinking, u.Mode, u.Instructions})
	require.Equal(t, approval.ModeAuto, u.Permissions.Mode)
	require.Len(t, u.Permissions.Rules, 1)
	require.Equal(t, []config.Side{config.Local, config.ClientOrLocal}, []config.Side{u.Files, u.Terminal})
	servers, err := mcptoolset.ParseConfig(u.MCPServers(), nil)
	require.NoError(t, err)
	require.Equal(t, mcptoolset.Command{Path: "npx"}.Path, servers[0].Transport.(mcptoolset.Command).Path)
	require.JSONEq(t, `{"gopls": {"disabled": true}}`, string(u.LanguageServers()))
	require.Equal(t, filepath.Join(dir, "my", "prompts"), u.Prompts)
	require.Equal(t, filepath.Join(dir, "my", "key"), u.Encrypt)
	require.True(t, u.Bare && *u.Sandbox)
	require.Equal(t, []string{"GH_TOKEN", "MY_*"}, u.Env)
	for _, k := range config.Keys() {
		require.Contains(t, whole, `"`+k.Name+`"`, "every key is tested")
	}
	require.EqualError(t, u.Wrong("models[1]", errors.New("x")), filepath.Join(dir, "config.json")+":3:33: models[1]: x")
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for text, want := range map[string][]string{
		``:                                      {"f:1:1: unexpected end of JSON input"},
		`[]`:                                    {"f:1:1: want an object, not a list"},
		`null`:                                  {"f:1:1: want an object, not null"},
		"{\n \"modell\": \"offline\"}":          {`f:2:2: "modell": unknown key; did you mean model? the keys are model, models, thinking`},
		`{"x\ny": 1}`:                           {`f:1:2: "x\ny": unknown key; the keys are`},
		`{"model": null}`:                       {"f:1:11: model: want a string, not null"},
		`{"model": "gpt-5"}`:                    {`f:1:11: model: "gpt-5" is not a model; want PROVIDER:NAME`},
		`{"models": "offline"}`:                 {"models: want a list of strings, not a string"},
		`{"models": [7, "offline", "offline"]}`: {"f:1:13: models[0]: want a string, not a number", `models[2]: "offline" is there twice`},
		`{"thinking": "hihg"}`:                  {`thinking: unknown value "hihg"; want "off", "minimal", "low", "medium" or "high"; did you mean "high"?`},
		`{"mode": "Plan"}`:                      {`mode: unknown value "Plan"; want "ask", "code" or "plan"; did you mean "plan"?`},
		`{"files": "editor"}`:                   {`files: unknown value "editor"; want "client", "client-or-local" or "local"`},
		`{"env": ["GH_TOKEN=x", "", 7]}`:        {`f:1:10: env[0]: "GH_TOKEN=x" is not the name of a variable`, "env[1]: ", "env[2]: want a string"},
		`{"bare": "yes"}`:                       {"bare: want true or false, not a string"},
		`{"encrypt": "env:"}`:                   {"encrypt: want keyring, env:NAME or a file"},
		`{"prompts": " "}`:                      {"prompts: want a directory"},
		`{"model": "offline", "model": "offline"}`: {`f:1:22: "model" is there twice`},
		"{\"permissions\": {\"rules\": [\n  {\"decision\": \"allow\", \"toool\": \"x\"}]},\n \"x\": 1}": {
			"f:2:25: permissions.rules[0].toool: unknown; use decision, tool, server, path, read, command, dir, host, sandbox, reason; did you mean tool?", `f:3:2: "x": unknown key`},
		`{"permissions": {"mode": "yolo"}}`: {`f:1:26: permissions.mode: unknown mode "yolo"; use ask, read-only or auto`},
		`{"permissions": null}`:             {"permissions: want an object, not null"},
	} {
		_, err := config.ParseUser("f", []byte(text))
		require.Error(t, err, text)
		for _, w := range want {
			require.ErrorContains(t, err, w, text)
		}
		var p *config.Problem
		require.ErrorAs(t, err, &p, text)
		require.NotZero(t, p.Line)
	}
}

func TestProjectFileCannotPermit(t *testing.T) {
	p, err := config.ParseProject("f", []byte(`{"permissions": {"mode": "read-only", "rules": [{"decision": "deny", "path": "x"}, {"decision": "ask", "command": "git push"}]}}`))
	require.NoError(t, err)
	require.Equal(t, approval.ModeReadOnly, p.Permissions.Mode)
	require.Len(t, p.Permissions.Rules, 2)
	for text, want := range map[string]string{
		`{"permissions": {"mode": "auto"}}`: "f:1:26: permissions.mode: a project cannot permit anything; use ask or read-only",
		"{\"permissions\": {\"rules\": [{\"decision\": \"deny\", \"tool\": \"*\"},\n{\"tool\": \"*\", \"decision\": \"allow\"}]}}": "f:2:27: permissions.rules[1].decision: a project cannot permit anything; use deny or ask",
		`{"permissions": {"rules": [{"decision": "allow", "path": "docs/**"}]}}`:                                                   "cannot permit anything",
		`{"permissions": {"rules": [{"decision": "deny", "tool": "a", "decision": "allow"}]}}`:                                     `"decision" is there twice`,
		`{"permissions": {"rules": [{"decision": "deny", "tool": "a"}]}, "permissions": {}}`:                                       `"permissions" is there twice`,
		`{"permissions": {"rules": [{"decision": "ask"}]}}`:                                                                        "matches nothing",
		`{"permissions": {"rules": [{"decision": "deny", "path": "../x"}]}}`:                                                       `must not have ".."`,
		`{"permissions": {"rules": [{"decision": "Allow", "tool": "*"}]}}`:                                                         `unknown decision "Allow"`,
		`{"permisions": {}}`:    `unknown key; did you mean permissions? the keys are permissions`,
		`{"premissions": null}`: `did you mean permissions?`,
	} {
		_, err := config.ParseProject("f", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	for _, k := range config.Keys() {
		_, err := config.ParseProject("f", []byte(`{"`+k.Name+`": {}}`))
		if k.Project {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "f:1:2: "+k.Name+": a project cannot set this; a project's file may have permissions only")
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	_, err := config.ReadUser(filepath.Join(dir, "none.json"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = config.ReadUser(dir)
	require.ErrorContains(t, err, dir+": cannot be read: not a regular file")
	large := write("large.json", []byte(`{"instructions": "`+strings.Repeat("x", config.MaxSize)+`"}`))
	_, err = config.ReadUser(large)
	require.ErrorContains(t, err, "larger than 1048576 bytes")
	u, err := config.ReadUser(write("ok.json", []byte(`{}`)))
	require.NoError(t, err)
	require.Empty(t, u.Model)

	p, err := config.ReadProject("ideagent", dir)
	require.NoError(t, err)
	require.Nil(t, p, "there is no file")
	p, err = config.ReadProject("ideagent", filepath.Join(dir, "nowhere"))
	require.NoError(t, err)
	require.Nil(t, p)
	path := write(".agents/ideagent.json", []byte(`{"permissions": {"mode": "ask"}}`))
	p, err = config.ReadProject("ideagent", dir)
	require.NoError(t, err)
	require.Equal(t, path, p.File)
	write(".agents/ideagent.json", []byte(strings.Repeat(" ", config.MaxSize+1)))
	_, err = config.ReadProject("ideagent", dir)
	require.ErrorContains(t, err, path+": cannot be read: larger than")
}

// FuzzProject checks that no text of a project is taken for one that permits something.
func FuzzProject(f *testing.F) {
	f.Add(whole)
	f.Add(`{"permissions": {"mode": "ask", "rules": [{"decision": "deny", "tool": "x"}, {"decision": "allow", "path": "y"}]}}`)
	f.Add(`{"permissions":{"rules":[{"decision":"deny","path":"**/[","decision":"allow"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := config.ParseUser("f", []byte(text))
		var problem *config.Problem
		require.True(t, err == nil || errors.As(err, &problem))
		p, err := config.ParseProject("f", []byte(text))
		if err != nil {
			return
		}
		require.NotEqual(t, approval.ModeAuto, p.Permissions.Mode)
		for _, r := range p.Permissions.Rules {
			require.Contains(t, []any{"deny", "ask"}, string(r.Decision))
		}
		_, err = p.Permissions.Layer("/repo")
		require.NoError(t, err)
	})
}

// The strictest rule of the user and of the projects decides about reading a file, and says why.
func TestStrictestRuleDecidesAboutReading(t *testing.T) {
	rules := func(decision toolset.Verdict) approval.Config {
		if decision == "" {
			return approval.Config{}
		}
		return approval.Config{Rules: []approval.ConfigRule{{Decision: decision, Read: "**/key", Reason: string(decision)}}}
	}
	const ask, deny = approval.VerdictAsk, toolset.VerdictDeny
	dir := t.TempDir()
	for _, c := range [][4]toolset.Verdict{ // of the user, of two projects, and together
		{"", "", "", ""}, {ask, "", "", ask}, {"", ask, "", ask}, {"", "", ask, ask}, {deny, "", "", deny}, {"", deny, "", deny}, {"", "", deny, deny},
		{ask, deny, "", deny}, {deny, ask, ask, deny}, {ask, ask, deny, deny}, {ask, "", deny, deny}, {"", deny, ask, deny}, {ask, ask, "", ask},
	} {
		var projects []*config.Project
		for _, decision := range c[1:3] {
			projects = append(projects, &config.Project{File: filepath.Join(dir, ".agents", "x.json"), Permissions: rules(decision)})
		}
		reads, err := config.Reads(&config.User{Permissions: rules(c[0])}, []string{dir}, projects)
		require.NoError(t, err)
		verdict, reason := reads(filepath.Join(dir, "a", "key"))
		require.Equal(t, [2]string{string(c[3]), string(c[3])}, [2]string{string(verdict), reason}, "%v", c)
		verdict, _ = reads(filepath.Join(dir, "a", "lock"))
		require.Empty(t, verdict)
	}
}

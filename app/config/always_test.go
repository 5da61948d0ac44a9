// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/toolset"
)

const commented = `{
	// which model answers
	"model": "offline",
	/* what is allowed */
	"permissions": {
		"rules": [
			{"decision": "allow", "command": "go test"}, // often
			{"decision": "deny", "path": "**/.env"},
		],
	},
}
`

// Rules are taken back by their text: all that have it go, whatever their reasons are.
func TestAllRulesWithATextAreTakenBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	rule := approval.Rule{Tool: "a", Verdict: toolset.VerdictAllow}
	const again = `{"project": "/p", "tool": "a", "verdict": "allow"}`
	require.NoError(t, os.WriteFile(file, []byte(`{"permissions": {"rules": [
		{"decision": "deny", "path": "a", "reason": "one"}, // first
		{"decision": "allow", "path": "a"},
		{"decision": "deny", "path": "a", "reason": "two"}, // second
		{"decision": "deny", "path": "a"},
	]}, "always": [`+again+`, {"project": "/q", "tool": "a", "verdict": "allow"}, `+again+`]}`), 0o600))
	require.NoError(t, config.DropRule(file, `deny path "a"`))
	require.NoError(t, (&config.Keeper{File: file, Project: "/p"}).Drop(rule))
	u, err := config.ReadUser(file)
	require.NoError(t, err)
	require.Len(t, u.Permissions.Rules, 1)
	require.Equal(t, toolset.VerdictAllow, u.Permissions.Rules[0].Decision)
	require.Equal(t, []config.Always{{Project: "/q", Rule: rule}}, u.Always)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), "// first")
	require.Contains(t, string(data), "// second")
}

func TestAlwaysInThisProjectIsWrittenWithTheCommentsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(file, []byte(commented), 0o640))
	link := filepath.Join(t.TempDir(), "link.json")
	require.NoError(t, os.Symlink(file, link))
	rule := approval.Rule{Tool: "run_command", Scope: "exactly sh \"make x\" in \"/p\"", Verdict: toolset.VerdictAllow}
	other := approval.Rule{Tool: "write_file", Source: "agent:x", Verdict: toolset.VerdictDeny}
	k, elsewhere := &config.Keeper{File: link, Project: "/p"}, &config.Keeper{File: link, Project: "/q"}
	require.NoError(t, k.Keep(rule, other))
	require.NoError(t, k.Keep(rule))
	require.NoError(t, elsewhere.Keep(rule))
	kept, err := k.Kept()
	require.NoError(t, err)
	require.Equal(t, []approval.Rule{rule, other}, kept)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, comment := range []string{"// which model answers", "/* what is allowed */", "// often"} {
		require.Contains(t, string(data), comment)
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	target, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, file, target)
	require.NoError(t, k.Drop(rule))
	require.NoError(t, k.Drop(rule))
	kept, err = k.Kept()
	require.NoError(t, err)
	require.Equal(t, []approval.Rule{other}, kept)
	kept, err = elsewhere.Kept()
	require.NoError(t, err)
	require.Equal(t, []approval.Rule{rule}, kept)
	require.NoError(t, config.DropRule(link, `deny path "**/.env"`))
	u, err := config.ReadUser(link)
	require.NoError(t, err)
	require.Len(t, u.Permissions.Rules, 1)
	require.Equal(t, "offline", u.Model)
	data, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), "// often")

	fresh := &config.Keeper{File: filepath.Join(t.TempDir(), "new", "config.json"), Project: "/p"}
	kept, err = fresh.Kept()
	require.NoError(t, err)
	require.Empty(t, kept)
	require.NoError(t, fresh.Keep(rule))
	kept, err = fresh.Kept()
	require.NoError(t, err)
	require.Equal(t, []approval.Rule{rule}, kept)

	broken := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"modell": "offline"}`), 0o600))
	require.ErrorContains(t, (&config.Keeper{File: broken, Project: "/p"}).Keep(rule), "unknown key")
	data, err = os.ReadFile(broken)
	require.NoError(t, err)
	require.JSONEq(t, `{"modell": "offline"}`, string(data), "a file with mistakes is not changed")
}

func TestMistakesAfterCommentsHaveTheirPlace(t *testing.T) {
	_, err := config.ParseUser("f", []byte("{\n// x\n\"model\": \"offline\", /* y */ \"modell\": 1}"))
	require.ErrorContains(t, err, "f:3:29: \"modell\": unknown key")
	for text, want := range map[string]string{
		`{"always": [{"project": "p", "tool": "x", "verdict": "allow"}]}`:  "absolute project",
		`{"always": [{"project": "/p", "tool": "x", "verdict": "maybe"}]}`: "allow or deny",
		`{"always": [{"project": "/p", "verdict": "allow"}]}`:              "a tool",
		`{"always": [{"x": 1}]}`: "remove it",
		`{"always": [7]}`:        "want an object",
	} {
		_, err := config.ParseUser("f", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestEveryRuleOfAFileCanBeTakenBack(t *testing.T) {
	const comment = "Words of the user."
	files := map[string]string{
		"indented": `{
  // ` + comment + `
  "permissions": {
    "rules": [
      {"decision": "deny", "path": "**/.env"}, // first
      {"decision": "allow", "command": "go vet ./..."} // second
    ]
  }
}
`,
		"trailing commas": `{ // ` + comment + `
"permissions": {"rules": [
	{"decision": "deny", "path": "**/.env"}, /* first */ {"decision": "allow", "command": "go vet ./..."}, /* second */
],},}`,
		"in one line": `{"permissions":{"rules":[{"decision":"deny","path":"**/.env"}/* first */,` +
			`{"decision":"allow","command":"go vet ./..."}/* second */]}} // ` + comment,
	}
	files["windows"] = "\xef\xbb\xbf" + strings.ReplaceAll(files["indented"], "\n", "\r\n")
	rules := []string{`deny path "**/.env"`, `allow command "go vet ./..."`}
	answer := approval.Rule{Tool: "write_file", Verdict: toolset.VerdictAllow}
	for name, text := range files {
		for i := range rules {
			file := filepath.Join(t.TempDir(), "config.json")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			k := &config.Keeper{File: file, Project: "/p"}
			require.NoError(t, config.DropRule(file, rules[i]), "%s: %s", name, rules[i])
			require.NoError(t, k.Keep(answer), name)
			u, err := config.ReadUser(file)
			require.NoError(t, err, name)
			require.Len(t, u.Permissions.Rules, 1, name)
			require.Equal(t, rules[1-i], u.Permissions.Rules[0].String(), name)
			require.NoError(t, k.Drop(answer), name)
			require.NoError(t, config.DropRule(file, rules[1-i]), name)
			u, err = config.ReadUser(file)
			require.NoError(t, err, name)
			require.Empty(t, u.Permissions.Rules, name)
			require.Empty(t, u.Always, name)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, stays := range []string{comment, "first", "second"} {
				require.Contains(t, string(data), stays, "%s: %s", name, data)
			}
		}
	}
}

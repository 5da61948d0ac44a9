// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/toolset"
)

const (
	allKeys     = "model, models, thinking, mode, instructions, permissions, always, files, terminal, env, sandbox, mcpServers, languageServers, prompts, encrypt, bare"
	wantModel   = ` is not a model; want PROVIDER:NAME, such as "openai:gpt-5-mini", or "offline"`
	wantName    = ` is not the name of a variable; want a name, such as "GH_TOKEN"`
	wantProject = "must have an absolute project, a tool, and a verdict: allow or deny"
)

// Every mistake is told with its place, the key, and what is allowed; and a file with several tells all.
func TestMistakesAreToldInFull(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "f:1:1: unexpected end of JSON input",
		`"x"`:                                    "f:1:1: want an object, not a string",
		`true`:                                   "f:1:1: want an object, not true or false",
		` 7`:                                     "f:1:2: want an object, not a number",
		`{"zzzzzzz": 1}`:                         `f:1:2: "zzzzzzz": unknown key; the keys are ` + allKeys,
		"{\n  \"bear\": true\n}":                 `f:2:3: "bear": unknown key; did you mean bare? the keys are ` + allKeys,
		`{"` + strings.Repeat("x", 65) + `": 1}`: `f:1:2: "` + strings.Repeat("x", 64) + `": unknown key; the keys are ` + allKeys,
		`{"model": 7}`:                           "f:1:11: model: want a string, not a number",
		`{"model": ""}`:                          `f:1:11: model: ""` + wantModel,
		`{"model": ":x"}`:                        `f:1:11: model: ":x"` + wantModel,
		`{"model": "x:"}`:                        `f:1:11: model: "x:"` + wantModel,
		`{"model": "Offline"}`:                   `f:1:11: model: "Offline"` + wantModel,
		`{"model": "` + strings.Repeat("x", 65) + `"}`: `f:1:11: model: "` + strings.Repeat("x", 64) + `"` + wantModel,
		`{"models": {}}`: "f:1:12: models: want a list of strings, not an object",
		`{"models": ["offline", "a:b",` + "\n" + `"a:b", {}, "a"]}`: "f:2:1: models[2]: \"a:b\" is there twice\nf:2:8: models[3]: want a string, not an object\nf:2:12: models[4]: \"a\"" + wantModel,
		`{"thinking": "zzzzzz"}`:                                    `f:1:14: thinking: unknown value "zzzzzz"; want "off", "minimal", "low", "medium" or "high"`,
		`{"thinking": "` + strings.Repeat("x", 65) + `"}`:           `f:1:14: thinking: unknown value "` + strings.Repeat("x", 64) + `"; want "off", "minimal", "low", "medium" or "high"`,
		`{"thinking": 1}`:                                           `f:1:14: thinking: want "off", "minimal", "low", "medium" or "high", not a number`,
		`{"mode": "read-only"}`:                                     `f:1:10: mode: unknown value "read-only"; want "ask", "code" or "plan"`,
		`{"files": "locl", "terminal": null}`:                       "f:1:11: files: unknown value \"locl\"; want \"client\", \"client-or-local\" or \"local\"; did you mean \"local\"?\nf:1:31: terminal: want \"client\", \"client-or-local\" or \"local\", not null",
		`{"env": ["A", "a b", "a=b", "a\tb", "a\rb", "a\nb", "a\u0000b", "", []]}`: "f:1:15: env[1]: \"a b\"" + wantName + "\nf:1:22: env[2]: \"a=b\"" + wantName + "\nf:1:29: env[3]: \"a\\tb\"" + wantName +
			"\nf:1:37: env[4]: \"a\\rb\"" + wantName + "\nf:1:45: env[5]: \"a\\nb\"" + wantName + "\nf:1:53: env[6]: \"a\\x00b\"" + wantName + "\nf:1:65: env[7]: \"\"" + wantName + "\nf:1:69: env[8]: want a string, not a list",
		`{"sandbox": 1, "bare": null, "instructions": []}`:                                                       "f:1:46: instructions: want a string, not a list\nf:1:13: sandbox: want true or false, not a number\nf:1:24: bare: want true or false, not null",
		`{"encrypt": "", "prompts": ""}`:                                                                         "f:1:28: prompts: want a directory, not an empty string\nf:1:13: encrypt: want keyring, env:NAME or a file",
		`{"encrypt": " ", "prompts": "\t"}`:                                                                      "f:1:29: prompts: want a directory, not an empty string\nf:1:13: encrypt: want keyring, env:NAME or a file",
		`{"encrypt": "env:"}`:                                                                                    "f:1:13: encrypt: want keyring, env:NAME or a file",
		`{"mcpServers": [], "languageServers": ""}`:                                                              "f:1:16: mcpServers: want an object, not a list\nf:1:39: languageServers: want an object, not a string",
		`{"always": {}}`:                                                                                         "f:1:12: always: want a list of objects, not an object",
		`{"always": [7, {"project": "/p", "tool": "x", "verdict": "allow"}, {}]}`:                                "f:1:13: always[0]: want an object, not a number\nf:1:68: always[2]: " + wantProject,
		`{"always": [{"project": "p", "tool": "x", "verdict": "deny"}]}`:                                         "f:1:13: always[0]: " + wantProject,
		`{"always": [{"project": "/p", "tool": "", "verdict": "deny"}]}`:                                         "f:1:13: always[0]: " + wantProject,
		`{"always": [{"project": "/p", "tool": "x", "verdict": "ask"}]}`:                                         "f:1:13: always[0]: " + wantProject,
		`{"always": [{"project": "/p", "tool": "x", "verdict": "deny", "y": 1}]}`:                                "f:1:13: always[0]: is not what ideagent writes there (json: unknown field \"y\"); remove it",
		`{"permissions": {"mode": "yolo"}}`:                                                                      `f:1:26: permissions.mode: unknown mode "yolo"; use ask, read-only or auto`,
		"{\"permissions\":\n  {\"mode\": 1,\n \"rules\": 2}}":                                                    "f:2:12: permissions.mode: want a string\nf:3:11: permissions.rules: want a list of rules",
		"{\"permissions\": {\"rules\": [{\"decision\": \"deny\", \"path\": \"x\"},\n {\"decision\": \"ask\"}]}}": "f:2:2: permissions.rules[1]: matches nothing; set tool, server, path, read, command, host or sandbox, or use mode for all calls",
	} {
		_, err := config.ParseUser("f", []byte(text))
		require.EqualError(t, err, want, text)
	}
	for text, want := range map[string]string{
		"{\"model\": \"offline\",\n\"permissions\": []}": "f:1:2: model: a project cannot set this; a project's file may have permissions only\nf:2:16: permissions: want an object, not a list",
		`{"permissions": {"mode": "auto", "rules": [{"decision": "deny", "tool": "x"}, {"tool": "x", "decision": "allow"}]}}`: "f:1:26: permissions.mode: a project cannot permit anything; use ask or read-only\n" +
			"f:1:105: permissions.rules[1].decision: a project cannot permit anything; use deny or ask, or put the rule into your own configuration",
		`{"zzzzz": 1}`: `f:1:2: "zzzzz": unknown key; the keys are permissions`,
		`[]`:           "f:1:1: want an object, not a list",
	} {
		_, err := config.ParseProject("f", []byte(text))
		require.EqualError(t, err, want, text)
	}
	_, err := config.ParseUser("a\nb", []byte(`[]`))
	require.EqualError(t, err, "a⟨LF⟩b:1:1: want an object, not a list")
	require.EqualError(t, &config.Problem{File: "f", Text: "is gone"}, "f: is gone")
}

func TestWhatCannotBeUsedIsToldWithItsPlace(t *testing.T) {
	u, err := config.ParseUser("f", []byte("{\n\"model\": \"a:b\",\n\"models\": [\"offline\", \"c:d\"], \"mcpServers\": {}}"))
	require.NoError(t, err)
	for key, want := range map[string]string{"model": "f:2:10", "models": "f:3:11", "models[0]": "f:3:12", "models[1]": "f:3:23", "mcpServers": "f:3:45", "env": "f"} {
		require.EqualError(t, u.Wrong(key, errors.New("why")), want+": "+key+": why")
	}
	require.EqualError(t, u.WrongAll("model", "x: ", errors.New("x: why")), "f:2:10: model: why")
	require.EqualError(t, u.WrongAll("model", "x: ", errors.Join(errors.New("x: one"), errors.New("two"))), "f:2:10: model: one\nf:2:10: model: two")
	require.Equal(t, `{"mcpServers":{}}`, string(u.MCPServers()))
	require.Nil(t, u.LanguageServers())
	require.Nil(t, (&config.User{}).MCPServers())
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string][2]string{
		`{"prompts": "p", "encrypt": "k"}`:                      {filepath.Join(dir, "p"), filepath.Join(dir, "k")},
		`{"prompts": "../p", "encrypt": "./k/"}`:                {filepath.Join(filepath.Dir(dir), "p"), filepath.Join(dir, "k")},
		`{"prompts": "/a/../p", "encrypt": "/k"}`:               {"/p", "/k"},
		`{"encrypt": "keyring"}`:                                {"", "keyring"},
		`{"encrypt": "env:KEY"}`:                                {"", "env:KEY"},
		`{"encrypt": "Keyring"}`:                                {"", filepath.Join(dir, "Keyring")},
		`{"model": "offline", "sandbox": false, "bare": false}`: {},
	} {
		u, err := config.ParseUser(filepath.Join(dir, "f"), []byte(text))
		require.NoError(t, err)
		require.Equal(t, want, [2]string{u.Prompts, u.Encrypt}, text)
		require.False(t, u.Bare)
		require.Equal(t, want == [2]string{}, u.Sandbox != nil && !*u.Sandbox)
	}
}

// What an answer adds to a file and takes away again, with comments on every side.
func TestEditsOfAFile(t *testing.T) {
	rule := approval.Rule{Tool: "x", Verdict: toolset.VerdictAllow}
	for _, c := range []struct{ name, before, kept, dropped string }{
		{"empty", "{}", `{"always": [{"project": "/p", "tool": "x", "verdict": "allow"}]}` + "\n", `{"always": []}` + "\n"},
		{
			"commented", "// top\n{\n\t// model\n\t\"model\": \"offline\", // end\n}\n",
			"// top\n{\n\t// model\n\t\"model\":  \"offline\", // end\n\t\"always\": [{\"project\": \"/p\", \"tool\": \"x\", \"verdict\": \"allow\"}],\n}\n",
			"// top\n{\n\t// model\n\t\"model\":  \"offline\", // end\n\t\"always\": [],\n}\n",
		},
		{
			"another answer", "\xef\xbb\xbf{\"always\": [\n\t/* q */ {\"project\": \"/q\", \"tool\": \"x\", \"verdict\": \"allow\"},\n]}",
			"\xef\xbb\xbf{\"always\": [\n\t/* q */ {\"project\": \"/q\", \"tool\": \"x\", \"verdict\": \"allow\"},\n\t{\"project\": \"/p\", \"tool\": \"x\", \"verdict\": \"allow\"},\n]}\n",
			"\xef\xbb\xbf{\"always\": [\n\t/* q */ {\"project\": \"/q\", \"tool\": \"x\", \"verdict\": \"allow\"},\n]}\n",
		},
	} {
		file := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(file, []byte(c.before), 0o600))
		k := &config.Keeper{File: file, Project: "/p"}
		content := func() string {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			return string(data)
		}
		require.NoError(t, k.Drop(rule), c.name)
		require.NoError(t, config.DropRule(file, "x"), c.name)
		require.NoError(t, k.Keep(), c.name)
		require.Equal(t, c.before, content(), "%s: nothing has changed", c.name)
		require.NoError(t, k.Keep(rule, rule), c.name)
		require.Equal(t, c.kept, content(), c.name)
		require.NoError(t, k.Keep(rule), c.name)
		require.Equal(t, c.kept, content(), c.name)
		require.NoError(t, k.Drop(rule), c.name)
		require.Equal(t, c.dropped, content(), c.name)
	}
}

// The file of the first answer is for its user only. A file that cannot be read stays as it is.
func TestEditsOfAFileThatIsNotThere(t *testing.T) {
	rule := approval.Rule{Tool: "x", Verdict: toolset.VerdictAllow}
	dir := filepath.Join(t.TempDir(), "new")
	file := filepath.Join(dir, "config.json")
	k := &config.Keeper{File: file, Project: "/p"}
	require.NoError(t, k.Drop(rule))
	require.NoFileExists(t, file)
	require.NoError(t, k.Keep(rule))
	for name, mode := range map[string]os.FileMode{dir: 0o700, file: 0o600, filepath.Join(dir, ".config.json.lock"): 0o600} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}

	k.File = filepath.Join(dir, "sub")
	require.NoError(t, os.Mkdir(k.File, 0o700))
	require.EqualError(t, k.Keep(rule), k.File+": cannot be read: is a directory")
	rules, err := k.Kept()
	require.NoError(t, err)
	require.Empty(t, rules)
	k.File = filepath.Join(file, "x")
	require.ErrorContains(t, k.Keep(rule), k.File+": it cannot be locked: ")
	require.EqualError(t, config.DropRule(filepath.Join(dir, "sub"), "x"), filepath.Join(dir, "sub")+": cannot be read: is a directory")
	require.NoError(t, os.WriteFile(file, []byte("{,}"), 0o600))
	k.File = file
	require.ErrorContains(t, k.Keep(rule), file+":1:")
}

func TestFilesAreReadUpToAMebibyte(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	write := func(size int) {
		require.NoError(t, os.WriteFile(file, []byte(`{}`+strings.Repeat(" ", size-2)), 0o600))
	}
	write(1 << 20)
	u, err := config.ReadUser(file)
	require.NoError(t, err)
	require.Equal(t, file, u.File)
	write(1<<20 + 1)
	_, err = config.ReadUser(file)
	require.EqualError(t, err, file+": cannot be read: larger than 1048576 bytes")
	_, err = config.ReadUser(filepath.Join(dir, "none"))
	require.EqualError(t, err, filepath.Join(dir, "none")+": cannot be read: no such file or directory")
	var problem *config.Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, config.Problem{File: filepath.Join(dir, "none"), Text: "cannot be read: no such file or directory"}, *problem)
}

func TestSandboxesDoNotReadWhatIsDenied(t *testing.T) {
	dir := t.TempDir()
	u := &config.User{Permissions: approval.Config{Rules: []approval.ConfigRule{{Decision: toolset.VerdictDeny, Read: "user"}, {Decision: approval.VerdictAsk, Read: "asked"}}}}
	denied := func() []string {
		unreadable, err := config.Unreadable("ideagent", u, dir)
		require.NoError(t, err)
		var all []string
		for _, name := range []string{"user", "asked", "project", "other"} {
			if unreadable(filepath.Join(dir, name)) {
				all = append(all, name)
			}
		}
		return all
	}
	require.Equal(t, []string{"user"}, denied())
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".agents"), 0o700))
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".agents", "ideagent.json"), []byte(text), 0o600))
	}
	write(`{"permissions": {"rules": [{"decision": "deny", "read": "project"}]}}`)
	require.Equal(t, []string{"user", "project"}, denied())
	write(`[]`)
	_, err := config.Unreadable("ideagent", u, dir)
	require.EqualError(t, err, filepath.Join(dir, ".agents", "ideagent.json")+":1:1: want an object, not a list")
	bad := approval.Config{Rules: []approval.ConfigRule{{Decision: toolset.VerdictDeny, Read: "["}}}
	_, err = config.Reads(&config.User{Permissions: bad}, []string{dir}, nil)
	require.Error(t, err)
	_, err = config.Reads(u, []string{dir}, []*config.Project{{File: filepath.Join(dir, ".agents", "x.json"), Permissions: bad}})
	require.Error(t, err)
}

// A directory has two names if it is reached by a link, and rules hold for both.
func TestNamesOfDirectories(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	require.Equal(t, []string{link, dir}, config.NamesOf(link))
	require.Equal(t, []string{dir}, config.NamesOf(dir))
	reads, err := config.Reads(&config.User{Permissions: approval.Config{Rules: []approval.ConfigRule{{Decision: toolset.VerdictDeny, Read: "key"}}}}, []string{link}, nil)
	require.NoError(t, err)
	for _, root := range []string{dir, link} {
		verdict, _ := reads(filepath.Join(root, "key"))
		require.Equal(t, toolset.VerdictDeny, verdict, root)
	}
	t.Setenv("XDG_CONFIG_HOME", dir)
	user, err := config.UserDir("ideagent")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "ideagent"), user)
}

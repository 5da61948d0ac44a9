// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// entry is an agent of a registry's file with a distribution.
func entry(id, distribution string) string {
	return fmt.Sprintf(`{"id":%q,"name":"An agent","version":"1.2.3","description":"It is one.","distribution":%s}`, id, distribution)
}

func file(entries ...string) []byte {
	return []byte(`{"version":"1.0.0","agents":[` + strings.Join(entries, ",") + `],"extensions":[]}`)
}

const npx = `{"npx":{"package":"@scope/agent@1.2.3","args":["--acp"],"env":{"QUIET":"1"}}}`

func TestBuiltinAgentsAreValid(t *testing.T) {
	data, err := os.ReadFile("agents.json")
	require.NoError(t, err)
	_, err = acpclient.ParseRegistry(data)
	require.NoError(t, err)
	for _, name := range []string{"claude-code", "claude", "claude-acp", "codex", "gemini", "opencode", "goose", "fast-agent", "pi"} {
		a, err := acpclient.BuiltinRegistry().Find(name)
		require.NoError(t, err)
		require.False(t, a.User)
		d := a.Distribution
		for _, p := range []*acpclient.RegistryPackage{d.NPX, d.UVX} {
			if p != nil {
				require.Contains(t, p.Package, a.Version)
			}
		}
		for _, b := range d.Binary {
			require.Contains(t, b.Archive, a.Version)
		}
	}
}

func TestUnknownNameSuggestsTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"claude-cod": `no agent "claude-cod"; did you mean claude-acp?`,
		"geminy":     "did you mean gemini?",
		"Codex-ACP":  "did you mean codex-acp?",
		"agent":      "did you mean fast-agent?",
		"code":       "did you mean codex-acp or claude-acp or opencode?",
		"zzz":        "Registry.Agents lists all",
		"":           "Registry.Agents lists all",
	} {
		_, err := acpclient.BuiltinRegistry().Find(name)
		var unknown *acpclient.UnknownAgentError
		require.ErrorAs(t, err, &unknown, name)
		require.ErrorContains(t, err, want, name)
	}
}

func TestUsersFileWins(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("AppData", dir)
	name, err := acpclient.RegistryFile()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(name, dir))

	all, err := acpclient.LoadRegistry()
	require.NoError(t, err)
	require.Equal(t, acpclient.BuiltinRegistry().Agents(), all.Agents())

	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	// It takes the name claude-code, and so the place of the agent that has this alias.
	require.NoError(t, os.WriteFile(name, file(entry("claude-code", npx), entry("mine", `{"command":{"path":"mine"}}`)), 0o600))
	all, err = acpclient.LoadRegistry()
	require.NoError(t, err)
	a, err := all.Find("claude-code")
	require.NoError(t, err)
	require.True(t, a.User)
	require.Equal(t, "@scope/agent@1.2.3", a.Distribution.NPX.Package)
	_, err = all.Find("claude-acp")
	require.Error(t, err)
	_, err = all.Find("mine")
	require.NoError(t, err)
	require.Len(t, all.Agents(), len(acpclient.BuiltinRegistry().Agents())+1)

	if runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(name, 0o666))
		_, err = acpclient.LoadRegistry()
		require.ErrorContains(t, err, "other users may write it")
	}
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Mkdir(name, 0o700))
	_, err = acpclient.LoadRegistry()
	require.ErrorContains(t, err, "not a regular file")
}

func TestOneAgentIsARegistryToo(t *testing.T) {
	r, err := acpclient.ParseRegistry([]byte(entry("one", npx)))
	require.NoError(t, err)
	require.Len(t, r.Agents(), 1)
}

func TestUnknownMembersOfAnEntryAreIgnored(t *testing.T) {
	_, err := acpclient.ParseRegistry([]byte(`{"id":"a","name":"A","version":"1.0.0","description":"","icon":"x.svg","new":[1],"distribution":` + npx + `}`))
	require.NoError(t, err)
}

func TestHostileFilesAreRefused(t *testing.T) {
	binary := func(archive, cmd, more string) string {
		return fmt.Sprintf(`{"binary":{"linux-x86_64":{"archive":%q,"cmd":%q%s}}}`, archive, cmd, more)
	}
	env := func(name, value string) string {
		return fmt.Sprintf(`{"npx":{"package":"a@1.0.0","env":{%q:%q}}}`, name, value)
	}
	cases := map[string]string{
		entry("../a", npx):          "not a name",
		entry("", npx):              `the list "agents" is missing`,
		entry("a", `{}`):            "distribution: it is missing",
		entry("a", `{"docker":{}}`): "unknown field",
		entry("a", `{"npx":{"package":"a@1.0.0","cwd":"/"}}`):                                   "unknown field",
		entry("a", `{"npx":{"package":"a"}}`):                                                   "exact version",
		entry("a", `{"npx":{"package":"a@latest"}}`):                                            "exact version",
		entry("a", `{"npx":{"package":"a@^1.0.0"}}`):                                            "exact version",
		entry("a", `{"npx":{"package":"--registry=https://x@1.0.0"}}`):                          "exact version",
		entry("a", `{"npx":{"package":"../a@1.0.0"}}`):                                          "exact version",
		entry("a", `{"npx":{"package":"@a/../b@1.0.0"}}`):                                       "exact version",
		entry("a", `{"npx":{"package":"a@1.0.0 b@1.0.0"}}`):                                     "exact version",
		entry("a", `{"npx":{"package":"a@git+https://example.com/x"}}`):                         "exact version",
		entry("a", `{"npx":{"package":"a@file:/tmp/x"}}`):                                       "exact version",
		entry("a", `{"uvx":{"package":"a>=1.0"}}`):                                              "exact version",
		entry("a", `{"uvx":{"package":"-e ."}}`):                                                "exact version",
		entry("a", `{"uvx":{"package":"a @ https://example.com/a.whl"}}`):                       "exact version",
		entry("a", binary("http://example.com/a.zip", "a", "")):                                 "not an https address",
		entry("a", binary("file:///etc/passwd", "a", "")):                                       "not an https address",
		entry("a", binary("https://u:p@example.com/a.zip", "a", "")):                            "has a user in it",
		entry("a", binary("https://example.com/a.zip", "../a", "")):                             "not the path of a program in the archive",
		entry("a", binary("https://example.com/a.zip", "b/../../a", "")):                        "not the path",
		entry("a", binary("https://example.com/a.zip", "/bin/sh", "")):                          "not the path",
		entry("a", binary("https://example.com/a.zip", `..\a`, "")):                             "not the path",
		entry("a", binary("https://example.com/a.zip", `C:a`, "")):                              "not the path",
		entry("a", binary("https://example.com/a.zip", "", "")):                                 "not the path",
		entry("a", binary("https://example.com/a.zip", "a", `,"sha256":"12"`)):                  "not a SHA-256",
		entry("a", `{"binary":{"plan9-mips":{"archive":"https://example.com/a","cmd":"a"}}}`):   "unknown platform",
		entry("a", env("LD_PRELOAD", "/tmp/x.so")):                                              "could make other code run",
		entry("a", env("Path", "/tmp")):                                                         "could make other code run",
		entry("a", env("npm_config_registry", "https://x")):                                     "could make other code run",
		entry("a", env("NODE_OPTIONS", "--require /tmp/x.js")):                                  "could make other code run",
		entry("a", env("HTTPS_PROXY", "http://x")):                                              "could make other code run",
		entry("a", env("ANTHROPIC_BASE_URL", "http://x")):                                       "send data elsewhere",
		entry("a", env("A=B", "c")):                                                             "not the name of a variable",
		entry("a", env("", "c")):                                                                "not the name of a variable",
		entry("a", env("A\n", "c")):                                                             "not the name of a variable",
		entry("a", `{"npx":{"package":"a@1.0.0","env":{"A":"b\u0000c"}}}`):                      "NUL",
		entry("a", `{"npx":{"package":"a@1.0.0","args":["\u0000"]}}`):                           "cannot be an argument",
		entry("a", `{"npx":{"package":"a@1.0.0","args":["`+strings.Repeat("x", 5000)+`"]}}`):    "cannot be an argument",
		entry("a", `{"npx":{"package":"a@1.0.0","args":[`+strings.Repeat(`"x",`, 100)+`"x"]}}`): "more than 100",
		entry("a", `{"command":{"path":""}}`):                                                   "not the path of a program",
		entry("a", `{"command":{"path":"./agent"}}`):                                            "neither a name nor an absolute path",
		entry("a", `{"command":{"path":"bin/agent"}}`):                                          "neither a name nor an absolute path",
	}
	for text, want := range cases {
		_, err := acpclient.ParseRegistry([]byte(text))
		require.ErrorContains(t, err, want, "%.200s", text)
	}
	for text, want := range map[string]string{
		``:                                "not a registry",
		`[]`:                              "not a registry",
		`{"agents":{}}`:                   "not a registry",
		`{"agents":[]} []`:                "after the registry's object",
		`{"version":"2.0.0","agents":[]}`: "version",
		`{"agents":[null]}`:               "not a name",
		strings.Repeat(" ", 5<<20):        "larger than",
		`{"agents":[` + strings.Repeat(`{},`, 2000) + `{}]}`:                                         "more than 2000",
		string(file(entry("a", npx), entry("a", npx))):                                               `another agent "a"`,
		string(file(entry("a", npx), strings.Replace(entry("b", npx), `{`, `{"aliases":["a"],`, 1))): `another agent "a"`,
	} {
		_, err := acpclient.ParseRegistry([]byte(text))
		require.ErrorContains(t, err, want, "%.200s", text)
	}
}

// Whatever a file says, nothing that Parse accepts leads out of the store.
func FuzzParse(f *testing.F) {
	builtin, err := os.ReadFile("agents.json")
	require.NoError(f, err)
	f.Add(builtin)
	f.Add(file(entry("a", npx), entry("b", `{"binary":{"linux-x86_64":{"archive":"https://example.com/a.zip","cmd":"./b/a"}}}`)))
	f.Add([]byte(entry("a", `{"uvx":{"package":"a[b]==1.0.post1"}}`)))
	store := acpclient.AgentStore{Dir: filepath.Join(f.TempDir(), "store"), Platform: "linux-x86_64"}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := acpclient.ParseRegistry(data)
		if err != nil {
			return
		}
		for _, a := range r.Agents() {
			var missing *acpclient.NotInstalledError
			if _, err := store.Command(a); a.Distribution.Command == nil && len(a.Distribution.Binary) == 0 {
				require.ErrorAs(t, err, &missing)
				require.Equal(t, store.Dir, filepath.Dir(missing.Dir))
			}
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
)

// write writes files below a directory.
func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// configFile writes a configuration.
func configFile(t *testing.T, text string) string {
	t.Helper()
	return filepath.Join(write(t, t.TempDir(), map[string]string{"config.json": text}), "config.json")
}

func newSession(t *testing.T, p *agentProcess, work string) *acpclient.Session {
	t.Helper()
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err, p.stderr.String())
	return s
}

func answer(t *testing.T, s *acpclient.Session, text string) string {
	t.Helper()
	turn, err := s.Say(t.Context(), text)
	require.NoError(t, err)
	return turn.Text()
}

func option(t *testing.T, s *acpclient.Session, id string) view.Setting {
	t.Helper()
	all := s.Options()
	i := slices.IndexFunc(all, func(o view.Setting) bool { return o.ID == id })
	require.GreaterOrEqual(t, i, 0, "%v", all)
	return all[i]
}

// countQuestions says yes to everything, and counts what the agent asks.
func countQuestions(asked *atomic.Int32) acpclient.PermissionFunc {
	return func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
		if !r.Unasked {
			asked.Add(1)
		}
		return acpclient.AllowAll(ctx, r)
	}
}

func TestInvalidConfigStopsSessions(t *testing.T) {
	file := configFile(t, "{\n  \"mode\": \"fast\",\n  \"modell\": \"offline\"\n}")
	work := workDir(t)
	p := startAgent(t, work, "-config", file) // initialize is answered
	_, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.ErrorContains(t, err, file+`:2:11: mode: unknown value "fast"; want "ask", "code" or "plan"`)
	require.ErrorContains(t, err, file+`:3:3: "modell": unknown key; did you mean model?`)
	for _, err := range p.Sessions(t.Context(), "") { // the file may say that they are encrypted
		require.ErrorContains(t, err, file+`:3:3: "modell": unknown key`)
	}
	require.Contains(t, p.stderr.String(), "ideagent: "+file+":3:3: ")

	_, stderr, code := ideagent(t, "chat", "-config", file, "hi")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, file+":2:11: mode")
	_, stderr, code = ideagent(t, "chat", "-config", file+".none", "hi")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "config.json.none: cannot be read: no such file")
}

func TestConfigOfModelsIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"model": "opnai:x"}`:                     `:1:11: model: `,
		`{"models": ["offline", "nobody:x"]}`:      `:1:24: models[1]: `,
		`{"model": "openai:x", "thinking": "off"}`: "",
		`{"model": "openai:x", "thinking": "max"}`: `:1:35: thinking: unknown value "max"`,
	} {
		file, work := configFile(t, text), workDir(t)
		p := startAgentWith(t, work, []string{"OPENAI_API_KEY=sk-x"}, acpclient.AllowAll, "-config", file)
		_, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, file+want)
	}
}

func TestUserFileInItsPlace(t *testing.T) {
	work, home := workDir(t), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	write(t, home, map[string]string{
		"ideagent/config.json":        `{"mode": "code", "models": ["openai:x"]}`,
		"ideagent/prompts/find.md":    "---\ndescription: Find a word.\nargument-hint: word\n---\nsearch $ARGUMENTS",
		"ideagent/prompts/help.md":    "never",
		"ideagent/prompts/not one.md": "never",
	})
	write(t, work, map[string]string{
		"found.txt": "a needle\n", ".agents/prompts/look.md": "search needle", ".agents/prompts/find.md": "never", ".agents/prompts/mode.md": "never",
	})
	p := startAgent(t, work)
	s := newSession(t, p, work)
	require.Equal(t, "code", option(t, s, "mode").Value)
	require.Equal(t, "offline", option(t, s, "model").Value, "the flag comes before the file")
	help := answer(t, s, "/help")
	require.Contains(t, help, "- `/find word` Find a word.")
	require.Contains(t, help, "- `/look text` Prompt from look.md.")
	require.Equal(t, 1, strings.Count(help, "`/mode "))
	require.Contains(t, answer(t, s, "/find needle"), "found.txt:1: a needle")
	require.Contains(t, answer(t, s, "/look"), "found.txt:1: a needle")
	require.Contains(t, p.stderr.String(), "/help is a command of ideagent: give help.md another name")
	require.Contains(t, p.stderr.String(), `"not one.md"`)

	// Prompts of the project are those of the time when they are used.
	write(t, work, map[string]string{".agents/prompts/later.md": "search needle"})
	require.Contains(t, answer(t, s, "/later"), "found.txt:1: a needle")
}

func TestPermissionsOfUserAndProject(t *testing.T) {
	work := workDir(t)
	write(t, work, map[string]string{
		"a.txt": "one\n", "b.txt": "one\n", ".env": "one\n", "sub/.env": "one\n", "docs/a.md": "one\n", "secret/a.md": "one\n",
		".agents/ideagent.json": `{"permissions": {"mode": "ask", "rules": [
			{"decision": "deny", "path": "**/.env", "reason": "it has secrets"},
			{"decision": "ask", "path": "docs/**"}]}}`,
	})
	file := configFile(t, `{"permissions": {"mode": "auto", "rules": [
		{"decision": "allow", "path": "**/*.txt"}, {"decision": "allow", "path": "**"}, {"decision": "deny", "path": "secret/**", "reason": "mine"}]}}`)
	var asked atomic.Int32
	p := startAgentWith(t, work, nil, countQuestions(&asked), "-model", "offline", "-config", file)
	s := newSession(t, p, work)
	for _, c := range []struct {
		prompt, said string
		asked        int32
	}{
		{"replace one with two in a.txt", "Replaced", 0},
		{"replace one with two in .env", "not permitted", 0},
		{"replace one with two in sub/.env", "not permitted", 0},
		{"replace one with two in docs/a.md", "Replaced", 1},
		{"replace one with two in secret/a.md", "not permitted", 0},
		{"run go version", "", 1}, // the user's mode is auto, the project's is ask
		{`create .agents/ideagent.json with "{}"`, "Wrote", 1},
		{`create .agents/prompts/x.md with "x"`, "Wrote", 1},
		{"replace one with two in .env", "not permitted", 0}, // the rules of the session stay
	} {
		asked.Store(0)
		said := answer(t, s, c.prompt)
		require.Contains(t, said, c.said, c.prompt)
		require.Equal(t, c.asked, asked.Load(), c.prompt)
	}

	// In the mode that changes files without asking, the files of the configuration are asked about too.
	require.NoError(t, s.SetMode(t.Context(), "code"))
	asked.Store(0)
	answer(t, s, `create .agents/ideagent.json with "{ }"`)
	require.Equal(t, int32(1), asked.Load())
}

// A link gives a file another name, and rules are about files.
func TestRulesFollowLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	work := write(t, workDir(t), map[string]string{
		".env": "one\n", "sub/x": "one\n", "docs/a": "one\n", "other": "one\n",
		".agents/ideagent.json": `{"permissions": {"rules": [{"decision": "deny", "path": "**/.env"}, {"decision": "deny", "path": "sub/**"}]}}`,
	})
	for link, to := range map[string]string{"pub.txt": ".env", "dir": "sub", "ag": ".agents", "docs/out": "../other", "chain": "pub.txt"} {
		require.NoError(t, os.Symlink(to, filepath.Join(work, link)))
	}
	file := configFile(t, `{"permissions": {"rules": [{"decision": "allow", "path": "docs/**"}, {"decision": "allow", "path": "pub.txt"}]}}`)
	var asked atomic.Int32
	s := newSession(t, startAgentWith(t, work, nil, countQuestions(&asked), "-model", "offline", "-config", file), work)
	for _, c := range []struct {
		prompt, said string
		asked        int32
	}{
		{"replace one with two in pub.txt", "not permitted", 0},
		{"replace one with two in chain", "not permitted", 0},
		{"replace one with two in dir/x", "not permitted", 0},
		{`create dir/new with "x"`, "not permitted", 0},
		{"replace one with two in docs/a", "Replaced", 0},
		{"replace one with two in docs/out", "Replaced", 1}, // only the link is in docs
		{`create ag/ideagent.json with "{}"`, "Wrote", 1},
	} {
		asked.Store(0)
		require.Contains(t, answer(t, s, c.prompt), c.said, c.prompt)
		require.Equal(t, c.asked, asked.Load(), c.prompt)
	}
	require.Equal(t, "one\n", text(t, work, ".env"))
	require.Equal(t, "one\n", text(t, work, "sub/x"))

	// A session may be in a directory that is a link itself.
	write(t, work, map[string]string{".agents/ideagent.json": `{"permissions": {"rules": [{"decision": "deny", "path": "**/.env"}]}}`})
	link := filepath.Join(workDir(t), "link")
	require.NoError(t, os.Symlink(work, link))
	file = configFile(t, fmt.Sprintf(`{"permissions": {"rules": [{"decision": "allow", "path": %q}]}}`, filepath.ToSlash(link)+"/docs/**"))
	s = newSession(t, startAgentWith(t, link, nil, countQuestions(&asked), "-model", "offline", "-config", file), link)
	asked.Store(0)
	require.Contains(t, answer(t, s, "replace two with three in docs/a"), "Replaced")
	require.Contains(t, answer(t, s, "replace one with two in pub.txt"), "not permitted")
	require.Zero(t, asked.Load())
}

func TestProjectFileThatPermitsStopsTheSession(t *testing.T) {
	for _, text := range []string{
		`{"permissions": {"mode": "auto"}}`, `{"permissions": {"rules": [{"decision": "allow", "tool": "*"}]}}`,
		`{"model": "openai:x"}`, `{"mcpServers": {"x": {"command": "touch", "args": ["pwned"]}}}`, `{"instructions": "x"}`, `{"prompts": "/etc"}`,
		`{"files": "local"}`, `null`, ``,
	} {
		work := write(t, workDir(t), map[string]string{".agents/ideagent.json": text})
		p := startAgent(t, work)
		_, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
		require.ErrorContains(t, err, filepath.Join(work, ".agents", "ideagent.json")+":1:", text)
		require.NoFileExists(t, filepath.Join(work, "pwned"))
		other := workDir(t)
		newSession(t, p, other) // other projects are not affected
		_, err = p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: other, AdditionalDirectories: []string{work}})
		require.Error(t, err, "a further directory counts too")
	}
}

func TestInstructionsAndMCPServersOfTheUser(t *testing.T) {
	work := workDir(t)
	servers, err := json.Marshal(map[string]any{"gone": map[string]any{"command": filepath.Join(work, "no-such-program")}})
	require.NoError(t, err)
	file := configFile(t, fmt.Sprintf(`{"instructions": "Use tabs.", "mcpServers": %s, "bare": true}`, servers))
	s := newSession(t, startAgent(t, work, "-config", file), work)
	answer(t, s, "help")
	told := ""
	for e := range s.Snapshot().All() {
		told += e.Title + e.Text() + "\n"
	}
	require.Contains(t, told, `MCP server "gone"`, "the user is told that the server is not there")
}

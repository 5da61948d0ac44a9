// SPDX-License-Identifier: Apache-2.0

package program

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// asked waits for a question about a command, and returns its path and digest, and the id of the
// choice with a title.
func (p *running) asked(path, command, title string) (question, digest, choice string) {
	about := `"kind":"question","title":"Run ` + command
	line := p.until(path, about)
	line = line[strings.LastIndex(line[:strings.Index(line, about)], `"id":"question:`):]
	_, id, _ := strings.Cut(line, `"id":"question:`)
	id, rest, _ := strings.Cut(id, `"`)
	_, digest, _ = strings.Cut(rest, `"digest":"`)
	digest, _, _ = strings.Cut(digest, `"`)
	before, _, ok := strings.Cut(rest, title)
	require.True(p.t, ok, line)
	choice = before[strings.LastIndex(before, `"id":"`)+len(`"id":"`):]
	choice, _, _ = strings.Cut(choice, `"`)
	return path + "/questions/" + url.PathEscape("question:"+id), digest, choice
}

// Commands run in the sandbox without any flag. One answer lets further ones run unasked, until it is
// taken back in the browser.
func TestCommandsOfTheBrowserRunInTheSandbox(t *testing.T) {
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{}})
	if errors.Is(err, local.ErrSandbox) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir, outside := t.TempDir(), t.TempDir()
	p := start(t, dir, t.TempDir())
	defer p.stop()
	path := "/api/sessions/" + p.call("POST", "/api/sessions", `{}`, 201)["id"].(string)
	say := func(text string) { p.call("POST", path+"/prompts", `{"parts":[{"text":"`+text+`"}]}`, 202) }

	say("run `touch inside; touch " + outside + "/escaped; echo one-$((1+1))`")
	question, digest, choice := p.asked(path, "touch inside", "all commands in the sandbox")
	p.call("POST", question, `{"digest":"`+digest+`","choice":"`+choice+`"}`, 204)
	p.until(path, "one-2")
	p.until(path, `"running":false`)
	require.FileExists(t, filepath.Join(dir, "inside"))
	require.NoFileExists(t, filepath.Join(outside, "escaped"))

	say("run `touch again; echo two-$((1+2))`") // unasked
	p.until(path, "two-3")
	p.until(path, `"running":false`)
	require.FileExists(t, filepath.Join(dir, "again"))
	rules, _ := p.call("GET", path+"/permissions", "", 200)["permissions"].([]any)
	require.Len(t, rules, 1)
	rule, _ := rules[0].(map[string]any)
	id, _ := rule["id"].(string)
	p.call("DELETE", path+"/permissions/"+id, "", 204)

	say("run `touch third`")
	question, digest, _ = p.asked(path, "touch third", "all commands in the sandbox")
	p.call("POST", question, `{"digest":"`+digest+`","choice":"reject_once"}`, 204)
	_, err = os.Stat(filepath.Join(dir, "third"))
	require.ErrorIs(t, err, os.ErrNotExist)
	p.until(path, `"running":false`)

	say(`use run_command {\"command\":\"touch ` + outside + `/left; echo four-$((1+3))\",\"sandbox\":\"none\"}`) // a command may ask to leave it
	question, digest, _ = p.asked(path, "touch "+outside, "Allow")
	p.call("POST", question, `{"digest":"`+digest+`","choice":"allow_once"}`, 204)
	p.until(path, "four-4")
	require.FileExists(t, filepath.Join(outside, "left"))
}

// With -sandbox=false no rule about sandboxed commands is offered. With -sandbox, no session of a
// machine that has no sandbox runs a command.
func TestTheSandboxOfTheBrowserIsAFlag(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	p := start(t, dir, t.TempDir(), "-sandbox=false")
	path := "/api/sessions/" + p.call("POST", "/api/sessions", `{}`, 201)["id"].(string)
	p.call("POST", path+"/prompts", `{"parts":[{"text":"run `+"`touch one`"+`"}]}`, 202)
	line := p.until(path, `"kind":"question","title":"Run touch one`)
	require.NotContains(t, line, "all commands in the sandbox")
	p.stop()
	require.NoFileExists(t, filepath.Join(dir, "one"))

	t.Setenv("PATH", t.TempDir()) // without bubblewrap
	p = start(t, dir, t.TempDir(), "-sandbox")
	path = "/api/sessions/" + p.call("POST", "/api/sessions", `{}`, 201)["id"].(string)
	p.call("POST", path+"/prompts", `{"parts":[{"text":"run `+"`touch two`"+`"}]}`, 500)
	p.stop()
	require.Contains(t, p.said.String(), "no session can start")
	require.NoFileExists(t, filepath.Join(dir, "two"))
}

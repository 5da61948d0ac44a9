// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// foreign is an agent that others wrote. Its model, a fake provider on this machine, has it run "touch made.txt" and say "All done.".
type foreign struct {
	install func() (string, error)
	// command returns how to start it, and writes what it has to find in its home.
	command  func(t *testing.T, p place) acpclient.Command
	provider func(w http.ResponseWriter, path string, body []byte)
	auth     acp.AuthMethodID
	prompt   string
	// asks says that it asks before it runs a command, and aborts that it ends its turn if the answer is no.
	// silent says that it tells of no calls.
	asks, aborts, silent bool
}

// place is where an agent runs.
type place struct{ dir, home, repo, url string }

func (p place) write(t *testing.T, name, content string) {
	t.Helper()
	name = filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// script is the command of a JavaScript file of an installed package.
func (p place) script(file string, args []string, env ...string) acpclient.Command {
	return acpclient.Command{
		Path: "node", Args: append([]string{filepath.Join(p.dir, "node_modules", filepath.FromSlash(file))}, args...), Dir: p.repo,
		OnlyEnv: true, Env: cleanEnv(append(env, "HOME="+p.home)...),
	}
}

// at installs an agent and makes a place for it. Homes do not lie in the temporary directory: Codex refuses that.
func (f *foreign) at(t *testing.T) (acpclient.Command, place) {
	t.Helper()
	deepTier(t) // they are 1.7 GB
	p := place{dir: installed(t, f.install), repo: t.TempDir()}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if p.home, err = os.MkdirTemp(cache, "ponte-home-"); err != nil {
		t.Fatal(err)
	}
	home := p.home
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if f.provider != nil {
		p.url = provider(t, f.provider)
	}
	return f.command(t, p), p
}

func ran(t *testing.T, p place) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(p.repo, "made.txt"))
	return err == nil
}

func TestForeignAgentsAreDriven(t *testing.T) {
	for name, f := range foreigners {
		for _, kind := range []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindRejectOnce} {
			if kind == acp.PermissionOptionKindRejectOnce && !f.asks {
				continue
			}
			t.Run(name+" "+string(kind), func(t *testing.T) {
				command, place := f.at(t)
				p := &person{kind: kind}
				turn := converse(t, command, f.auth, acpclient.Config{Permission: p.answer, OnStderr: func(line string) { t.Log(line) }}, place.repo, f.prompt)
				allowed := kind == acp.PermissionOptionKindAllowOnce
				want := acp.StopReasonEndTurn
				if !allowed && f.aborts {
					want = acp.StopReasonCancelled
				}
				if turn.StopReason != want {
					t.Errorf("the turn ended with %s", turn.StopReason)
				}
				if got := len(p.asked) > 0; got != f.asks {
					t.Errorf("asked %q", p.asked)
				}
				if got := ran(t, place); got != allowed {
					t.Errorf("the command ran: %v", got)
				}
				if allowed && (!strings.Contains(turn.Text(), "All done.") || !f.silent && !strings.Contains(calls(turn), "completed")) {
					t.Error("the turn was not whole")
				}
				for e := range turn.Snapshot.All() {
					t.Logf("%s %s %s %s %s %s", e.Kind, e.Title, e.Status, e.Text(), e.Input, e.Output)
				}
			})
		}
	}
}

// An outer agent calls the foreign one as a tool, and its questions go to the outer asker.
func TestForeignAgentsAreTools(t *testing.T) {
	for name, f := range foreigners {
		t.Run(name, func(t *testing.T) {
			command, place := f.at(t)
			ctx, cancel := context.WithTimeout(t.Context(), slow)
			defer cancel()
			tool := acpclient.Tool[struct{}]("helper", "Does it.", acpclient.Agent{
				Name: "helper", Command: command, Session: acpclient.SessionConfig{Cwd: place.repo}, Config: acpclient.Config{StartTimeout: slow},
			})
			arguments, _ := json.Marshal(map[string]string{"prompt": f.prompt})
			outer := modeltest.Script(modeltest.Say(model.ToolCall("1", "helper", string(arguments))), modeltest.SayText("It is done."))
			a, err := agent.New(agent.Config[struct{}, string]{Model: outer, Tools: []*toolset.Tool[struct{}]{tool}})
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			asker := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
				asked++
				return toolset.Allow(), nil
			}}
			res, err := a.Run(ctx, struct{}{}, "Have it done.", agent.WithAsker(asker))
			if err != nil {
				t.Fatal(err)
			}
			if (asked > 0) != f.asks || !ran(t, place) || res.Output != "It is done." {
				t.Errorf("asked %d times, ran %v, said %q", asked, ran(t, place), res.Output)
			}
			if text := toolText(res.Messages); !strings.Contains(text, "All done.") {
				t.Errorf("the outer model was told %q", text)
			}
		})
	}
}

// toolText is what a history says tools have returned.
func toolText(history []*model.Message) string {
	var all strings.Builder
	for _, m := range history {
		for i := range m.Parts {
			if m.Parts[i].Kind == model.PartToolReturn {
				all.WriteString(m.Parts[i].Text)
			}
		}
	}
	return all.String()
}

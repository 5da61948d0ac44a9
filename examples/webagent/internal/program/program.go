// SPDX-License-Identifier: Apache-2.0

// Package program is webagent, which main packages with other stores share.
package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel" // openai, openrouter, groq, mistral, ollama, …
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	_ "github.com/ponte-go/ponte/app/encryption"
	_ "github.com/ponte-go/ponte/app/evals"
	_ "github.com/ponte-go/ponte/app/keyring"
	"github.com/ponte-go/ponte/app/offline"
	_ "github.com/ponte-go/ponte/app/sqlite" // sessions outlive the program
	"github.com/ponte-go/ponte/app/web"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

const instructions = `You are a coding agent. Work on the files of the working directory with your tools.
Look before you change: read a file before you write it, and search rather than guess. Make the smallest change that does
what was asked, run the project's own tests where there are some, and say briefly what you did and what you found.
If the user refuses something, do not try the same in another way; ask what to do instead.`

// deps holds the files and commands that the tools of a session work on.
type deps struct {
	files   *local.Workspace
	work    *workspace.Session
	changes *checkpoint.Recorder
}

// Config describes webagent.
func Config() app.Config[deps, string] {
	var env []string
	sandbox, required := true, func() bool { return false }
	machine := func(dir string) local.Config {
		c := local.Config{Roots: []string{dir}, PassEnv: env}
		if sandbox {
			c.Sandbox = &local.Sandbox{MayLeave: true, Optional: !required()}
			if dir, err := os.UserCacheDir(); err == nil {
				c.Sandbox.Cache = filepath.Join(dir, "ponte", "sandbox")
			}
		}
		return c
	}
	var once sync.Once
	say := func(string, ...any) {}
	return app.Config[deps, string]{
		Name:    "webagent",
		Title:   "Ponte",
		About:   "A coding agent in the browser",
		Default: "web",
		New: func(_ context.Context, e *app.Env) (*agent.Agent[deps, string], error) {
			code, err := lsptoolset.New(lsptoolset.Config{Run: machine("")})
			if err != nil {
				return nil, err
			}
			e.OnClose(code.Close)
			say = e.Say
			return newAgent(e, code)
		},
		Deps: func(_ context.Context, s *host.Session, _ host.Place) (deps, error) {
			d, err := newDeps(machine(s.Info().Dir))
			if errors.Is(err, local.ErrSandbox) {
				once.Do(func() { say("no session can start: %v", err) })
			}
			if err != nil {
				return deps{}, err
			}
			if why := d.files.Unsandboxed(); why != nil {
				once.Do(func() { say("commands run without the sandbox: %v", why) })
			}
			d.work.ContinueAfter(s.Info().Head)
			return d, nil
		},
		Host: host.Config[deps, string]{
			Modes:   host.Modes(),
			Release: func(ctx context.Context, _ *host.Session, d deps) error { return d.close(ctx) },
			Keep:    func(_ *host.Session, d deps) bool { return len(d.work.Terminals()) > 0 },
			RunOptions: func(_ context.Context, d deps, _ *host.Prompt) ([]agent.RunOption, error) {
				d.changes.Mark("prompt")
				return nil, nil
			},
		},
		Demo: func(pace time.Duration) model.Model {
			return offline.New(offline.Config{Delay: max(pace, 20*time.Millisecond)})
		},
		Surfaces: []app.Surface{web.New(web.Options{})},
		Flags: func(f *pflag.FlagSet) {
			f.FuncP("env", "", "the `names` of further variables that commands get, separated by commas; * matches any text", func(names string) error {
				env = strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
				return nil
			})
			f.BoolVar(&sandbox, "sandbox", true, "run commands in a sandbox, with bubblewrap on Linux; if it is given, never without one")
			required = func() bool { return f.Changed("sandbox") }
		},
	}
}

// newAgent makes the agent, with code intelligence where a language server is installed.
func newAgent(e *app.Env, code *lsptoolset.Servers) (*agent.Agent[deps, string], error) {
	work := func(d deps) *workspace.Session { return d.work }
	var more []agent.Capability[deps]
	if len(code.Installed()) > 0 {
		more = append(more, lsptoolset.Capability(code, work, lsptoolset.Options{}))
	}
	return agent.New(agent.Config[deps, string]{
		Name:         "webagent",
		Model:        e.Model(),
		Instructions: instructions,
		Capabilities: more,
		Toolsets:     []toolset.Toolset[deps]{workspace.Tools(work), checkpoint.Tools(func(d deps) *checkpoint.Recorder { return d.changes })},
	})
}

// newDeps opens the directory of a session.
func newDeps(c local.Config) (deps, error) {
	files, err := local.Open(c)
	if err != nil {
		return deps{}, err
	}
	changes := checkpoint.New(files, checkpoint.Options{})
	return deps{files, workspace.NewSession(changes), changes}, nil
}

// close ends the commands of a session.
func (d deps) close(ctx context.Context) error {
	return errors.Join(d.work.Close(ctx), d.files.Close())
}

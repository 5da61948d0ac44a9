// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
	"github.com/ponte-go/ponte/webbridge"
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

// local configures what this machine does in a directory.
func (f *flags) local(dir string) local.Config {
	named := strings.FieldsFunc(f.env, func(r rune) bool { return r == ',' || r == ' ' })
	c := local.Config{Roots: []string{dir}, PassEnv: named}
	if f.sandbox {
		c.Sandbox = &local.Sandbox{}
		if dir, err := os.UserCacheDir(); err == nil {
			c.Sandbox.Cache = filepath.Join(dir, "ponte", "sandbox")
		}
	}
	return c
}

// newDeps opens the directory of a session.
func (f *flags) newDeps(_ context.Context, s *host.Session) (deps, error) {
	files, err := local.Open(f.local(s.Info().Dir))
	if err != nil {
		return deps{}, err
	}
	changes := checkpoint.New(files, checkpoint.Options{})
	return deps{files, workspace.NewSession(changes), changes}, nil
}

// release ends the commands of a session.
func release(ctx context.Context, _ *host.Session, d deps) error {
	return errors.Join(d.work.Close(ctx), d.files.Close())
}

// serve brings an agent into the browser: it makes the tools, the agent and the handler.
func serve(ctx context.Context, f *flags, dir string, m model.Model, store session.Store, out io.Writer) error {
	code, err := lsptoolset.New(lsptoolset.Config{Run: f.local("")})
	if err != nil {
		return err
	}
	defer code.Close()
	work := func(d deps) *workspace.Session { return d.work }
	var more []agent.Capability[deps]
	if len(code.Installed()) > 0 {
		more = append(more, lsptoolset.Capability(code, work, lsptoolset.Options{}))
	}
	a, err := agent.New(agent.Config[deps, string]{
		Name:         "webagent",
		Model:        m,
		Instructions: instructions,
		Capabilities: more,
		Toolsets: []toolset.Toolset[deps]{
			workspace.Tools(work),
			checkpoint.Tools(func(d deps) *checkpoint.Recorder { return d.changes }),
		},
	})
	if err != nil {
		return err
	}
	token := webbridge.NewToken()
	h, err := webbridge.New(webbridge.Config[deps, string]{
		Host: host.Config[deps, string]{
			Agent: a, Store: store, Modes: host.Modes(), Deps: f.newDeps, Release: release,
			Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
			Keep:   func(_ *host.Session, d deps) bool { return len(d.work.Terminals()) > 0 },
			RunOptions: func(_ context.Context, d deps, p *host.Prompt) ([]agent.RunOption, error) {
				d.changes.Mark("prompt")
				return nil, nil
			},
		},
		Options: webbridge.Options{
			Token: token, Title: "Ponte", Dirs: []string{dir}, Page: page,
			Protocols: []webbridge.Protocol{
				webbridge.OpenAI(webbridge.OpenAIOptions{Name: "webagent"}), webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}),
			},
		},
	})
	if err != nil {
		return err
	}
	return listen(ctx, f, token, h, out)
}

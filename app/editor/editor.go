// SPDX-License-Identifier: Apache-2.0

// Package editor has programs of package app speak the Agent Client Protocol on standard input and
// output, for editors: their command "acp".
//
// Agents whose tools work on the editor's files have dependencies that implement [deps.Carrier],
// and [Deps] makes them. Package coding of app makes more than that. Agents without files need
// nothing.
package editor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Options configures the surface. The zero value is useful.
type Options struct {
	// Bridge returns how sessions are served. It is called when the host has been made. In, Out,
	// Auth and Info are filled in if they are empty. Nil means the zero value.
	Bridge func() acpbridge.Options
}

// New returns the surface "acp".
func New(o Options) app.Surface { return surface{o} }

// Deps makes a function for [app.Config].Deps of one that needs the editor's side: its files and
// terminals. In sessions without an editor, it gets the files and commands of this machine that l
// allows.
func Deps[D deps.Carrier](
	l acpbridge.LocalFallback, f func(ctx context.Context, acp deps.ACPDeps) (D, error),
) func(context.Context, *host.Session, host.Place) (D, error) {
	return func(ctx context.Context, s *host.Session, _ host.Place) (d D, err error) {
		acp, err := acpbridge.DepsOf(s, l)
		if err != nil {
			return d, err
		}
		return f(ctx, acp)
	}
}

type surface struct{ o Options }

// Name implements [app.Surface].
func (surface) Name() string { return "acp" }

// Command implements [app.Surface].
func (s surface) Command(e *app.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Be an agent for editors: speak ACP on standard input and output",
		Long: `Speaks the Agent Client Protocol (ACP) on standard input and output. Editors start it: add the
command to the agents in the editor's settings.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "login" || args[0] == "logout") { // an editor has put it behind its own arguments
				return e.KeepKey(cmd.Context(), args[0] == "logout", Provider(cmd.Context(), e))
			}
			if len(args) > 0 {
				shown := show.Line(stores.Mask(args[0]))
				return app.Usage("unknown argument %q; to ask for something, use: %s chat %q", shown, e.Name, shown)
			}
			return s.serve(cmd.Context(), e)
		},
	}
}

// Provider returns the provider of the program's model, empty if there is none that needs a key.
func Provider(ctx context.Context, e *app.Env) string {
	if _, err := e.Host(ctx); err == nil && e.Login() != nil {
		return e.Login().Provider()
	}
	return ""
}

func (s surface) serve(ctx context.Context, e *app.Env) error {
	h, err := e.Host(ctx)
	if err != nil {
		return err
	}
	if err := Ready(e); err != nil {
		return err
	}
	if e.Problem() != nil {
		e.SayProblem()
		e.Say("no session begins until this is mended and %s is started again", e.Name)
	}
	o := Bridge(e, s.o.Bridge)
	if e.Replaced {
		o.In, o.Out = e.In, e.Out
	}
	return acpbridge.ServeHost(ctx, h, o)
}

// Local returns how commands run on this machine, as the user's configuration says.
func Local(e *app.Env) (c local.Config) {
	required := e.Config.Sandbox
	if c.PassEnv = e.Config.Env; required == nil || *required {
		c.Sandbox = &local.Sandbox{MayLeave: true, Optional: required == nil}
		if dir, err := os.UserCacheDir(); err == nil {
			c.Sandbox.Cache = filepath.Join(dir, e.Name, "sandbox")
		}
	}
	return c
}

// Ready returns an error if the agent's tools need files and the program makes no dependencies with
// files.
func Ready(e *app.Env) error {
	if of, made := e.Deps(); !made && of != nil && of.Implements(reflect.TypeFor[deps.Carrier]()) {
		return errors.New("app: config: Deps is nil, but the agent's dependencies have an editor's files: use editor.Deps, or the Deps of a coding.Kit")
	}
	return nil
}

// Bridge returns how the sessions of a program are served, with what was left empty filled in.
func Bridge(e *app.Env, make func() acpbridge.Options) (o acpbridge.Options) {
	if make != nil {
		o = make()
	}
	if o.Info.Name == "" {
		o.Info.Name, o.Info.Title, o.Info.Version = e.Name, &e.Title, e.Version
	}
	if l := e.Login(); o.Auth == nil && l != nil {
		o.Auth = auth{e.Name, l}
	}
	return o
}

// Check implements [app.Checker].
func (s surface) Check(_ context.Context, e *app.Env) []app.Check {
	c := app.Check{Name: "editors", Found: fmt.Sprintf("add the command %q to an editor's agents", e.Name+" acp")}
	if c.Err = Ready(e); c.Err != nil {
		c.Mend = "this is a mistake in the program: tell its author"
	}
	return []app.Check{c}
}

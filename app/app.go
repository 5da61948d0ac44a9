// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/internal/confine"
	"github.com/ponte-go/ponte/internal/guard"
)

// Config describes a program. Name and one of Agent and New are required.
type Config[D, O any] struct {
	// Name is the name of the command, and of the program's directories and files. It has
	// lower-case letters, digits and dashes. About says in one line what the program is for. Help
	// is the text above the commands in its help, empty for About.
	Name, About, Help string
	// Title is the agent's name for people, empty for Name. Version is the program's, empty for
	// that of the build.
	Title, Version string

	// Agent answers. It needs no model: the user's is used. New makes it instead of Agent, if it
	// depends on the user's model, configuration or flags.
	Agent *agent.Agent[D, O]
	New   func(ctx context.Context, e *Env) (*agent.Agent[D, O], error)
	// Deps makes the dependencies of a session that has its files and commands at a place. Nil
	// means the zero value. For agents with files see package coding.
	Deps func(ctx context.Context, s *host.Session, p host.Place) (D, error)
	// Host configures the sessions. Its Agent, Store and Deps must be nil. Without Models, users
	// choose from what they have keys for. Setup, if not nil, changes the configuration of the host
	// that is made of all this, when flags and files have been read.
	Host  host.Config[D, O]
	Setup func(e *Env, c *host.Config[D, O]) error

	// Store opens the store of sessions. Nil means the place that -store names, which by default is
	// a directory of the user's: see [RegisterStore]. The host closes it if it is an [io.Closer].
	Store func(ctx context.Context, e *Env) (session.Store, error)
	// Demo makes the model "offline", the last resort. It waits for pace between two pieces of
	// text. It may be nil. See package offline.
	Demo func(pace time.Duration) model.Model

	// Surfaces are the ways to use the agent. Commands makes further commands. Flags adds flags
	// that all commands have.
	Surfaces []Surface
	Commands []func(e *Env) *cobra.Command
	Flags    func(flags *pflag.FlagSet)
	// Default is the command that runs if none is named. Empty means chat in a terminal, if there
	// is such a command, and the help elsewhere.
	Default string
	// Checks are further checks of the command doctor.
	Checks []func(ctx context.Context, e *Env) []Check
}

// Surface is a way to use an agent, such as a terminal.
type Surface interface {
	// Name is the name of the surface's command.
	Name() string
	// Command makes the command. It is called once for each program that runs. The command's RunE
	// calls [Env.Host]. Errors of the class [ExitError] select the exit code.
	Command(e *Env) *cobra.Command
}

// Process holds the arguments, streams and environment of a run. Zero fields select those of the
// operating system's process.
type Process struct {
	// Args are the arguments without the name of the program.
	Args []string
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	// Getenv returns the variables of the environment.
	Getenv func(string) string
}

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2 // a mistake in the command line
)

// ExitError is an error that selects the exit code of the program.
type ExitError struct {
	// Code is the exit code: 1 for an error, 2 for a mistake in the command line. Err is the
	// reason. If it is nil, it has been shown.
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// Usage returns an error for a mistake in the command line.
func Usage(format string, args ...any) error {
	return &ExitError{exitUsage, fmt.Errorf(format, args...)}
}

// Main runs the program with the arguments of the process, and exits.
func Main[D, O any](c Config[D, O]) {
	confine.Helper()   // which becomes a command if it was started for that
	guard.Undumpable() // there are keys in its memory
	hurry()
	os.Exit(Run(context.Background(), c, Process{Args: os.Args[1:]}))
}

// Run is [Main] without the process around it: it returns the exit code. It does not handle
// signals; commands that serve end with ctx.
func Run[D, O any](ctx context.Context, c Config[D, O], p Process) int {
	e := newEnv(p, c.Name)
	err := c.check()
	if err == nil {
		c.fill(e)
		err = e.execute(ctx, p.Args)
		err = errors.Join(err, e.close())
	}
	return e.exit(err)
}

var names = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// check returns all that is wrong with the configuration, joined.
func (c *Config[D, O]) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("app: config: "+format, args...)) }
	if !names.MatchString(c.Name) {
		bad("Name is %q: use lower-case letters, digits and dashes", c.Name)
	}
	if (c.Agent == nil) == (c.New == nil) {
		bad("set one of Agent and New")
	}
	if c.Host.Agent != nil || c.Host.Store != nil || c.Host.Deps != nil {
		bad("Host.Agent, Host.Store and Host.Deps are set: use Agent, Store and Deps")
	}
	if len(c.Surfaces)+len(c.Commands) == 0 {
		bad("there are no Surfaces: name some, or call Main of package app/all, which has all of them")
	}
	seen := map[string]bool{}
	for _, s := range c.Surfaces {
		if s == nil || seen[s.Name()] {
			bad("Surfaces has a nil, or two with one name")
			break
		}
		seen[s.Name()] = true
	}
	return errors.Join(errs...)
}

// fill has the environment know what it needs of the configuration, without its types.
func (c *Config[D, O]) fill(e *Env) {
	e.About, e.Help, e.Title, e.demo, e.openStore = c.About, c.Help, c.Title, c.Demo, c.Store
	if e.Title == "" {
		e.Title = c.Name
	}
	if e.Version = c.Version; e.Version == "" {
		e.Version = release()
	}
	e.surfaces, e.commands, e.flags, e.first, e.checks = c.Surfaces, c.Commands, c.Flags, c.Default, c.Checks
	e.depsType, e.hasDeps = reflect.TypeFor[D](), c.Deps != nil
	e.ownModel = c.Host.Models != nil || c.Agent != nil && c.Agent.ModelInfo().Name != ""
	e.makeHost = func(ctx context.Context) (*host.Host, error) {
		h, err := c.host(ctx, e)
		if err != nil {
			return nil, err
		}
		return host.New(*h)
	}
}

// host returns the configuration of the host.
func (c *Config[D, O]) host(ctx context.Context, e *Env) (*host.Config[D, O], error) {
	h, err := c.Host, error(nil)
	if h.Agent = c.Agent; c.New != nil {
		if h.Agent, err = c.New(ctx, e); err != nil {
			return nil, err
		}
	}
	if h.Store, err = e.Store(ctx); err != nil {
		return nil, err
	}
	h.Deps = func(ctx context.Context, s *host.Session) (d D, err error) {
		if wrong := e.Problem(); wrong != nil {
			return d, fmt.Errorf("mend the configuration and start %s again: %w", e.Name, wrong)
		}
		if c.Deps == nil {
			return d, nil
		}
		return c.Deps(ctx, s, s.Place())
	}
	if h.Models == nil {
		h.Models = e.models
	}
	if h.Modes != nil {
		h.Modes = modesFrom(h.Modes, e.Config.Mode)
	}
	if h.Window == 0 && e.model != nil {
		h.Window = e.model.Info().ContextWindow
	}
	if h.Idle == 0 {
		h.Idle = *e.idle
	}
	if h.Logger == nil {
		h.Logger = e.Logger
	}
	if h.Runner == nil {
		if h.Runner, err = e.runner(ctx, h.Store); err != nil {
			return nil, err
		}
	}
	if c.Setup != nil {
		err = c.Setup(e, &h)
	}
	waiting := host.WaitingCommand()
	own := func(c host.Command) bool { return c.Name == waiting.Name }
	if !slices.ContainsFunc(h.Commands, own) {
		h.Commands = append(slices.Clip(h.Commands), waiting)
	}
	return &h, err
}

// modesFrom returns the modes, and first the one in which sessions begin.
func modesFrom(all []host.Mode, first string) []host.Mode {
	sorted := make([]host.Mode, 0, len(all))
	for _, m := range all {
		if m.ID == first {
			sorted = append(sorted, m)
		}
	}
	for _, m := range all {
		if m.ID != first {
			sorted = append(sorted, m)
		}
	}
	return sorted
}

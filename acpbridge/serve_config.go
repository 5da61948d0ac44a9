// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"runtime/debug"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// Config configures [Serve]. Host.Agent is required, and Deps or Host.Deps, unless D is
// [deps.ACPDeps] itself.
type Config[D deps.Carrier, O any] struct {
	// Host configures the agent, its sessions, and what users can choose. With Host.Store, clients
	// can list, load, resume and delete sessions, also after the agent was killed. Nil keeps them
	// in memory until they are closed or the connection ends. For an own Host.Deps see [DepsOf],
	// for Host.RunOptions [PromptOf].
	Host host.Config[D, O]

	// Deps makes the dependencies of a session. It is short for a Host.Deps that calls [DepsOf]
	// with Local. The result must contain acp, with its Workspace or another one, which ends with
	// the session. Deps is called before session/new, session/load and session/resume are answered,
	// with a ctx that ends with the request, and its error is the answer. Updates that it sends are
	// sent after the answer.
	Deps func(ctx context.Context, acp deps.ACPDeps) (D, error)

	// Local lets this machine provide files and commands that a client lacks. By default, the tools
	// for them are not offered. With Local, session/new fails with -32602 if this machine is needed
	// and a directory of the session does not exist on it. It is not used with Host.Deps.
	Local LocalFallback

	Options
}

// Options configure a connection with an editor. The zero value is usable.
type Options struct {
	// Info is the agent's name and version. By default, they are taken from the program's build
	// information.
	Info acp.Implementation

	// LinkedFiles bounds the bytes of linked files that are added to a prompt, in total. Files are
	// read through the session's workspace, under its rules for paths. Of a link to lines, only
	// these are read. Files that the workspace or the model does not accept, or that do not fit,
	// are left to the model's tools. So are all files if LinkedFiles is 0.
	LinkedFiles int

	// Unstable serves parts of the protocol that may change with each of its releases, to clients
	// that ask for them. With a store these are session/fork, session/archive, session/unarchive,
	// session/set_title, session/status, and archived sessions in session/list, which leaves them
	// out unless the client asks. Clients that announce "plan" get several plans, as plan_update
	// and plan_removed, instead of plan. Clients that announce "subagents" get inner agents as
	// subagent_update, and their prompts and answers as session_message and session_message_chunk.
	// Answers to prompts have the usage of the turn. With MCP servers of package acpmcp, clients
	// may host servers themselves and exchange their messages as mcp/message. See package unstable.
	Unstable bool

	// In and Out are the connection's streams, closed at its end if they are [io.Closer]s. If both
	// are nil the process's standard input and output are taken over: see [Serve].
	In  io.Reader
	Out io.Writer

	// ShutdownTimeout bounds how long Serve waits for turns, the release of dependencies and the
	// client when it ends; 0 is 1.5 s.
	ShutdownTimeout time.Duration

	// MCP connects to the MCP servers that clients name: see package acpmcp. If it is nil, they are
	// only logged.
	MCP MCPServers

	// Auth logs the user in and out. Nil means that no login is needed.
	Auth Auth

	// Conn tunes the connection; see there for the limits of messages and queues. Its Logger is the
	// host's unless it has its own.
	Conn acp.ConnOptions
}

const defaultShutdownTimeout = 1500 * time.Millisecond

// check returns all that is wrong with the configuration, joined.
func (c *Config[D, O]) check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("acpbridge: config: "+format, args...))
	}
	if c.Host.Agent == nil {
		bad("Host.Agent is nil: make one with agent.New")
	}
	if c.Deps == nil && c.Host.Deps == nil {
		if _, plain := any(*new(D)).(deps.ACPDeps); !plain {
			bad("Deps is nil: set a function that returns a %T with the deps.ACPDeps it is given", *new(D))
		}
	}
	if c.Deps != nil && c.Host.Deps != nil {
		bad("Deps and Host.Deps are set: use one of them")
	}
	if c.Host.Busy > host.BusySteer {
		bad("Host.Busy is %d: use host.BusyRefuse, host.BusyQueue or host.BusySteer", c.Host.Busy)
	}
	return errors.Join(append(errs, c.Options.check())...)
}

func (o *Options) check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("acpbridge: config: "+format, args...))
	}
	if (o.In == nil) != (o.Out == nil) {
		bad("set both In and Out, or neither to use standard input and output")
	}
	if o.LinkedFiles < 0 {
		bad("LinkedFiles is %d: use a number of bytes, or 0 to leave files to the model's tools", o.LinkedFiles)
	}
	if o.ShutdownTimeout < 0 {
		bad("ShutdownTimeout is %v: use a positive duration, or 0 for %v", o.ShutdownTimeout, defaultShutdownTimeout)
	}
	if err := checkAuthMethods(o.Auth); err != nil {
		bad("%w", err)
	}
	return errors.Join(errs...)
}

// host returns the host that the configuration describes.
func (c *Config[D, O]) host() (*host.Host, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	of := c.Host
	if of.Window == 0 && of.Info != nil {
		of.Window = of.Info.ContextWindow
	} else if of.Window == 0 {
		of.Window = of.Agent.ModelInfo().ContextWindow
	}
	if of.Deps == nil {
		of.Deps = c.deps
	}
	return host.New(of)
}

// deps is [host.Config].Deps.
func (c *Config[D, O]) deps(ctx context.Context, s *host.Session) (d D, err error) {
	given, err := DepsOf(s, c.Local)
	switch {
	case err != nil:
		return d, err
	case c.Deps == nil:
		return any(given).(D), nil
	}
	return c.Deps(ctx, given)
}

// withDefaults fills in what was left empty.
func (o Options) withDefaults(log *slog.Logger) Options {
	if o.Conn.Logger == nil {
		o.Conn.Logger = log
	}
	if o.ShutdownTimeout == 0 {
		o.ShutdownTimeout = defaultShutdownTimeout
	}
	if o.Conn.FlushTimeout == 0 {
		o.Conn.FlushTimeout = o.ShutdownTimeout / 6
	}
	o.Info = describe(o.Info)
	return o
}

// describe fills in the program's name and version.
func describe(info acp.Implementation) acp.Implementation {
	name, version := "agent", "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		if build.Path != "" {
			name = path.Base(build.Path)
		}
		if build.Main.Version != "" {
			version = build.Main.Version
		}
	}
	if info.Name == "" {
		info.Name = name
	}
	if info.Version == "" {
		info.Version = version
	}
	return info
}

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
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// Config says what [Serve] serves and how. Agent is required, and Deps unless D is [deps.ACPDeps] itself.
type Config[D deps.Carrier, O any] struct {
	// Agent answers the prompts. It serves all sessions.
	Agent *agent.Agent[D, O]

	// Store keeps the sessions, so that clients can list, load, resume and delete them, also after the agent was killed. Nil keeps them in
	// memory until they are closed or the connection ends. Serve does not close the store.
	Store sessions.Store

	// Idle is the time without a turn after which a session of the Store is released: see Deps and Release. 0 means
	// 10 minutes, a negative value never.
	Idle time.Duration

	// Deps makes the dependencies of a session. They must contain acp, with its Workspace or another one, which ends
	// with the session. Deps is called before session/new, session/load and session/resume are answered, with a ctx
	// that ends with the request, and its error is the answer. Updates that it sends, such as slash commands, are
	// sent after the answer. Calls for different sessions may be concurrent.
	//
	// With a Store, Deps is called again when an idle session is used, after Release was called for its previous
	// dependencies.
	//
	// Deps may be nil if D is [deps.ACPDeps].
	Deps func(ctx context.Context, acp deps.ACPDeps) (D, error)

	// Local lets this machine provide files and commands that a client lacks. By default, the tools for them are not
	// offered. With Local, session/new fails with -32602 if this machine is needed and a directory of the session
	// does not exist on it.
	Local LocalFallback

	// Release frees what Deps has made, once for each call of Deps: when the session is closed or has been idle, or
	// when Serve ends. No turn of the session is running then. Its ctx ends when Serve stops waiting. An error is
	// logged.
	Release func(ctx context.Context, d D) error

	// Info is the agent's name and version. By default, they are taken from the program's build information.
	Info acp.Implementation

	// Model describes the model that answers. Nil means the agent's own. Its Media decides whether prompts may
	// contain images and audio, as announced in initialize. If it has a ContextWindow, the user is shown how full it
	// is.
	Model *model.Info

	// Prices are the prices of the models, such as those of package agent/model/prices. If set, and the model has a
	// ContextWindow, the user is shown the cost of the session so far, for models of known price. Currency is the ISO
	// 4217 code of the prices. Empty means USD.
	Prices   model.PriceTable
	Currency string

	// LinkedFiles bounds the bytes of linked files that are added to a prompt, in total. Files are read through the
	// session's workspace, under its rules for paths. Of a link to lines, only these are read. Files that the
	// workspace or the model does not accept, or that do not fit, are left to the model's tools. So are all files if
	// LinkedFiles is 0.
	LinkedFiles int

	// Modes, Models and Thinking are what users can choose from in a session; the first is the default. Settings are
	// the program's own. Clients get all of them as options with their categories, and the modes also in the older
	// form. The choice is kept with the session. [host.Modes] returns ready-made modes.
	Modes    []host.Mode
	Models   []host.Model
	Thinking []string
	Settings []host.Setting

	// Layers returns the layers that decide first about calls that need approval, such as a user's configuration. See
	// [host.Config].
	Layers func(d D) []approval.Layer

	// Files returns what takes back changes of files, as /undo does. See [host.Config].
	Files func(d D) host.Files

	// Commands are slash commands, in addition to those of the agent. [host.BuiltIns] and [host.Templates] return
	// ready-made ones. If there are any, an unknown command is explained to the user. Otherwise it is a prompt.
	Commands []host.Command
	// SessionCommands returns further commands of a session, such as those of its directory. See [host.Config].
	SessionCommands func(s *deps.Session) []host.Command

	// Unstable serves parts of the protocol that may change with each of its releases, to clients that ask for them.
	// With a Store these are session/fork, session/archive, session/unarchive, session/set_title, session/status, and
	// archived sessions in session/list, which leaves them out unless the client asks. Clients that announce "plan"
	// get several plans, as plan_update and plan_removed, in place of plan. Clients that announce "subagents" get
	// inner agents as subagent_update, and their prompts and answers as session_message and session_message_chunk.
	// Answers to prompts have the usage of the turn. With MCP servers of package acpmcp, clients may host servers
	// themselves and exchange their messages as mcp/message. See package unstable.
	Unstable bool

	// Busy says what happens to a prompt that comes while a turn of its session is running. One that is refused is
	// answered with -32600 and data.kind "busy". session/cancel also cancels prompts that wait. A prompt that was
	// passed to the running turn is answered after it, with the same stop reason or error; a slash command is not
	// passed on, and files that such a prompt links to are left to the model's tools: see LinkedFiles.
	Busy host.Busy

	// RunOptions returns options for the run of a turn. It may be nil. The bridge sets history, prompt, run id and
	// conversation id itself, and [Asker] unless the options include agent.WithAsker. prompt is the client's request,
	// with its _meta, and must not be changed. An error ends the turn.
	RunOptions func(ctx context.Context, d D, prompt *acp.PromptRequest) ([]agent.RunOption, error)

	// ErrorText returns what users are told of an error that ended a turn. Nil means the error itself for a client that has
	// started this process, or whose streams are In and Out: its user is often the developer. A client behind a network, as
	// of package acphttp, is told what [host.ErrorText] says, and so is everybody who loads the session later. The log has
	// the error.
	ErrorText func(err error) string

	// Render returns the Markdown text of an output that the model did not write as text. Nil means indented JSON in
	// a code block.
	Render func(output O) string

	// In and Out are the connection's streams, closed at its end if they are [io.Closer]s. If both are nil the process's standard
	// input and output are taken over: see [Serve].
	In  io.Reader
	Out io.Writer

	// ShutdownTimeout bounds how long Serve waits for turns, Release and the client when it ends; 0 is 1.5 s.
	ShutdownTimeout time.Duration

	// MCP connects to the MCP servers that clients name: see package acpmcp. If it is nil, they are only logged.
	MCP MCPServers

	// Auth logs the user in and out. Nil means that no login is needed.
	Auth Auth

	// Logger gets messages about sessions and errors. Nil means [slog.Default], which writes to standard error. Texts
	// of users, models and files are never logged.
	Logger *slog.Logger

	// Conn tunes the connection; see there for the limits of messages and queues. Its Logger is this one unless it has its own.
	Conn acp.ConnOptions
}

const defaultIdle = 10 * time.Minute

const defaultShutdownTimeout = 1500 * time.Millisecond

// check returns all that is wrong with the configuration, joined.
func (c *Config[D, O]) check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("acpbridge: config: "+format, args...))
	}
	if c.Agent == nil {
		bad("Agent is nil: make one with agent.New")
	}
	if c.Deps == nil {
		if _, plain := any(*new(D)).(deps.ACPDeps); !plain {
			bad("Deps is nil: set a function that returns a %T with the deps.ACPDeps it is given", *new(D))
		}
	}
	if (c.In == nil) != (c.Out == nil) {
		bad("set both In and Out, or neither to use standard input and output")
	}
	if c.Busy > host.BusySteer {
		bad("Busy is %d: use host.BusyRefuse, host.BusyQueue or host.BusySteer", c.Busy)
	}
	if c.LinkedFiles < 0 {
		bad("LinkedFiles is %d: use a number of bytes, or 0 to leave files to the model's tools", c.LinkedFiles)
	}
	if c.ShutdownTimeout < 0 {
		bad("ShutdownTimeout is %v: use a positive duration, or 0 for %v", c.ShutdownTimeout, defaultShutdownTimeout)
	}
	if err := checkAuthMethods(c.Auth); err != nil {
		bad("%w", err)
	}
	return errors.Join(errs...)
}

// withDefaults fills in what was left empty.
func (c Config[D, O]) withDefaults() Config[D, O] {
	if c.Deps == nil {
		c.Deps = func(_ context.Context, acp deps.ACPDeps) (D, error) { return any(acp).(D), nil }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Conn.Logger == nil {
		c.Conn.Logger = c.Logger
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = defaultShutdownTimeout
	}
	switch {
	case c.Idle < 0 || c.Store == nil:
		c.Idle = 0
	case c.Idle == 0:
		c.Idle = defaultIdle
	}
	if c.Conn.FlushTimeout == 0 {
		c.Conn.FlushTimeout = c.ShutdownTimeout / 6
	}
	c.Info = describe(c.Info)
	return c
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

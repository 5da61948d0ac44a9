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

	// Idle is after what time without a turn a session of the Store gives its memory back. It wakes with the next prompt. 0 is 10 minutes,
	// a negative time is never.
	Idle time.Duration

	// Deps makes the dependencies of a session; they embed what it is given. Its Workspace ends with the session, and so does one that Deps
	// puts in its place. It is called before session/new, session/load and session/resume are answered, with a ctx that ends with that
	// request; calls for different sessions may run at the same time. Its error is the answer. Updates that it sends, such as the session's
	// slash commands, go out behind that answer.
	//
	// With a Store it is called again when a session that was idle is used; see Idle. Release has been called for the dependencies before.
	// What must be the same all the time belongs elsewhere.
	//
	// Nil hands on what the bridge has if D is [deps.ACPDeps].
	Deps func(ctx context.Context, acp deps.ACPDeps) (D, error)

	// Local is what this machine does for clients without files or terminals. The zero value is nothing: the tools are not offered then.
	// With it, session/new fails with -32602 if this machine is needed and a directory of the session is not a directory here.
	Local LocalFallback

	// Release frees what Deps has made. It is called once for each call of Deps: when the session has been closed or Serve ends, after the
	// session's last turn, and when a session has been idle. Its ctx ends when Serve waits no longer.
	Release func(ctx context.Context, d D)

	// Info is who the agent says it is. An empty Name or Version is taken from the program's build information.
	Info acp.Implementation

	// Model describes what answers; nil is the agent's own model. Media decides whether prompts may hold images and audio, which is
	// announced in initialize. With a ContextWindow the user is shown how full it is.
	Model *model.Info

	// Prices are the prices of the models, if not nil: with a ContextWindow, the user is shown what the session has cost so far, as far as
	// prices are known. Package agent/model/prices has a table. Currency is that of the table, an ISO 4217 code; empty is USD.
	Prices   model.PriceTable
	Currency string

	// LinkedFiles is how many bytes of the files that a prompt links to the model is given with it, in all. They are read through the
	// session's workspace, under its rules of paths; of a link to lines, only these. Files that it refuses, that do not fit, and that the
	// model does not take are not an error: the model knows the link, and may read it with its tools. 0 leaves all of them to its tools.
	LinkedFiles int

	// Modes, Models and Thinking are what users can choose from in a session; the first is the default. Settings are the program's own.
	// Clients get all of them as options with their categories, and the modes also in the older form. What was chosen is kept with the
	// session. See [host.Modes] for modes that are shipped.
	Modes    []host.Mode
	Models   []host.Model
	Thinking []string
	Settings []host.Setting

	// Layers decide about calls that need approval before anything else does, such as a configuration of the user's. See [host.Config].
	Layers func(d D) []approval.Layer

	// Files takes the files of a session along when it goes back, as with /undo: see [host.Config].
	Files func(d D) host.Files

	// Commands are slash commands, beside those of the agent. See [host.BuiltIns] and [host.Templates] for commands that are there. If
	// there are any, a command that does not exist is explained to the user. Otherwise it goes to the agent as text.
	Commands []host.Command
	// SessionCommands gives the commands that a session has beside Commands, such as those of its directory. See [host.Config].
	SessionCommands func(s *deps.Session) []host.Command

	// Unstable serves parts of the protocol that may change with each of its releases, to clients that ask for them. With a Store these are
	// session/fork, session/archive, session/unarchive, session/set_title, session/status, and archived sessions in session/list, which leaves
	// them out unless the client asks. Clients that announce "plan" get several plans, as plan_update and plan_removed, in place of plan.
	// Clients that announce "subagents" are told of the agents inside tool calls, with subagent_update, and what they were asked and have
	// answered, with session_message and session_message_chunk; their tool calls stay among those of the session. Prompts are answered with
	// what the turn has used. With MCP servers that can do so, such as those of package acpmcp, clients may host servers themselves, and
	// exchange their messages as mcp/message. See package unstable.
	Unstable bool

	// Busy says what happens to a prompt that comes while a turn of its session is running.
	Busy BusyPolicy

	// RunOptions gives the options of a turn, if not nil. Calls that need approval are asked about by [Asker], unless there is an
	// agent.WithAsker among them. The bridge itself sets history, prompt, run id and conversation id. What the
	// client has sent with the prompt, _meta for example, is in prompt, which must not be changed. An error is the turn's.
	RunOptions func(ctx context.Context, d D, prompt *acp.PromptRequest) ([]agent.RunOption, error)

	// Render makes the text, in Markdown, that the user is shown of an output which the model did not write as text. Nil is indented
	// JSON in a code block.
	Render func(output O) string

	// In and Out are the connection's streams, closed at its end if they are [io.Closer]s. If both are nil the process's standard
	// input and output are taken over: see [Serve].
	In  io.Reader
	Out io.Writer

	// ShutdownTimeout bounds how long Serve waits for turns, Release and the client when it ends; 0 is 1.5 s.
	ShutdownTimeout time.Duration

	// MCP connects to the MCP servers that clients name, if it is not nil: see package acpmcp. Otherwise the log names them.
	MCP MCPServers

	// Auth logs the user in and out. Nil means that nobody has to.
	Auth Auth

	// Logger is told about sessions and what goes wrong; nil is [slog.Default], which writes to standard error. What users, models and
	// files say is never logged.
	Logger *slog.Logger

	// Conn tunes the connection; see there for the limits of messages and queues. Its Logger is this one unless it has its own.
	Conn acp.ConnOptions
}

// BusyPolicy says what happens to a prompt that comes while a turn of its session is running. A turn that has been cancelled does not
// count as running: whatever the policy, the next prompt waits for its end.
type BusyPolicy uint8

const (
	// BusyReject answers the prompt with -32600 and data.kind "busy". The running turn is not disturbed. It is the default.
	BusyReject BusyPolicy = iota
	// BusyQueue runs prompts one after another, in the order in which they were sent. session/cancel cancels those that wait too.
	BusyQueue
	// BusySteer passes the prompt to the running turn, which reads it with its next request to the model. It is answered behind that turn, with
	// the same stop reason or error. If the turn ends before it has read the prompt, the prompt is a turn of its own. So is a
	// slash command. Files that the prompt links to are left to the model's tools: see LinkedFiles.
	BusySteer
)

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
		bad("In and Out: only one is set: set both, or neither for the process's standard input and output")
	}
	if c.Busy > BusySteer {
		bad("Busy is %d: use BusyReject, BusyQueue or BusySteer", c.Busy)
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

// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// Config selects the agent of a host and how it runs. Agent is required.
type Config[D, O any] struct {
	// Agent answers the prompts of all sessions.
	Agent *agent.Agent[D, O]
	// Store keeps the sessions. Nil keeps them in memory, without a journal, until the process
	// ends.
	Store session.Store

	// Deps makes the dependencies of a session. Nil means the zero value. It is called when a
	// session is created or opened, and again when an idle session is used. Calls for different
	// sessions may be concurrent. It must not call methods of the session that run turns.
	Deps func(ctx context.Context, s *Session) (D, error)
	// Release frees what Deps has made, once for each call of Deps, when the session is closed or
	// has been idle.
	Release func(ctx context.Context, s *Session, d D) error
	// Keep reports whether an idle session keeps its dependencies, for example because a command is
	// running in them. Nil means that it never does.
	Keep func(s *Session, d D) bool

	// Files returns what takes back changes of files when a session is rewound: see
	// [Session.Rewind]. Package checkpoint has an implementation. Files, and its result, may be
	// nil.
	Files func(d D) Files

	// RunOptions returns options for the run of a turn. It may be nil. The host sets history,
	// prompt, ids and journal itself.
	RunOptions func(ctx context.Context, d D, p *Prompt) ([]agent.RunOption, error)
	// Render returns the Markdown text of an output that the model did not write as text. Nil means
	// its JSON.
	Render func(output any) (string, error)
	// Info describes the model that answers. Nil means the agent's own. Surfaces accept the media
	// in prompts that it accepts.
	Info *model.Info
	// Window is the size of the model's context in tokens. If it is set, usage is shown.
	Window int
	// Prices are the prices of the models. If set, usage includes the cost of the session so far,
	// for models of known price. Currency is the ISO 4217 code of the prices. Empty means USD.
	Prices   model.PriceTable
	Currency string

	// Layers returns the layers that decide first about calls that need approval: before the
	// session's remembered decisions, its mode and the user. See [approval.Layered]. It is called
	// for each run, and may be nil.
	Layers func(d D) []approval.Layer

	// Kept returns what keeps the rules of answers "always in this project" for a session in a
	// directory, which are then offered. It may be nil, and may return nil. Layers come before
	// these rules.
	Kept func(dir string) approval.Keeper

	// Modes, Models and Thinking are what users can choose from; the first is the default. They are
	// the settings [SettingMode], [SettingModel] and [SettingThinking]. Thinking are levels of
	// model.Settings, and [ThinkingDefault]; a model may have its own. Settings are the program's
	// own.
	Modes    []Mode
	Models   []Model
	Thinking []string
	Settings []Setting
	// Commands are slash commands of the program. If the program or the agent has any, an unknown
	// command is explained to the user. Otherwise it is a prompt.
	Commands []Command
	// SessionCommands returns further commands of a session, such as commands from its directory.
	// Commands with a duplicate or invalid name are left out. It is called whenever commands are
	// listed or looked up, and may be nil.
	SessionCommands func(s *Session) []Command
	// Busy is the policy for a prompt that arrives while a turn of its session is running.
	Busy Busy
	// Idle is the time without use after which a session releases its dependencies and its memory.
	// 0 means 10 minutes, a negative value never. Without a Store, sessions never do.
	Idle time.Duration
	// Attempts bounds how often a turn is taken up whose process was killed, by [Host.Serve]. 0
	// means 3, a negative value never.
	Attempts int
	// Runner decides where the turns of sessions run. Nil is the native runner: in this process.
	// With a Runner, tools that keep state in memory are refused with a [*toolset.InMemoryError]:
	// by New if they are known before a turn, otherwise by the turn that would offer them.
	Runner Runner
	// Holder names the holder of open sessions to users of other processes. Empty means the
	// program's name, the process id and the machine.
	Holder string
	// ErrorText returns what users are told of an error that ended a run, on every surface and in
	// what is stored: nothing that they may not know, such as hosts and the messages of providers.
	// Nil, an empty text and a panic mean [ErrorText]; with nil, an editor that has started the
	// agent is told the error itself. Calls may be concurrent.
	ErrorText func(err error) string
	// Logger gets the errors that no caller gets, and why turns have failed, with what providers
	// and tools said. Nil means [slog.Default]. Texts of users, models and files are not logged,
	// except where such an error quotes them.
	Logger *slog.Logger
}

// Files records the changes that the turns of a session make, and undoes them.
type Files interface {
	// Mark is called when a turn begins. title is for people.
	Mark(turn, title string)
	// Undo undoes the changes since a turn began. The note says what was undone, and what may
	// remain of commands. The error tells people what could not be undone, and why: then the
	// session is not rewound. The user and the model are told both.
	Undo(ctx context.Context, turn string) (note string, err error)
}

// Busy is the policy for a prompt that arrives while a turn of its session is running. A turn that
// has been cancelled does not count as running: whatever the policy, the next prompt waits for its
// end. If 1,000 turns of a session wait or run, further prompts are refused with [ErrBusy].
type Busy uint8

const (
	// BusyRefuse refuses the prompt with [ErrBusy]. It is the default.
	BusyRefuse Busy = iota
	// BusyQueue runs prompts one after another, in the order in which they arrived.
	BusyQueue
	// BusySteer passes the prompt to the running turn, which reads it with its next request. If the
	// turn ends before that, the prompt becomes a separate turn.
	BusySteer
)

// Errors of sessions.
var (
	// ErrBusy means that another turn of the session is running.
	ErrBusy = errors.New("host: the session is busy: wait for the running turn to end, or cancel it")
	// ErrClosed means that the session has been closed.
	ErrClosed = errors.New("host: the session has been closed")
	// ErrAsked means that calls wait for approval, and the prompt is not to take the place of the
	// answers: see [Prompt].
	ErrAsked = errors.New("host: calls wait for approval: answer the questions first")
	// ErrIdle means that a session has nothing to do: see [Turns].
	ErrIdle = errors.New("host: the session has nothing to do")
	// ErrNoQuestion means that no question with this id is open: it was answered, or does not
	// exist.
	ErrNoQuestion = errors.New("host: no such question waits for an answer")
	// ErrChanged means that an answer is about something else than what the question shows now: its
	// digest is another one, for example because a file has changed since the change to it was
	// shown. Show the question again.
	ErrChanged = errors.New("host: the question has changed since it was shown: show it again before answering")
	// ErrDecided is the cause of the context of a surface's question that has been answered
	// elsewhere.
	ErrDecided = errors.New("host: the question has been answered elsewhere")
	// ErrCancelled is the cause of the context of a turn that [Session.Cancel] has cancelled. It is
	// a [context.Canceled].
	ErrCancelled = fmt.Errorf("host: the turn was cancelled: %w", context.Canceled)
)

// currency matches the codes of ISO 4217.
var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func (c *Config[D, O]) check() error {
	var errs []error
	if c.Agent == nil {
		errs = append(errs, errors.New("host: config: Agent is nil: make one with agent.New"))
	}
	if c.Busy > BusySteer {
		errs = append(errs, fmt.Errorf("host: config: Busy is %d: use BusyRefuse, BusyQueue or BusySteer", c.Busy))
	}
	if c.Window < 0 {
		errs = append(errs, errors.New("host: config: Window must not be negative"))
	}
	if c.Currency != "" && !currency.MatchString(c.Currency) {
		errs = append(errs, fmt.Errorf(
			"host: config: Currency is %q: use a code of three letters, such as EUR", c.Currency,
		))
	}
	if c.Runner != nil && c.Store == nil {
		errs = append(errs, errors.New("host: config: Runner is set and Store is nil: a runner needs a store that its processes share"))
	}
	if c.Runner != nil && c.Agent != nil {
		if err := toolset.Stateless(c.Agent.Toolset()).(toolset.Checker).Check(); err != nil {
			err = fmt.Errorf("host: config: with a Runner, the next turn may run elsewhere: %w", err)
			errs = append(errs, err)
		}
	}
	errs = append(
		errs, checkSettings(makeSettings(c.Modes, c.Models, c.Thinking, c.Settings)),
		checkThinking(c.Models), checkCommands(c.Commands),
	)
	return errors.Join(errs...)
}

func (c *Config[D, O]) info() model.Info {
	if c.Info != nil {
		return *c.Info
	}
	return c.Agent.ModelInfo()
}

// idle returns how long a session may be idle, 0 for ever.
func (c *Config[D, O]) idle() time.Duration {
	switch {
	case c.Idle < 0 || c.Store == nil:
		return 0
	case c.Idle == 0:
		return 10 * time.Minute
	}
	return c.Idle
}

func holder() string {
	name := "a program"
	if exe, err := os.Executable(); err == nil {
		name = filepath.Base(exe)
	}
	name = fmt.Sprintf("%s, process %d", name, os.Getpid())
	if machine, err := os.Hostname(); err == nil {
		name += " on " + machine
	}
	return name
}

// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
)

// Config says which agent a host runs and how. Agent is required.
type Config[D, O any] struct {
	// Agent answers the prompts of all sessions.
	Agent *agent.Agent[D, O]
	// Store keeps the sessions. Nil keeps them in memory: they end with the process, and their runs have no journal.
	Store session.Store

	// Deps makes the dependencies of a session; nil uses the zero value. It is called when a session is created or opened, and again when
	// one that was idle is used. Calls for different sessions may run at the same time. It must not use the methods of the session that
	// run turns.
	Deps func(ctx context.Context, s *Session) (D, error)
	// Release frees what Deps has made, once for each call of it: when the session is closed, and when it has been idle.
	Release func(ctx context.Context, s *Session, d D) error
	// Keep reports whether a session that is idle keeps its dependencies all the same, because something goes on in them. Nil is never.
	Keep func(s *Session, d D) bool

	// Files takes the files of a session along when it goes back, if it is not nil and does not return nil. Package checkpoint has an
	// implementation. It is called with each use.
	Files func(d D) Files

	// RunOptions gives options for the run of a turn, if not nil. The host itself sets history, prompt, ids and journal, which win.
	RunOptions func(ctx context.Context, d D, p *Prompt) ([]agent.RunOption, error)
	// Render makes the text, in Markdown, of an output that the model did not write as text. Nil is its JSON.
	Render func(output any) (string, error)
	// Window is the size of the model's context in tokens. With it, usage is shown.
	Window int
	// Prices are the prices of the models, if not nil. Usage then has the cost of the session so far, as far as prices are known. Currency is
	// that of the table, an ISO 4217 code; empty is USD.
	Prices   model.PriceTable
	Currency string

	// Layers decide about calls that need approval before anything else does: before what the session remembers, its mode, and the user. See
	// [approval.Layered]. It is called with each run. Nil is none.
	Layers func(d D) []approval.Layer

	// Modes, Models and Thinking are what users can choose from; the first is the default. They are the settings [SettingMode],
	// [SettingModel] and [SettingThinking]. Thinking are levels of model.Settings, and [ThinkingDefault]; a model may have its own. Settings
	// are the program's own.
	Modes    []Mode
	Models   []Model
	Thinking []string
	Settings []Setting
	// Commands are slash commands of the program. If there are any, a command that does not exist is explained to the user. Otherwise it
	// goes to the agent as text.
	Commands []Command
	// SessionCommands gives the commands that a session has beside Commands, such as those of its directory. Commands whose name is taken, or
	// is not a name, are left out. It is called whenever commands are listed or looked up. Nil is none.
	SessionCommands func(s *Session) []Command
	// Announce, if not nil, is called when something has changed that belongs to a session as a whole: its settings or its title. It must
	// not call methods of the session that wait for turns.
	Announce func(ctx context.Context, s *Session, e *view.Entity)

	// Busy says what becomes of a prompt that comes while a turn of its session is running.
	Busy Busy
	// Idle is after what time without use a session gives its memory back. 0 is never.
	Idle time.Duration
	// Holder is who has the sessions that are open, for people: another process is told. Empty is the program, the process and
	// the machine.
	Holder string
	// Logger is told what goes wrong where no caller is told; nil is [slog.Default]. What users, models and files say is never logged.
	Logger *slog.Logger
}

// Files records what the turns of a session change, and takes it back.
type Files interface {
	// Mark says that a turn begins. title is for people.
	Mark(turn, title string)
	// Undo takes back what was changed since a turn began. The note says to people what was taken back and what could not be. After an
	// error the session does not go back.
	Undo(ctx context.Context, turn string) (note string, err error)
}

// Busy says what becomes of a prompt that comes while a turn of its session is running. A turn that has been cancelled does not count as
// running: whatever the policy, the next prompt waits for its end.
type Busy uint8

const (
	// BusyRefuse refuses the prompt with [ErrBusy]. It is the default.
	BusyRefuse Busy = iota
	// BusyQueue runs prompts one after another.
	BusyQueue
	// BusySteer passes the prompt to the running turn, which reads it with its next request. If the turn has ended before that, the
	// prompt is a turn of its own.
	BusySteer
)

// Errors of sessions.
var (
	// ErrBusy means that another turn of the session is running.
	ErrBusy = errors.New("host: the session is busy: wait for the running turn to end, or cancel it")
	// ErrClosed means that the session has been closed.
	ErrClosed = errors.New("host: the session has been closed")
	// ErrNoQuestion means that no question with this id waits for an answer: it has been answered, or there is none.
	ErrNoQuestion = errors.New("host: no such question waits for an answer")
	// ErrDecided is the cause of the context of a surface's question that has been answered elsewhere.
	ErrDecided = errors.New("host: the question has been answered elsewhere")
	// ErrCancelled is the cause of the context of a turn that [Session.Cancel] has cancelled. It is a [context.Canceled].
	ErrCancelled = fmt.Errorf("host: the turn was cancelled: %w", context.Canceled)
)

func (c *Config[D, O]) check() error {
	var errs []error
	if c.Agent == nil {
		errs = append(errs, errors.New("host: config: Agent is nil: make one with agent.New"))
	}
	if c.Busy > BusySteer {
		errs = append(errs, fmt.Errorf("host: config: Busy is %d: use BusyRefuse, BusyQueue or BusySteer", c.Busy))
	}
	if c.Idle < 0 {
		errs = append(errs, fmt.Errorf("host: config: Idle is %v: use a positive duration, or 0 for never", c.Idle))
	}
	errs = append(errs, checkSettings(makeSettings(c.Modes, c.Models, c.Thinking, c.Settings)), checkThinking(c.Models), checkCommands(c.Commands))
	return errors.Join(errs...)
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

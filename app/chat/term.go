// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/out"
	"github.com/ponte-go/ponte/app/internal/term/events"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/app/internal/term/tty"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Config says whom to talk to, about what, and where.
type Config struct {
	// Program is the name of the program, which begins messages. Empty means chat.
	Program string
	// Agent starts the agent. Connect connects to it instead of starting it, if it is not nil.
	Agent   acpclient.Command
	Connect func(ctx context.Context, c acpclient.Config) (*acpclient.Client, error)
	// LogIn asks the person for the key that the agent of Connect needs. Nil means that there is no
	// such way.
	LogIn func(ctx context.Context) error
	// Said, if not nil, is told how lines for the person are shown. It is called before the agent
	// is connected to; show may be called until Run returns.
	Said func(show func(line string))
	// Continue continues the last session of Dir, and Resume the session of an id.
	Continue bool
	Resume   string
	// Dir is the session's directory, absolute. The agent is served its files, and commands that
	// run on this machine.
	Dir string
	// Env are names of variables that commands get, besides ordinary ones.
	Env []string
	// Own is set if the agent is ideagent's own: what it has decided is not decided again here.
	Own bool
	// Sandbox, if not nil, is where commands run.
	Sandbox *local.Sandbox
	// Prompt is the one thing to ask. Empty means that In has a prompt on each line.
	Prompt string
	// AllowAll allows whatever the agent asks permission for.
	AllowAll bool
	// Verbose shows what the agent writes to its standard error. Heed, if not nil, selects lines
	// that are always shown.
	Verbose bool
	Heed    func(line string) bool
	// JSON writes events as JSON, one on each line, instead of text. No questions are asked then.
	JSON bool
	// Version is the client's version, as it tells agents.
	Version string

	// In is the source of prompts and answers. Person is set if a person is there to answer
	// questions.
	In     io.Reader
	Person bool
	// Out receives output, and Err errors. Color allows colors on Out.
	Out, Err io.Writer
	Color    bool
	// Terminal, if not nil, switches the terminal to a separate screen, for a person. Nil appends
	// text to Out.
	Terminal func() (tty.Terminal, error)
	// Editor is the command of the editor in which the person can write a prompt on such a
	// screen, with its arguments. Empty means that there is none.
	Editor string
	// History is the file that keeps what was entered on such a screen, empty for none.
	History string
	// Interrupts receives a value for each Ctrl-C.
	Interrupts <-chan struct{}
}

// Screen returns what [Config].Terminal needs to draw on a terminal.
func Screen(in, out *os.File) func() (tty.Terminal, error) {
	return func() (tty.Terminal, error) { return tty.Open(in, out) }
}

// files configures the files and commands that the agent is served.
func (c *Config) files() local.Config {
	return local.Config{Roots: []string{c.Dir}, PassEnv: c.Env, Sandbox: c.Sandbox}
}

// Exit codes.
const (
	ExitOK          = 0
	ExitError       = 1 // an error, or a turn that the agent did not end by itself
	ExitRefused     = 5 // something that the agent wanted to do was not allowed
	ExitInterrupted = 130
)

var (
	// errQuit means that the user has had enough.
	errQuit = errors.New("interrupted")
	// errRefused means that something was not allowed, which has been shown.
	errRefused = errors.New("something that the agent wanted to do was not allowed")
)

// Run holds the conversation and returns the exit code. It ends early when ctx does. Errors have
// been shown then, and nothing of what was started is left.
func Run(ctx context.Context, config Config) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	output := out.New(config.Out, cancel) // what cannot be shown is not done
	config.Out, config.Program = output, cmp.Or(config.Program, "chat")
	var shown front = plain.New(config.Out, config.Color, config.Dir)
	if config.JSON {
		shown, config.Person = events.New(config.Out), false
	}
	var err error
	if config.Terminal != nil && config.Person {
		err = runConsole(ctx, &config)
	} else {
		err = run(ctx, &config, shown)
	}
	if failed := output.Err(); failed != nil {
		fmt.Fprintf(config.Err, "%s: %s\n", config.Program, explain(failed))
		return ExitError
	}
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errQuit), ctx.Err() != nil:
		shown.Failed(ExitInterrupted, "interrupted")
		return ExitInterrupted
	case errors.Is(err, errRefused):
		shown.Failed(ExitRefused, errRefused.Error())
		return ExitRefused
	}
	shown.Failed(ExitError, explain(err))
	fmt.Fprintf(config.Err, "%s: %s\n", config.Program, explain(err))
	return ExitError
}

// front shows a conversation.
type front interface {
	Update(*view.Update)
	Note(string)
	Fail(string)
	EndTurn()
	// Ended reports how a turn ended: with a stop reason, or an error.
	Ended(reason, err string)
	// Failed says with which exit code the conversation ends, if it is not 0.
	Failed(code int, why string)
	// Asked shows a question, and the answer unless it came from a person.
	Asked(q *acpclient.PermissionRequest, answer, why string)
}

// explain returns an error as users like it: on one line, without the name of a package in front.
func explain(err error) string {
	line := text.OneLine(err.Error())
	for _, name := range []string{"acpclient: ", "guard: ", "workspace: ", "local: ", "acp: "} {
		line = strings.TrimPrefix(line, name)
	}
	return line
}

func run(ctx context.Context, config *Config, out front) error {
	files, err := local.Open(config.files())
	if err != nil {
		return err
	}
	defer files.Close()
	if why := files.Unsandboxed(); why != nil {
		fmt.Fprintf(config.Err, "%s: commands run without the sandbox: %s\n", config.Program, explain(why))
	}
	t := &talk{config: config, out: out, lines: newLines(config.In)}
	// Until the session is open, an interrupt ends everything.
	err = t.interruptible(ctx, func(ctx context.Context) error {
		var err error
		base := acpclient.Config{Workspace: careful{files}, Permission: t.permission}
		base.Trusted = config.Own
		if _, shows := out.(*plain.Printer); shows && config.Person {
			base.Elicitation = t.elicit
			base.Turns = config.Prompt == "" // else only one
		}
		t.client, t.session, err = connect(ctx, config, base, out.Note)
		return err
	})
	if err != nil {
		return err
	}
	defer t.client.Close()
	return t.hold(ctx)
}

// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/internal/keys"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/app/internal/out"
	"github.com/ponte-go/ponte/internal/show"
)

// Env is a program while it runs: what commands, surfaces and functions of [Config] know of it.
// Fields must not be changed after the command has begun.
type Env struct {
	// Name, Title, About, Help and Version describe the program: see [Config].
	Name, Title, About, Help, Version string
	// In, Out and Err are the streams of the process. Errors of Out are not overlooked.
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Getenv returns the variables of the environment.
	Getenv func(string) string
	// Logger gets errors that nobody is told otherwise. It writes to the file of the flag -log, or
	// to the standard error: see [Env.LogToFile].
	Logger *slog.Logger
	// Config is the user's configuration. It is the zero value if there is none, or if it is wrong:
	// see Problem. It is valid when a command runs.
	Config *config.User
	// Replaced is set if In or Out are not the process's own.
	Replaced bool

	demo     func(time.Duration) model.Model
	surfaces []Surface
	commands []func(*Env) *cobra.Command
	flags    func(*pflag.FlagSet)
	first    string
	checks   []func(context.Context, *Env) []Check
	depsType reflect.Type
	hasDeps  bool
	ownModel bool // the agent has one
	root     *cobra.Command

	// The common flags.
	modelName, configFile, storeAt *string
	encrypt                        *string // where the keys of the sessions are
	runnerAt                       *string
	runnerFound                    string // what doctor says of the runner
	noStore                        *bool
	logTo                          *string
	log                            *logFile
	idle, pace                     *time.Duration

	readConfig func() (*config.User, error) // findConfig, once
	openStore  func(context.Context, *Env) (session.Store, error)
	makeHost   func(context.Context) (*host.Host, error)

	storing sync.Mutex              // guards store, place, stored
	ringing sync.Mutex              // guards ring, ringAt
	ring    func() *session.Keyring // which nobody prints
	ringAt  string                  // the place that ring was read from
	mu      sync.Mutex
	keys    *keys.Keys
	chosen  bool
	model   model.Model
	models  []host.Model
	wrong   error
	misused error
	store   session.Store
	place   *Place
	stored  bool
	made    *host.Host
	teller  func(line string, minor bool)
	closers []func() error
}

func newEnv(p Process, name string) *Env {
	e := &Env{
		Name: name, In: p.In, Err: p.Err, Getenv: p.Getenv, Config: &config.User{},
		Replaced: p.In != nil || p.Out != nil,
	}
	if e.In == nil {
		e.In = os.Stdin
	}
	if p.Out == nil {
		p.Out = os.Stdout
	}
	if e.Err == nil {
		e.Err = os.Stderr
	}
	if e.Getenv == nil {
		e.Getenv = os.Getenv
	}
	e.readConfig = sync.OnceValues(e.findConfig)
	e.Out = out.New(p.Out, nil)
	e.log = &logFile{to: e.Err}
	e.Logger = slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return e
}

// Keys returns the user's API keys.
func (e *Env) stores() *keys.Keys {
	if e.keys == nil {
		e.keys = keys.Open(e.Name, e.Getenv)
	}
	return e.keys
}

// Say writes a line to the standard error, after the name of the program. Surfaces that draw a
// screen show it there: see [Env.OnSay].
func (e *Env) Say(format string, args ...any) { e.say(false, format, args...) }

// say writes a line. Minor lines do not interest people who talk to the agent.
func (e *Env) say(minor bool, format string, args ...any) {
	line := show.Line(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	e.mu.Lock()
	teller := e.teller
	e.mu.Unlock()
	if teller != nil {
		teller(line, minor)
		return
	}
	fmt.Fprintf(e.Err, "%s: %s\n", e.Name, line)
}

// OnSay has f called with what Say would write, until f is nil again. Minor lines, such as the
// name of the chosen model, do not interest people who talk to the agent.
func (e *Env) OnSay(f func(line string, minor bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.teller = f
}

// Host returns the host of the program's sessions, which is made by the first call and closed when
// the program ends. With a wrong configuration it can be made, and no session begins: see Problem.
func (e *Env) Host(ctx context.Context) (*host.Host, error) {
	e.choose(ctx)
	if e.misused != nil {
		return nil, e.misused
	}
	e.mu.Lock()
	made := e.made
	e.mu.Unlock()
	if made != nil {
		return made, nil
	}
	e.observe(ctx)
	h, err := e.makeHost(ctx)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.made = h
	e.mu.Unlock()
	return h, nil
}

// Problem returns what is wrong with the user's configuration, a [*config.Problem] or several
// joined. It is nil if nothing is.
func (e *Env) Problem() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.wrong
}

// Open is Host for commands that do not begin with a wrong configuration. Its problems are said, a
// line each, and are an [ExitError].
func (e *Env) Open(ctx context.Context) (*host.Host, error) {
	h, err := e.Host(ctx)
	if wrong := e.Problem(); wrong != nil {
		e.SayProblem()
		return nil, &ExitError{exitError, nil}
	}
	return h, err
}

// SayProblem writes the problems of the configuration, a line each.
func (e *Env) SayProblem() {
	if wrong := e.Problem(); wrong != nil {
		for line := range strings.Lines(wrong.Error()) {
			e.Say("%s", line)
		}
	}
}

// Wrong adds a problem with the configuration, such as one that New finds. No session begins then.
func (e *Env) Wrong(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wrong = errors.Join(e.wrong, err)
}

// Model returns the model that answers unless the user of a session chooses another one. It is for
// New, and nil if the agent has its own.
func (e *Env) Model() model.Model { return e.model }

// Deps returns the type of the agent's dependencies, and whether the program makes them.
func (e *Env) Deps() (of reflect.Type, made bool) { return e.depsType, e.hasDeps }

// Watched slows the offline model down for a person who watches it write. Call it before Host.
func (e *Env) Watched() {
	if *e.pace == 0 {
		*e.pace = 8 * time.Millisecond
	}
}

// Forget keeps sessions in memory unless the user has named a place. Call it before Host.
func (e *Env) Forget() {
	if *e.storeAt == "" {
		*e.noStore = true
	}
}

// choose reads the configuration and chooses the models, once.
func (e *Env) choose(ctx context.Context) {
	if e.chosen {
		return
	}
	e.chosen = true
	wrong := e.ReadConfig()
	user := e.Config
	if *e.idle < 0 {
		e.misused = Usage("-idle: use a positive duration, such as 10m")
		return
	}
	if *e.pace < 0 {
		e.misused = Usage("-pace: use a positive duration, such as 8ms")
		return
	}
	if *e.encrypt != "" && linked.Encryption == nil {
		e.misused = Usage("-encrypt: %w", errCannot)
		return
	}
	if wrong == nil && user.Encrypt != "" && linked.Encryption == nil {
		wrong = user.Wrong("encrypt", errCannot)
	}
	choose := chooser{env: e.Getenv, stored: e.stores(), pace: *e.pace, demo: e.demo, program: e.Name, atEnd: e.OnClose, tell: func(c choice) {
		e.say(true, "model %s: %s", c.name, c.why)
	}}
	named := *e.modelName
	if named == "" && user.Model != "" {
		named, choose.says = user.Model, "the configuration"
	}
	if named == "" && e.ownModel {
		e.wrong = wrong
		return
	}
	m, err := choose.choose(ctx, named)
	switch {
	case err != nil && *e.modelName != "":
		e.misused = &ExitError{exitUsage, err}
		return
	case err != nil:
		wrong = user.Wrong("model", withoutFlag(err))
	default:
		if e.models, err = choose.models(ctx, m, named, user); err != nil {
			wrong = err
		}
	}
	if wrong != nil {
		m, e.Config, e.models = choose.none("the configuration is wrong").Model, &config.User{}, nil
	}
	e.model, e.wrong = m, wrong
}

// ReadConfig reads the user's configuration into Config, for commands that do not call Host.
// Problem returns the same error.
func (e *Env) ReadConfig() error {
	user, err := e.readConfig()
	if err != nil {
		user = &config.User{}
	}
	e.Config, e.wrong = user, err
	return err
}

// findConfig reads the user's configuration: the file that a flag names, or the one in the user's
// directory, if it is there.
func (e *Env) findConfig() (*config.User, error) {
	file, given := *e.configFile, *e.configFile != ""
	if !given {
		dir, err := config.UserDir(e.Name)
		if err != nil {
			return &config.User{}, nil // no home, no file
		}
		file = filepath.Join(dir, "config.json")
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	user, err := config.ReadUser(file)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return &config.User{}, nil
	}
	return user, err
}

// close ends what the command has opened.
func (e *Env) close() (err error) {
	e.mu.Lock()
	made := e.made
	e.mu.Unlock()
	if made != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		defer cancel()
		err = made.Close(ctx)
	}
	if c, ok := e.store.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	for i := len(e.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, e.closers[i]())
	}
	e.log.close()
	return err
}

// OnClose has f called when the program ends, after the sessions. Later functions come first.
func (e *Env) OnClose(f func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closers = append(e.closers, f)
}

// closing is how long sessions may take to end.
const closing = 10 * time.Second

// exit shows an error and returns the exit code.
func (e *Env) exit(err error) int {
	code := exitOK
	if err != nil {
		code = exitError
		known, ok := errors.AsType[*ExitError](err)
		if ok {
			code = known.Code
		}
		if !ok || known.Err != nil {
			fmt.Fprintf(e.Err, "%s: %s\n", e.Name, show.Text(err.Error()))
		}
		if code == exitUsage {
			fmt.Fprintf(e.Err, "Run %q for help.\n", e.Name+" -h")
		}
	}
	if o, ok := e.Out.(*out.Output); ok && o.Err() != nil && code == exitOK {
		fmt.Fprintf(e.Err, "%s: %v\n", e.Name, o.Err())
		return exitError
	}
	return code
}

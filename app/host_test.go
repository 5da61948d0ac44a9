// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/config"
)

// surface is a way to use the agent that has a name.
type surface string

func (s surface) Name() string { return string(s) }
func (s surface) Command(*Env) *cobra.Command {
	return &cobra.Command{Use: string(s), Run: func(*cobra.Command, []string) {}}
}

func silentAgent() *agent.Agent[any, string] {
	return agent.Must(agent.New(agent.Config[any, string]{}))
}

// All that is wrong with a configuration is told at once.
func TestWrongConfigurations(t *testing.T) {
	ours := silentAgent()
	makes := func(context.Context, *Env) (*agent.Agent[any, string], error) { return ours, nil }
	command := []func(*Env) *cobra.Command{func(*Env) *cobra.Command { return &cobra.Command{Use: "x"} }}
	deps := func(context.Context, *host.Session) (any, error) { return nil, nil }
	const inHost = "app: config: Host.Agent, Host.Store and Host.Deps are set: use Agent, Store and Deps"
	const twice = "app: config: Surfaces has a nil, or two with one name"
	for name, c := range map[string]struct {
		config Config[any, string]
		want   []string
	}{
		"nothing": {Config[any, string]{}, []string{
			`app: config: Name is "": use lower-case letters, digits and dashes`, "app: config: set one of Agent and New",
			"app: config: there are no Surfaces: name some, or call Main of package app/all, which has all of them",
		}},
		"an agent":         {Config[any, string]{Name: "a", Agent: ours, Surfaces: []Surface{surface("x")}}, nil},
		"New":              {Config[any, string]{Name: "a-9", New: makes, Commands: command}, nil},
		"both":             {Config[any, string]{Name: "a", Agent: ours, New: makes, Commands: command}, []string{"app: config: set one of Agent and New"}},
		"a wrong name":     {Config[any, string]{Name: "9a", Agent: ours, Commands: command}, []string{`app: config: Name is "9a": use lower-case letters, digits and dashes`}},
		"an agent of host": {Config[any, string]{Name: "a", Agent: ours, Commands: command, Host: host.Config[any, string]{Agent: ours}}, []string{inHost}},
		"a store of host":  {Config[any, string]{Name: "a", Agent: ours, Commands: command, Host: host.Config[any, string]{Store: new(sessions.Memory)}}, []string{inHost}},
		"deps of host":     {Config[any, string]{Name: "a", Agent: ours, Commands: command, Host: host.Config[any, string]{Deps: deps}}, []string{inHost}},
		"a nil surface":    {Config[any, string]{Name: "a", Agent: ours, Surfaces: []Surface{surface("x"), nil, nil}}, []string{twice}},
		"one name":         {Config[any, string]{Name: "a", Agent: ours, Surfaces: []Surface{surface("x"), surface("y"), surface("x"), surface("y")}}, []string{twice}},
		"different names":  {Config[any, string]{Name: "a", Agent: ours, Surfaces: []Surface{surface("x"), surface("y")}}, nil},
	} {
		err := c.config.check()
		if c.want == nil {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, strings.Join(c.want, "\n"), name)
		var out, said strings.Builder
		require.Equal(t, 1, Run(t.Context(), c.config, Process{Args: []string{"version"}, Out: &out, Err: &said}))
		require.Equal(t, c.config.Name+": "+strings.Join(c.want, "\n")+"\n", said.String())
		require.Empty(t, out.String())
	}
}

// filled returns the environment of a configuration whose command line has been read.
func filled[D, O any](t *testing.T, c Config[D, O], args ...string) *Env {
	e := newEnv(Process{Getenv: env("XDG_STATE_HOME", t.TempDir(), "OLLAMA_HOST", "ftp://nowhere"), Err: io.Discard}, c.Name)
	c.fill(e)
	require.NoError(t, e.command().ParseFlags(args))
	return e
}

// What a program does not say of itself follows from what it says.
func TestWhatTheEnvironmentKnowsOfTheProgram(t *testing.T) {
	first := Check{Name: "tea"}
	own := agent.Must(agent.New(agent.Config[int, string]{Model: modeltest.Script(modeltest.SayText("Hello."))}))
	e := newEnv(Process{}, "desk")
	(&Config[int, string]{
		Name: "desk", About: "About", Help: "Help", Title: "Title", Version: "1.2", Agent: own, Default: "x", Demo: demo,
		Deps:     func(context.Context, *host.Session, host.Place) (int, error) { return 1, nil },
		Surfaces: []Surface{surface("x")}, Checks: []func(context.Context, *Env) []Check{func(context.Context, *Env) []Check { return []Check{first} }},
	}).fill(e)
	require.Equal(t, []string{"desk", "About", "Help", "Title", "1.2", "x"}, []string{e.Name, e.About, e.Help, e.Title, e.Version, e.first})
	require.Equal(t, []Surface{surface("x")}, e.surfaces)
	require.Equal(t, []Check{first}, e.checks[0](t.Context(), e))
	of, made := e.Deps()
	require.Equal(t, reflect.TypeFor[int](), of)
	require.True(t, made)
	require.True(t, e.ownModel)
	require.NotNil(t, e.demo)

	e = newEnv(Process{}, "desk")
	(&Config[any, string]{Name: "desk", Agent: silentAgent()}).fill(e)
	require.Equal(t, "desk", e.Title)
	require.Equal(t, release(), e.Version)
	require.NotEmpty(t, e.Version)
	_, made = e.Deps()
	require.False(t, made)
	require.False(t, e.ownModel)

	e = newEnv(Process{}, "desk")
	(&Config[any, string]{Name: "desk", Host: host.Config[any, string]{Models: []host.Model{}}}).fill(e)
	require.True(t, e.ownModel, "its users choose from its own")
	e = newEnv(Process{}, "desk")
	(&Config[any, string]{Name: "desk"}).fill(e)
	require.False(t, e.ownModel, "New makes the agent for the user's model")
}

// The streams of the process are used where a run has none.
func TestStreamsOfARun(t *testing.T) {
	e := newEnv(Process{}, "desk")
	require.Equal(t, []any{os.Stdin, os.Stderr, false}, []any{e.In, e.Err, e.Replaced})
	t.Setenv("PONTE_TEST", "set")
	require.Equal(t, "set", e.Getenv("PONTE_TEST"))
	require.Equal(t, &config.User{}, e.Config)
	in, out := strings.NewReader(""), new(strings.Builder)
	e = newEnv(Process{In: in}, "desk")
	require.True(t, e.Replaced)
	require.Equal(t, in, e.In)
	e = newEnv(Process{Out: out, Err: out, Getenv: env("A", "1")}, "desk")
	require.True(t, e.Replaced)
	require.Equal(t, []any{os.Stdin, out, "1"}, []any{e.In, e.Err, e.Getenv("A")})
	_, err := e.Out.Write([]byte("written"))
	require.NoError(t, err)
	e.Logger.Info("nobody reads this")
	e.Logger.Warn("a warning")
	require.Regexp(t, `^writtentime=\S+ level=WARN msg="a warning"\n$`, out.String())
}

// What the configuration of the host does not have is the program's and the user's.
func TestTheConfigurationOfTheHost(t *testing.T) {
	ours, broken := silentAgent(), errors.New("broken")
	modes := []host.Mode{{ID: "ask"}, {ID: "edit"}, {ID: "plan"}}
	var seen *host.Config[any, string]
	c := Config[any, string]{
		Name: "desk", Agent: ours, Demo: demo, Host: host.Config[any, string]{Modes: modes},
		Setup: func(_ *Env, h *host.Config[any, string]) error { seen = h; return nil },
	}
	e := filled(t, c, "--model", "offline", "--no-store", "--idle", "3m")
	e.choose(t.Context())
	e.Config = &config.User{Mode: "edit"}
	h, err := c.host(t.Context(), e)
	require.NoError(t, err)
	require.Same(t, ours, h.Agent)
	require.NotNil(t, seen)
	require.Nil(t, h.Store)
	require.Equal(t, e.models, h.Models)
	require.Equal(t, []host.Mode{modes[1], modes[0], modes[2]}, h.Modes)
	require.Equal(t, e.model.Info().ContextWindow, h.Window)
	require.NotZero(t, h.Window)
	require.Equal(t, 3*time.Minute, h.Idle)
	require.Same(t, e.Logger, h.Logger)
	require.Nil(t, h.Runner)
	require.Equal(t, []string{"waiting"}, commandNames(h.Commands))
	d, err := h.Deps(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, d)

	// What it has stays.
	own := c
	logger, mine := slog.New(slog.DiscardHandler), host.Command{Name: "waiting", Description: "mine"}
	own.Host = host.Config[any, string]{
		Models: []host.Model{{ID: "m"}}, Window: 5, Idle: time.Second, Logger: logger, Commands: []host.Command{{Name: "tea"}, mine},
	}
	h, err = own.host(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, own.Host.Models, h.Models)
	require.Equal(t, []any{5, time.Second, logger}, []any{h.Window, h.Idle, h.Logger})
	require.Nil(t, h.Modes)
	require.Equal(t, "mine", h.Commands[1].Description)
	require.Len(t, h.Commands, 2)
	own.Host.Commands = make([]host.Command, 1, 5)
	h, err = own.host(t.Context(), e)
	require.NoError(t, err)
	require.Len(t, h.Commands, 2)
	require.Empty(t, own.Host.Commands[:2][1].Name, "the program's list is left as it is")

	// The agent, the store and the program's changes may fail.
	made := silentAgent()
	own = c
	own.Agent, own.New = nil, func(_ context.Context, of *Env) (*agent.Agent[any, string], error) {
		require.Same(t, e, of)
		return made, nil
	}
	h, err = own.host(t.Context(), e)
	require.NoError(t, err)
	require.Same(t, made, h.Agent)
	own.New = func(context.Context, *Env) (*agent.Agent[any, string], error) { return made, broken }
	h, err = own.host(t.Context(), e)
	require.Equal(t, broken, err)
	require.Nil(t, h)
	own = c
	own.Setup = func(of *Env, _ *host.Config[any, string]) error { require.Same(t, e, of); return broken }
	_, err = own.host(t.Context(), e)
	require.Equal(t, broken, err)
	e.openStore, e.stored = func(context.Context, *Env) (sessions.Store, error) { return nil, broken }, false
	*e.noStore = false
	h, err = c.host(t.Context(), e)
	require.Equal(t, broken, err)
	require.Nil(t, h)
}

func commandNames(commands []host.Command) (all []string) {
	for _, c := range commands {
		all = append(all, c.Name)
	}
	return all
}

// Sessions do not begin with a wrong configuration.
func TestDepsOfSessions(t *testing.T) {
	broken := errors.New("no files")
	c := Config[any, string]{Name: "desk", Agent: silentAgent(), Demo: demo, Deps: func(context.Context, *host.Session, host.Place) (any, error) { return "files", broken }}
	e := filled(t, c, "--no-store")
	require.NoError(t, e.ReadConfig())
	s := testSession(t, e, func(h *host.Config[any, string]) {})
	h, err := c.host(t.Context(), e)
	require.NoError(t, err)
	d, err := h.Deps(t.Context(), s)
	require.Equal(t, []any{"files", broken}, []any{d, err})
	e.Wrong(errors.New("one"))
	e.Wrong(errors.New("two"))
	require.EqualError(t, e.Problem(), "one\ntwo")
	d, err = h.Deps(t.Context(), s)
	require.EqualError(t, err, "mend the configuration and start desk again: one\ntwo")
	require.Nil(t, d)
}

// testSession returns a session of a host.
func testSession(t *testing.T, e *Env, change func(*host.Config[any, string])) *host.Session {
	c := host.Config[any, string]{Agent: silentAgent(), Models: []host.Model{{ID: "m", Model: modeltest.Script(modeltest.SayText("Hello."))}}}
	change(&c)
	h, err := host.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	s, err := h.Create(t.Context(), sessions.New{}, host.Local)
	require.NoError(t, err)
	return s
}

// Exit codes select what is said at the end.
func TestWhatIsSaidAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, ""},
		{errors.New("it\x1b failed"), 1, "desk: it⟨ESC⟩ failed\n"},
		{&ExitError{Code: 7, Err: errors.New("seven")}, 7, "desk: seven\n"},
		{&ExitError{Code: 7}, 7, ""},
		{Usage("say %q", "x"), 2, "desk: say \"x\"\nRun \"desk -h\" for help.\n"},
		{&ExitError{Code: 2}, 2, "Run \"desk -h\" for help.\n"},
		{errors.Join(errors.New("one"), &ExitError{Code: 7}), 7, ""},
	} {
		var said strings.Builder
		require.Equal(t, c.code, newEnv(Process{Err: &said, Out: io.Discard}, "desk").exit(c.err))
		require.Equal(t, c.want, said.String())
	}
	require.Equal(t, "exit code 7", (&ExitError{Code: 7}).Error())
	inner := errors.New("seven")
	require.Equal(t, "seven", (&ExitError{Code: 7, Err: inner}).Error())
	require.Equal(t, inner, (&ExitError{Code: 7, Err: inner}).Unwrap())
	for err, want := range map[error]string{nil: "desk: the output cannot be written: no room\n", errors.New("x"): "desk: x\n"} {
		var said strings.Builder
		e := newEnv(Process{Err: &said, Out: fullDisk{}}, "desk")
		_, _ = e.Out.Write([]byte("x"))
		require.Equal(t, 1, e.exit(err))
		require.Equal(t, want, said.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no room") }

// What is said goes to the standard error, or to a surface that draws a screen.
func TestWhatIsSaid(t *testing.T) {
	var said strings.Builder
	e := newEnv(Process{Err: &said}, "desk")
	e.Say("a %s\n  line\x1b", "long")
	require.Equal(t, "desk: a long line⟨ESC⟩\n", said.String())
	var lines []string
	var small []bool
	e.OnSay(func(line string, minor bool) { lines, small = append(lines, line), append(small, minor) })
	e.Say("one")
	e.say(true, "two")
	e.Wrong(errors.New("three\nfour"))
	e.SayProblem()
	require.Equal(t, []string{"one", "two", "three", "four"}, lines)
	require.Equal(t, []bool{false, true, false, false}, small)
	said.Reset()
	e.OnSay(nil)
	e.say(true, "minor")
	require.Equal(t, "desk: minor\n", said.String())
}

// What was opened is closed at the end, the last first, and what fails is told.
func TestWhatIsClosedAtTheEnd(t *testing.T) {
	var order []string
	e := newEnv(Process{}, "desk")
	e.store = &listing{last: errors.New("store")}
	for _, name := range []string{"one", "two"} {
		e.OnClose(func() error { order = append(order, name); return errors.New(name) })
	}
	require.EqualError(t, e.close(), "store\ntwo\none")
	require.Equal(t, []string{"two", "one"}, order)
	require.Equal(t, 1, e.store.(*listing).closed)
}

// The flags that slow the model down or forget sessions are set if the user has not.
func TestWhatSurfacesSet(t *testing.T) {
	c := Config[any, string]{Name: "desk", Agent: silentAgent(), Demo: demo}
	e := filled(t, c)
	e.Watched()
	e.Forget()
	require.Equal(t, 8*time.Millisecond, *e.pace)
	require.True(t, *e.noStore)
	e = filled(t, c, "--pace", "1s", "--store", "x")
	e.Watched()
	e.Forget()
	require.Equal(t, time.Second, *e.pace)
	require.False(t, *e.noStore)
	require.Nil(t, e.Model())
	e.choose(t.Context())
	require.NotNil(t, e.Model())
	var m model.Model = e.model
	e.choose(t.Context())
	require.Equal(t, m, e.Model(), "it is chosen once")
}

// Without a home there is no configuration, which is no mistake.
func TestWithoutAHomeThereIsNoConfiguration(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, "")
	}
	e := filled(t, Config[any, string]{Name: "desk", Agent: silentAgent(), Demo: demo})
	require.NoError(t, e.ReadConfig())
	require.Equal(t, &config.User{}, e.Config)
	require.NoError(t, e.Problem())
	_, err := newEnv(Process{Getenv: env()}, "desk").StateDir()
	if err != nil {
		require.ErrorContains(t, err, "no directory for sessions: ")
		require.ErrorContains(t, err, ": use -store DIR")
	}
}

// The log is written to the standard error, or to a file that is made with its first line.
func TestTheLog(t *testing.T) {
	var said strings.Builder
	state := t.TempDir()
	e := newEnv(Process{Err: &said, Getenv: env("XDG_STATE_HOME", state)}, "desk")
	require.NoError(t, e.command().ParseFlags(nil))
	_, err := e.log.Write([]byte("one\n"))
	require.NoError(t, err)
	require.Equal(t, "one\n", said.String())
	e.LogToFile()
	name := filepath.Join(state, "desk", "desk.log")
	require.NoDirExists(t, filepath.Dir(name))
	n, err := e.log.Write([]byte("two\n"))
	require.NoError(t, err)
	require.Equal(t, 4, n)
	_, err = e.log.Write([]byte("three\n"))
	require.NoError(t, err)
	e.log.close()
	e.log.close()
	_, err = e.log.Write([]byte("four\n"))
	require.NoError(t, err, "it is opened again")
	e.log.close()
	require.Equal(t, "one\n", said.String())
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "two\nthree\nfour\n", string(data))
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{name: 0o600, filepath.Dir(name): 0o700} {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, want, info.Mode().Perm(), "nobody else reads %s", path)
		}
	}

	// A file that is too large is set aside, once.
	write := func() {
		l := &logFile{}
		l.file(name)
		_, err := l.Write([]byte("new\n"))
		require.NoError(t, err)
		l.close()
	}
	require.NoError(t, os.Truncate(name, 4<<20))
	write()
	require.NoFileExists(t, name+".old")
	write()
	info, err := os.Stat(name + ".old")
	require.NoError(t, err)
	require.EqualValues(t, 4<<20+4, info.Size())
	data, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))

	// The flag comes first.
	*e.logTo = filepath.Join(state, "own.log")
	e.log.file(*e.logTo)
	e.LogToFile()
	require.Equal(t, *e.logTo, e.log.name)

	// Where it cannot be written, lines are lost.
	for _, name := range []string{filepath.Join(name, "below", "x"), state} {
		l := &logFile{to: &said}
		l.file(name)
		n, err := l.Write([]byte("lost"))
		require.Error(t, err)
		require.Zero(t, n)
		require.Nil(t, l.opened)
		l.close()
	}
}

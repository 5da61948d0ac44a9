// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/editor"
	"github.com/ponte-go/ponte/app/internal/out"
	"github.com/ponte-go/ponte/internal/show"
)

// Options configures the surface. The zero value is useful.
type Options struct {
	// Bridge returns how sessions are served, as for [editor.Options].
	Bridge func() acpbridge.Options
}

// New returns the surface "chat". It also answers questions that are arguments of the program, as
// in desk "Where is order 17?".
func New(o Options) app.Surface { return &surface{o: o} }

// surface is the command "chat".
type surface struct {
	o Options
	e *app.Env

	dir, agent, resume                   string
	scratch, yes, agents, json, plain, v bool
	last                                 bool

	served chan struct{} // closed when the agent in this process has ended
}

// Name implements [app.Surface].
func (*surface) Name() string { return "chat" }

// Command implements [app.Surface].
func (s *surface) Command(e *app.Env) *cobra.Command {
	s = &surface{o: s.o, e: e}
	c := &cobra.Command{
		Use: "chat [flags] [PROMPT]", Short: "Talk to the agent in this terminal",
		Long: `Talks to the agent in this terminal. The agent gets the files of one directory, and commands that run
on this machine; you are asked before it changes or runs anything. With PROMPT it does one thing;
without, it asks what to do until Ctrl-D. A PROMPT of - is all of the standard input. Ctrl-C cancels
what the agent is doing, a second one quits. Without a terminal each line of the input is a prompt,
and nobody is asked: the answer is no, unless there is -yes.

Exit codes: 0 done, 1 error, 2 mistake in the command line, 5 something was not allowed, 130 interrupted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return s.run(ctx, cmd, args)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&s.dir, "dir", ".", "`directory` to work in")
	f.BoolVar(&s.scratch, "scratch", false, "work on a copy of the directory, and keep the copy for inspection")
	f.BoolVar(&s.yes, "yes", false, "allow everything without asking")
	f.BoolVarP(&s.last, "continue", "c", false, "continue the last session of the directory")
	f.StringVarP(&s.resume, "resume", "r", "", "continue the session of an `id`; \"sessions list\" has them")
	f.StringVar(&s.agent, "agent", "", "another ACP `agent`: a name that -agents lists, or a command with quotes as a shell has them")
	_ = c.RegisterFlagCompletionFunc("agent", completeAgents)
	f.BoolVar(&s.agents, "agents", false, "list the agents that have names, and how to install them")
	f.BoolVar(&s.json, "json", false, "write events as JSON, one per line, and ask no questions")
	f.BoolVar(&s.plain, "plain", false, "append text instead of drawing a screen")
	f.BoolVarP(&s.v, "verbose", "v", false, "show what the agent writes to standard error")
	return c
}

func (s *surface) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	e := s.e
	e.LogToFile()
	if s.agents {
		return listAgents(e.Out)
	}
	if s.last && s.resume != "" {
		return app.Usage("-continue and -resume: use one of them")
	}
	prompt, err := s.prompt(args)
	if err != nil {
		return err
	}
	c := Config{
		Program: e.Name, Prompt: prompt, AllowAll: s.yes, Verbose: s.v, JSON: s.json, Version: e.Version,
		In: e.In, Person: isTerminal(e.In), Out: e.Out, Err: e.Err, Resume: s.resume, Continue: s.last,
	}
	outTTY := isTerminal(out.File(e.Out)) && e.Getenv("TERM") != "dumb"
	c.Color = outTTY && e.Getenv("NO_COLOR") == "" && (runtime.GOOS != "windows" || e.Getenv("WT_SESSION") != "")
	if s.agent != "" {
		if err := e.ReadConfig(); err != nil {
			e.SayProblem()
			return &app.ExitError{Code: ExitError}
		}
		for _, name := range []string{"model", "config", "store"} {
			if f := cmd.Flag(name); f != nil && f.Changed {
				return app.Usage("-%s is for %s's own agent; leave it out with -agent", name, e.Name)
			}
		}
		if c.Agent, err = otherAgent(s.agent); err != nil {
			if _, missing := errors.AsType[*acpclient.NotInstalledError](err); missing {
				return err
			}
			return app.Usage("-agent: %w", err)
		}
	} else if err := s.own(ctx, &c, outTTY); err != nil {
		return err
	}
	told := io.Writer(e.Out)
	if s.json {
		told = e.Err // the output is for a program
	}
	if c.Dir, err = directory(e.Name, s.dir, s.scratch, told); err != nil {
		return err
	}
	interrupted, stop := interrupts()
	defer stop()
	c.Interrupts = interrupted
	files := editor.Local(e)
	c.Env, c.Own = files.PassEnv, s.agent == ""
	if c.Own || e.Config.Sandbox != nil { // other agents cannot ask to leave it
		c.Sandbox = files.Sandbox
	}
	if original, err := filepath.Abs(s.dir); err == nil && c.Sandbox != nil {
		c.Sandbox.CacheOf = original // also for a copy of it
	}
	if c.Sandbox != nil {
		c.Sandbox.Unreadable, err = config.Unreadable(e.Name, e.Config, c.Dir)
		if err != nil && !c.Own { // the program's own sessions say the same
			return err
		}
	}
	// One thing that needs no answers is shown as text, for people too.
	if in, ok := e.In.(*os.File); ok && c.Person && outTTY && !s.plain && !s.json && !(s.yes && c.Prompt != "") {
		c.Terminal = Screen(in, out.File(e.Out))
		c.Editor = cmp.Or(e.Getenv("VISUAL"), e.Getenv("EDITOR"), "vi")
		private := e.Config.Encrypt != "" || cmd.Flag("encrypt").Value.String() != "" ||
			cmd.Flag("no-store").Value.String() == "true" // nothing is kept as plain text
		if where, err := os.UserConfigDir(); err == nil && !private {
			c.History = filepath.Join(where, "ponte", "chat-history.jsonl")
		}
	}
	code := Run(ctx, c)
	e.OnSay(nil)
	if s.served != nil {
		<-s.served
	}
	if code != ExitOK {
		return &app.ExitError{Code: code}
	}
	return nil
}

// prompt returns the prompt of the arguments.
func (s *surface) prompt(args []string) (string, error) {
	if len(args) == 1 && args[0] == "-" {
		all, err := io.ReadAll(io.LimitReader(s.e.In, maxLine+1))
		if err == nil && len(all) > maxLine {
			err = fmt.Errorf("the prompt has more than %d bytes: give the text as a file", maxLine)
		}
		if text := strings.TrimSpace(string(all)); err == nil && text == "" {
			err = errors.New("the prompt that was read from the input is empty")
		}
		return strings.TrimRight(string(all), "\r\n"), err
	}
	return strings.Join(args, " "), nil
}

// own has the program's own agent, in this process.
func (s *surface) own(ctx context.Context, c *Config, watched bool) error {
	e := s.e
	if watched {
		e.Watched()
	}
	if !c.Person && !c.Continue && c.Resume == "" {
		e.Forget() // nobody will continue the session
	}
	e.OnSay(func(line string, minor bool) {
		if !minor || s.v {
			fmt.Fprintf(e.Err, "%s: %s\n", e.Name, line)
		}
	})
	h, err := e.Open(ctx)
	if err != nil {
		return err
	}
	if err := editor.Ready(e); err != nil {
		return err
	}
	if l := e.Login(); l != nil && !c.Person {
		if err := l.Check(ctx); err != nil {
			return &app.ExitError{Code: 2, Err: err}
		}
	}
	c.Said = func(show func(string)) {
		e.OnSay(func(line string, minor bool) {
			if !minor || s.v {
				show(line)
			}
		})
	}
	c.LogIn = func(ctx context.Context) error { return e.KeepKey(ctx, false, editor.Provider(ctx, e)) }
	c.Connect = func(ctx context.Context, config acpclient.Config) (*acpclient.Client, error) {
		agentIn, clientOut := acp.Pipe()
		clientIn, agentOut := acp.Pipe()
		o := editor.Bridge(e, s.o.Bridge)
		o.In, o.Out = agentIn, agentOut
		s.served = make(chan struct{})
		serving := context.WithoutCancel(ctx) // until the client has left
		go func() {
			defer close(s.served)
			if err := acpbridge.ServeHost(serving, h, o); err != nil {
				e.Logger.Error("chat: the agent has ended with an error", "error", err)
			}
		}()
		client, err := acpclient.Connect(ctx, clientIn, clientOut, config)
		if err != nil {
			_ = clientOut.Close()
			_ = clientIn.Close()
		}
		return client, err
	}
	return nil
}

// otherAgent returns the command of an agent that was named, or whose command line was given. A
// single word is a name first, because the registry knows the arguments, and then a program.
func otherAgent(line string) (acpclient.Command, error) {
	c, err := ParseCommand(line)
	if err != nil || len(c.Args) > 0 || len(c.Env) > 0 || strings.ContainsAny(c.Path, `/\`) {
		return c, err
	}
	named, err := acpclient.Named(c.Path)
	if _, unknown := errors.AsType[*acpclient.UnknownAgentError](err); unknown {
		if _, lookErr := exec.LookPath(c.Path); lookErr == nil {
			return c, nil
		}
	}
	return named, err
}

// completeAgents returns the names of agents.
func completeAgents(
	*cobra.Command, []string, string,
) (names []cobra.Completion, d cobra.ShellCompDirective) {
	all, err := acpclient.LoadRegistry()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, a := range all.Agents() {
		names = append(names, cobra.CompletionWithDesc(a.ID, a.Name))
	}
	return names, cobra.ShellCompDirectiveDefault
}

// listAgents lists the agents that have names.
func listAgents(out io.Writer) error {
	all, err := acpclient.LoadRegistry()
	if err != nil {
		return err
	}
	var store acpclient.AgentStore
	for _, a := range all.Agents() {
		state := "installed"
		if _, err := store.Command(a); err != nil {
			state = err.Error()
			if missing, ok := errors.AsType[*acpclient.NotInstalledError](err); ok {
				state = "install it with: " + missing.Command
			}
		}
		names := strings.Join(append([]string{a.ID}, a.Aliases...), ", ")
		fmt.Fprintf(out, "%s: %s\n    %s\n", show.Line(names), show.Line(a.Name+" "+a.Version), show.Line(state))
	}
	return nil
}

// directory returns the absolute path of the directory to work in. If it is a copy, told receives a
// note.
func directory(program, dir string, scratch bool, told io.Writer) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return "", app.Usage("-dir: %w", err)
	case !info.IsDir():
		return "", app.Usage("-dir: %s is not a directory", dir)
	case !scratch:
		return dir, nil
	}
	parent, err := os.MkdirTemp("", program+"-")
	if err != nil {
		return "", fmt.Errorf("-scratch: %w", err)
	}
	work := filepath.Join(parent, filepath.Base(dir))
	if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
		_ = os.RemoveAll(parent)
		return "", fmt.Errorf("-scratch: cannot copy %s: %w", dir, err)
	}
	fmt.Fprintf(told, "Working on a copy: %s\n\n", show.Line(work))
	return work, nil
}

// interrupts returns a channel that receives a value for each Ctrl-C.
func interrupts() (received <-chan struct{}, stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt)
	out := make(chan struct{}, 8)
	go func() {
		for range signals {
			select {
			case out <- struct{}{}:
			default: // nobody has taken the last eight
			}
		}
	}()
	return out, func() {
		signal.Stop(signals)
		close(signals)
	}
}

// isTerminal reports whether a file is a terminal: a character device that is not the null device.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

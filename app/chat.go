// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/internal/keys"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/app/internal/term/tty"
	"github.com/ponte-go/ponte/internal/show"
)

const chatUsage = `Talk to an agent in this terminal.

Usage:

	ideagent chat [flags] [PROMPT]

The agent reads and writes the files of one directory, and runs commands on this machine; you are asked before it
changes or runs anything. With PROMPT it does one thing; without, it asks what to do until Ctrl-D. Ctrl-C cancels what
the agent is doing, a second one quits. Without a terminal each line of the input is a prompt, and nobody is asked: the
answer is no, unless there is -yes.

Exit codes: 0 done, 1 error, 2 mistake in the command line, 5 something was not allowed, 130 interrupted.

Flags:

`

func chatCommand(ctx context.Context, args []string, kinds stores.Kinds) int {
	flags := flag.NewFlagSet("chat", flag.ContinueOnError)
	dir := flags.String("dir", ".", "`directory` to work in")
	scratch := flags.Bool("scratch", false, "work on a copy of the directory, and keep the copy for inspection")
	allowAll := flags.Bool("yes", false, "allow everything without asking")
	modelName := flags.String("model", "", "`model` of the agent; see ideagent -h")
	configFile := flags.String("config", "", "configuration `file` of the agent; see ideagent -h")
	storeAt := flags.String("store", "", "`directory` or database of the agent's sessions; see ideagent -h")
	agent := flags.String("agent", "", "another ACP `agent`: a name that -agents lists, or a command with quotes as a shell has them")
	agents := flags.Bool("agents", false, "list the agents that have names, and how to install them")
	asJSON := flags.Bool("json", false, "write events as JSON, one per line, and ask no questions")
	asPlain := flags.Bool("plain", false, "append text instead of drawing a screen")
	verbose := flags.Bool("v", false, "show what the agent writes to standard error")
	if code, done := parseFlags(flags, args, chatUsage); done {
		return code
	}
	if *agents {
		return listAgents(stdout)
	}
	command, err := agentOf(*agent, own{model: *modelName, config: *configFile, store: *storeAt}, kinds)
	if _, ok := errors.AsType[*config.Problem](err); ok {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(os.Stderr, "ideagent: %s\n", show.Line(strings.TrimSpace(line)))
		}
		return exitError
	}
	if _, ok := errors.AsType[*acpclient.NotInstalledError](err); ok {
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
	}
	if err != nil {
		return misuse(err)
	}
	told := io.Writer(stdout)
	if *asJSON {
		told = os.Stderr // the output is for a program
	}
	where, err := directory(*dir, *scratch, told)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
	}
	interrupts, stop := interrupts()
	defer stop()
	inTTY, outTTY := isTerminal(os.Stdin), isTerminal(os.Stdout) && os.Getenv("TERM") != "dumb"
	terminal := chat.Config{
		Agent: command, Dir: where, Prompt: strings.Join(flags.Args(), " "), AllowAll: *allowAll, Verbose: *verbose, JSON: *asJSON,
		Version: release(), In: os.Stdin, Person: inTTY, Out: os.Stdout, Err: os.Stderr,
		Color:      outTTY && os.Getenv("NO_COLOR") == "" && (runtime.GOOS != "windows" || os.Getenv("WT_SESSION") != ""),
		Interrupts: interrupts,
		Heed:       func(line string) bool { return *agent == "" && strings.HasPrefix(line, notKept) },
	}
	if user, err := readConfig(*configFile); err == nil {
		terminal.Env, terminal.Sandbox = user.Env, sandboxOf(user)
	}
	// One thing that needs no answers is shown as text, for people too.
	if inTTY && outTTY && !*asPlain && !*asJSON && !(*allowAll && terminal.Prompt != "") {
		terminal.Terminal = func() (tty.Terminal, error) { return tty.Open(os.Stdin, os.Stdout) }
		if where, err := os.UserConfigDir(); err == nil {
			terminal.History = filepath.Join(where, "ponte", "chat-history.jsonl")
		}
	}
	return chat.Run(ctx, terminal)
}

// own are the flags for ideagent's own agent.
type own struct{ model, config, store string }

// agentOf returns the command that starts the agent: this program, unless there is another.
func agentOf(agent string, o own, kinds stores.Kinds) (c acpclient.Command, err error) {
	if agent != "" {
		for _, f := range [][2]string{{"-model", o.model}, {"-config", o.config}, {"-store", o.store}} {
			if f[1] != "" {
				return c, fmt.Errorf("%s is for ideagent's own agent; leave it out with -agent", f[0])
			}
		}
		if c, err = otherAgent(agent); err != nil {
			return c, fmt.Errorf("-agent: %w", err)
		}
		return c, nil
	}
	if c.Path, err = os.Executable(); err != nil {
		return c, err
	}
	if _, err := readConfig(o.config); err != nil {
		return c, err
	}
	switch {
	case o.store != "":
		if _, err := placeOf(o.store, kinds, os.Getenv); err != nil {
			return c, err
		}
		c.Args = []string{"-store", o.store}
	case !isTerminal(os.Stdin):
		c.Args = []string{"-no-store"} // nobody will continue the session
	}
	if o.config != "" {
		c.Args = append(c.Args, "-config", o.config)
	}
	if o.model != "" {
		// Report problems here instead of in a child process that exits.
		if _, err := (chooser{env: withKeys(context.Background(), os.Getenv, keys.Open(os.Getenv))}).named(context.Background(), o.model); err != nil {
			return c, err
		}
		c.Args = append(c.Args, "-model", o.model)
	}
	if isTerminal(os.Stdout) {
		c.Args = append(c.Args, "-pace", "8ms")
	}
	return c, nil
}

// otherAgent returns the command of an agent that was named, or whose command line was given. A single word is a name first, because
// the registry knows the arguments, and then a program.
func otherAgent(line string) (acpclient.Command, error) {
	c, err := chat.ParseCommand(line)
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

// listAgents lists the agents that have names.
func listAgents(out io.Writer) int {
	all, err := acpclient.LoadRegistry()
	if err != nil {
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
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
	return exitOK
}

// directory returns the absolute path of the directory to work in. If it is a copy, told receives a
// note.
func directory(dir string, scratch bool, told io.Writer) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return "", fmt.Errorf("-dir: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("-dir: %s is not a directory", dir)
	case !scratch:
		return dir, nil
	}
	parent, err := os.MkdirTemp("", "ideagent-")
	if err != nil {
		return "", fmt.Errorf("-scratch: %w", err)
	}
	work := filepath.Join(parent, filepath.Base(dir))
	if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
		_ = os.RemoveAll(parent)
		return "", fmt.Errorf("-scratch: cannot copy %s: %w", dir, err)
	}
	fmt.Fprintf(told, "Working on a copy: %s\n\n", work)
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
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

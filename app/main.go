// SPDX-License-Identifier: Apache-2.0

// Package app is the program of examples/ideagent, shared by main packages with other stores.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/internal/nearest"
)

// Kinds are the databases that sessions can be kept in, by the scheme of their addresses.
type Kinds = stores.Kinds

// Store is a store of sessions that is closed at the end.
type Store = stores.Store

// Main runs the program with the arguments of the process, and exits. kinds are the databases that it can keep sessions in.
func Main(kinds stores.Kinds) {
	guard.Undumpable() // there are keys in its memory
	os.Exit(run(os.Args[1:], kinds))
}

// Exit codes. Those of chat are in package chat.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

const usage = `Ideagent is a coding agent that speaks the Agent Client Protocol (ACP).

Usage:

	ideagent [flags]                 speak ACP on standard input and output, for an IDE
	ideagent chat [flags] [PROMPT]   talk to the agent in this terminal
	ideagent proxy [flags] AGENT …   stand between an IDE and another agent
	ideagent sessions COMMAND        list, show, export, import or purge the sessions that it keeps
	ideagent login [PROVIDER]        keep an API key in the system's keyring
	ideagent logout [PROVIDER]       forget it
	ideagent version                 print the version

Run "ideagent chat -h" for the flags of chat, and "ideagent sessions -h" for the commands of sessions.

Flags:

`

// run is the program, without the process around it.
func run(args []string, kinds stores.Kinds) int {
	code := dispatch(args, kinds)
	if err := stdout.Err(); err != nil && code == exitOK {
		fmt.Fprintf(os.Stderr, "ideagent: %v\n", err)
		return exitError
	}
	return code
}

// stdout is where everything goes that the agent and chat do not write themselves.
var stdout = chat.NewOutput(os.Stdout, nil)

func dispatch(args []string, kinds stores.Kinds) int {
	command := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	switch command {
	case "":
		return agentCommand(context.Background(), args, kinds) // acpbridge.Serve minds the signals
	case "chat":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		return chatCommand(ctx, args, kinds)
	case "proxy":
		return proxyCommand(context.Background(), args)
	case "sessions":
		return sessionsCommand(context.Background(), args, kinds)
	case "login", "logout":
		return loginCommand(command, args)
	case "version":
		fmt.Fprintln(stdout, "ideagent", version())
		return exitOK
	case "help":
		return agentCommand(context.Background(), []string{"-h"}, kinds)
	}
	return misuse(fmt.Errorf("unknown command %q%s", stores.Mask(command), didYouMean(command, "chat", "proxy", "sessions", "login", "logout", "version", "help")))
}

// misuse reports a mistake in the command line.
func misuse(err error) int {
	fmt.Fprintf(os.Stderr, "ideagent: %v\nRun \"ideagent -h\" for help.\n", err)
	return exitUsage
}

// parseFlags parses a command line. done means that the program must exit with the code, after -h
// or an error.
func parseFlags(flags *flag.FlagSet, args []string, usage string) (code int, done bool) {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	switch {
	case err == nil:
		return 0, false
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return exitOK, true
	}
	text, hint := err.Error(), ""
	if before, _, ok := strings.Cut(text, "://"); ok { // the address of a database, which may have a password
		text = before + "://…"
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: "); ok {
		var known []string
		flags.VisitAll(func(f *flag.Flag) { known = append(known, "-"+f.Name) })
		text, hint = "unknown flag "+stores.Mask(name), didYouMean(name, known...)
	}
	return misuse(errors.New(text + hint)), true
}

// didYouMean suggests the known word that was probably meant by a wrong one, if there is one.
func didYouMean(wrong string, known ...string) string {
	if meant := nearest.Of(wrong, slices.Values(known)); meant != "" {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return ""
}

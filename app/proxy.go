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
	"syscall"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent/approval"
)

const proxyUsage = `Usage: ideagent proxy [flags] AGENT [ARGUMENT...]

Passes messages between an IDE and another agent. AGENT is a name, such as codex, or a program with its arguments.

Flags:

`

// proxyCommand stands between an IDE and another agent.
func proxyCommand(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return proxy(ctx, args, os.Stdin, stdout)
}

func proxy(ctx context.Context, args []string, in io.Reader, out io.Writer) int {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	record := flags.String("record", "", "append the messages to a file, without secrets")
	rules := flags.String("rules", "", "decide about requests by the rules of a file (docs/approvals.md)")
	readOnly := flags.Bool("read-only", false, "deny what changes something")
	if code, done := parseFlags(flags, args, proxyUsage); done {
		return code
	}
	if flags.NArg() == 0 {
		return misuse(errors.New("name an agent, or a program that is one"))
	}
	config := acpproxy.Config{OnProblem: func(err error) { fmt.Fprintln(os.Stderr, "ideagent:", err) }}
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "ideagent:", err)
		return exitError
	}
	var layers []approval.Layer
	if *rules != "" {
		layer, err := rulesOf(*rules)
		if err != nil {
			return fail(err)
		}
		layers = append(layers, layer)
	}
	if *readOnly {
		layers = append(layers, approval.ReadOnly())
	}
	if layers != nil {
		config.Policy = acpproxy.Layers(layers...)
	}
	if *record != "" {
		file, err := os.OpenFile(*record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fail(err)
		}
		defer file.Close()
		config.Record = file
	}
	command := acpclient.Command{Path: flags.Arg(0), Args: flags.Args()[1:]}
	if flags.NArg() == 1 {
		if named, err := acpclient.Named(flags.Arg(0)); err == nil {
			command = named
		} else if unknown, ok := errors.AsType[*acpclient.UnknownAgentError](err); !ok || len(unknown.Near) > 0 && !isProgram(flags.Arg(0)) {
			return fail(err)
		}
	}
	err := acpproxy.Run(ctx, in, out, command, config)
	if ended, ok := errors.AsType[*acpclient.ProcessError](err); ok && ended.ExitCode > 0 {
		fail(err)
		return ended.ExitCode
	}
	if err != nil {
		return fail(err)
	}
	return exitOK
}

func isProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// rulesOf reads a file of rules about the current directory.
func rulesOf(name string) (approval.Layer, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return approval.Layer{}, err
	}
	rules, err := approval.ParseConfig(data)
	if err != nil {
		return approval.Layer{}, fmt.Errorf("%s: %w", name, err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return approval.Layer{}, err
	}
	return rules.Layer(dir)
}

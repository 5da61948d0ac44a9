// SPDX-License-Identifier: Apache-2.0

// Package proxy has the command "proxy" of programs of package app: it stands between an editor and
// another agent.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/app"
)

// Command returns the command "proxy", for [app.Config].Commands. It passes messages between an
// editor and another agent, records them, and decides about what the agent asks.
func Command(e *app.Env) *cobra.Command {
	p := proxy{e: e}
	c := &cobra.Command{
		Use: "proxy [flags] AGENT [ARGUMENT...]", Short: "Stand between an editor and another agent",
		Long: "Passes messages between an editor and another agent. AGENT is a name, such as codex, or a program with its arguments.",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return p.run(ctx, args)
		},
	}
	c.Flags().StringVar(&p.record, "record", "", "append the messages to a `file`, without secrets")
	c.Flags().StringVar(&p.rules, "rules", "", "decide about requests by the rules of a `file` (docs/approvals.md)")
	c.Flags().BoolVar(&p.readOnly, "read-only", false, "deny what changes something")
	return app.PassRest(c)
}

type proxy struct {
	e             *app.Env
	record, rules string
	readOnly      bool
}

func (p *proxy) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return app.Usage("name an agent, or a program that is one")
	}
	config := acpproxy.Config{OnProblem: func(err error) { p.e.Say("%v", err) }}
	var layers []approval.Layer
	if p.rules != "" {
		layer, err := rulesOf(p.rules)
		if err != nil {
			return err
		}
		layers = append(layers, layer)
	}
	if p.readOnly {
		layers = append(layers, approval.ReadOnly())
	}
	if layers != nil {
		config.Policy = acpproxy.Layers(layers...)
	}
	if p.record != "" {
		file, err := os.OpenFile(p.record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		config.Record = file
	}
	command := acpclient.Command{Path: args[0], Args: args[1:]}
	if len(args) == 1 {
		if named, err := acpclient.Named(args[0]); err == nil {
			command = named
		} else if unknown, ok := errors.AsType[*acpclient.UnknownAgentError](err); !ok || len(unknown.Near) > 0 && !isProgram(args[0]) {
			return err
		}
	}
	err := acpproxy.Run(ctx, p.e.In, p.e.Out, command, config)
	if ended, ok := errors.AsType[*acpclient.ProcessError](err); ok && ended.ExitCode > 0 {
		return &app.ExitError{Code: ended.ExitCode, Err: err}
	}
	return err
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

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/acpview"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// newHost makes the host of the sessions. It is where the types are; nothing else here has type parameters.
func newHost[D deps.Carrier, O any](config *Config[D, O], window int) (*host.Host, error) {
	var more func(*host.Session) []host.Command
	if config.SessionCommands != nil {
		more = func(s *host.Session) []host.Command { return config.SessionCommands(s.Attached().(*session).info) }
	}
	return host.New(host.Config[D, O]{
		Agent: config.Agent, Render: config.render, Window: window, Busy: host.BusyQueue, Logger: config.Logger,
		Store: config.Store, Idle: config.Idle,
		Prices: config.Prices, Currency: config.Currency, ErrorText: config.ErrorText,
		Files: config.Files, Modes: config.Modes, Models: config.Models, Thinking: config.Thinking, Settings: config.Settings, Commands: config.Commands,
		SessionCommands: more, Layers: config.Layers,
		Announce: func(ctx context.Context, s *host.Session, e *view.Entity) { s.Attached().(*session).announce(ctx, e) },
		Deps: func(ctx context.Context, s *host.Session) (D, error) {
			return openDeps(ctx, config, s.Attached().(*session), s)
		},
		Release: func(ctx context.Context, s *host.Session, d D) error {
			return releaseDeps(ctx, config, s.Attached().(*session), d)
		},
		Keep: func(s *host.Session, _ D) bool { return s.Attached().(*session).waking().busy() },
		RunOptions: func(ctx context.Context, d D, p *host.Prompt) ([]agent.RunOption, error) {
			prompt, _ := p.Meta.(*acp.PromptRequest)
			if config.RunOptions == nil || prompt == nil {
				return nil, nil
			}
			return config.RunOptions(ctx, d, prompt)
		},
	})
}

// openDeps makes the dependencies of a session.
func openDeps[D deps.Carrier, O any](ctx context.Context, config *Config[D, O], s *session, hosted *host.Session) (d D, err error) {
	given, a, err := s.wake(hosted.Policy())
	if err != nil {
		return d, err
	}
	defer func() {
		if err != nil {
			<-a.endCommands(ctx)
			_ = a.workspace.Close()
		}
	}()
	defer recovered(&err)
	if d, err = config.Deps(ctx, given); err != nil {
		return d, err
	}
	if a.deps = d.ACP(); a.deps.Client == nil {
		config.Logger.Warn("acpbridge: Deps has dropped the deps.ACPDeps that it was given: tools cannot use the editor", "session", s.id)
	}
	return d, nil
}

// releaseDeps frees the dependencies of a session that ends or falls asleep.
func releaseDeps[D deps.Carrier, O any](ctx context.Context, config *Config[D, O], s *session, d D) (err error) {
	a := s.waking()
	<-a.endCommands(ctx)
	defer func() { err = errors.Join(err, a.workspace.Close()) }()
	defer recovered(&err)
	if config.Release != nil {
		return config.Release(ctx, d)
	}
	return nil
}

// render returns what the user is shown of an output.
func (c *Config[D, O]) render(value any) (text string, err error) {
	defer recovered(&err)
	if output, ok := value.(O); ok && c.Render != nil {
		return c.Render(output), nil
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.String {
		return v.String(), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return "", fmt.Errorf("the output has no JSON form: %w", err)
	}
	fence := acpview.Fence(buf.String())
	return fmt.Sprintf("%sjson\n%s%s", fence, buf.String(), fence), nil
}

// recovered turns a panic of user code into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &agent.PanicError{Value: p, Stack: debug.Stack()}
	}
}

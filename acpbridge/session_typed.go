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
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// typedConversation runs the user's agent with the dependencies of one session. It is where the types are; nothing else here has
// type parameters.
type typedConversation[D deps.Carrier, O any] struct {
	config *Config[D, O]
	id     acp.SessionID
	deps   D
}

// openConversation makes the dependencies of a session.
func openConversation[D deps.Carrier, O any](ctx context.Context, config *Config[D, O], acp deps.ACPDeps) (_ conversation, err error) {
	defer recovered(&err)
	d, err := config.Deps(ctx, acp)
	if err != nil {
		return nil, err
	}
	if d.ACP().Client == nil {
		config.Logger.Warn("acpbridge: Deps has dropped the deps.ACPDeps that it was given: tools cannot use the editor", "session", acp.Session.ID)
	}
	return &typedConversation[D, O]{config: config, id: acp.Session.ID, deps: d}, nil
}

func (c *typedConversation[D, O]) run(ctx context.Context, in *runInput, p *projection) ([]*model.Message, error) {
	if !c.command(ctx, in, p) {
		return in.history, nil
	}
	if work := c.work(); work != nil {
		in.parts = append(in.parts, linkedFiles(ctx, work.Workspace(), in.links, c.media(), c.config.LinkedFiles)...)
	}
	options, err := c.options(ctx, in)
	if err != nil {
		return nil, err
	}
	stream := c.config.Agent.Stream(ctx, c.deps, "", options...)
	for e := range stream.Events() {
		p.event(&e)
	}
	result, err := stream.Result()
	if err != nil {
		var run *agent.RunError
		if errors.As(err, &run) {
			return run.Messages, err
		}
		return nil, err
	}
	return result.Messages, nil
}

// options returns the bridge's asker, the user's options, and then what else the bridge sets, which wins.
func (c *typedConversation[D, O]) options(ctx context.Context, in *runInput) (options []agent.RunOption, err error) {
	defer recovered(&err)
	if c.config.RunOptions != nil {
		if options, err = c.config.RunOptions(ctx, c.deps, in.prompt); err != nil {
			return nil, err
		}
	}
	asker := approval.Logged(Asker(c.deps.ACP()), c.config.Logger)
	options = append([]agent.RunOption{agent.WithAsker(asker)}, options...)
	return append(options,
		agent.WithHistory(in.history), agent.WithParts(in.parts...),
		agent.WithRunID(in.runID), agent.WithConversationID(string(c.id)),
	), nil
}

func (c *typedConversation[D, O]) work() *workspace.Session { return c.deps.ACP().Workspace }

// media is what the model takes: see [model.Info].
func (c *typedConversation[D, O]) media() []string {
	if c.config.Model != nil {
		return c.config.Model.Media
	}
	return c.config.Agent.ModelInfo().Media
}

func (c *typedConversation[D, O]) release(ctx context.Context) (err error) {
	defer recovered(&err)
	if c.config.Release != nil {
		c.config.Release(ctx, c.deps)
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
	fence := fenceFor(buf.String())
	return fmt.Sprintf("%sjson\n%s%s", fence, buf.String(), fence), nil
}

// recovered turns a panic of user code into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &agent.PanicError{Value: p, Stack: debug.Stack()}
	}
}

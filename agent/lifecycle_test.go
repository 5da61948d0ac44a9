// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// lifecycle is a toolset that counts.
type lifecycle struct {
	mu                sync.Mutex
	opened, closed    int
	openErr, closeErr error
}

func (l *lifecycle) Name() string { return "lifecycle" }

func (l *lifecycle) Open(context.Context, *toolset.RunContext[deps]) (toolset.Instance[deps], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.openErr != nil {
		return nil, l.openErr
	}
	l.opened++
	return &counted{set: l}, nil
}

type counted struct {
	set *lifecycle
	n   int
}

func (c *counted) Tools(context.Context, *toolset.RunContext[deps]) (toolset.Listing[deps], error) {
	return toolset.Listing[deps]{Tools: []*toolset.Tool[deps]{tool("count", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		c.n++
		return fmt.Sprint(c.n), nil
	})}}, nil
}

func (c *counted) Close(ctx context.Context) error {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.set.closed++
	return errors.Join(ctx.Err(), c.set.closeErr)
}

func TestToolsetIsOpenedAndClosedOnceARunAndStateIsNotShared(t *testing.T) {
	set := &lifecycle{}
	res, _, _ := run(t, cfg{Toolsets: []toolset.Toolset[deps]{set}}, []modeltest.Step{modeltest.Say(call("1", "count")), modeltest.Say(call("2", "count")), modeltest.SayText("ok")})
	require.Equal(t, 3, set.opened, "once for Run, once for Stream, once for the worker elsewhere")
	require.Equal(t, 3, set.closed)
	require.Equal(t, "request\n  tool_return 2 count: 2\n", dump(res.Messages[4:5]))
}

func TestToolsetIsClosedHoweverTheRunEnds(t *testing.T) {
	set := &lifecycle{}
	ctx, cancel := context.WithCancel(context.Background())
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { cancel(); return nil, ctx.Err() })
	_, err := newAgent(t, cfg{Model: m, Toolsets: []toolset.Toolset[deps]{set}}).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, set.closed, "with a context that is not cancelled")

	set = &lifecycle{closeErr: errors.New("stuck")}
	_, runErr, _ := run(t, cfg{Toolsets: []toolset.Toolset[deps]{set}}, []modeltest.Step{modeltest.Fail(errBoom)})
	require.ErrorIs(t, runErr, errBoom)
	require.ErrorContains(t, runErr, `close toolset "lifecycle": stuck`)

	res, _, _ := run(t, cfg{Toolsets: []toolset.Toolset[deps]{set}}, []modeltest.Step{modeltest.SayText("ok")})
	require.Equal(t, "ok", res.Output, "it does not take away an output")
}

func TestToolsetThatDoesNotOpenFailsTheRunAndTheOthersAreClosed(t *testing.T) {
	good, bad := &lifecycle{}, &lifecycle{openErr: errBoom}
	_, err, _ := run(t, cfg{Toolsets: []toolset.Toolset[deps]{good, bad}}, nil)
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, `open toolset "lifecycle": boom`)
	require.Equal(t, good.opened, good.closed)
}

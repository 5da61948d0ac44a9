// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// A program has one host, which ends with it, and so does the store of the program's own.
func TestAProgramHasOneHost(t *testing.T) {
	made, opened := 0, 0
	store := &closes{}
	var h *host.Host
	var out bytes.Buffer
	code := Run(t.Context(), Config[any, string]{
		Name: "tool",
		New: func(context.Context, *Env) (*agent.Agent[any, string], error) {
			made++
			says := modeltest.Script(modeltest.SayText("Hello."))
			return agent.New(agent.Config[any, string]{Model: says})
		},
		Demo: demo,
		Store: func(context.Context, *Env) (session.Store, error) {
			opened++
			return store, nil
		},
		Commands: []func(*Env) *cobra.Command{func(e *Env) *cobra.Command {
			return &cobra.Command{Use: "twice", RunE: func(c *cobra.Command, _ []string) (err error) {
				if h, err = e.Host(c.Context()); err != nil {
					return err
				}
				again, err := e.Open(c.Context())
				require.Same(t, h, again)
				require.Zero(t, store.closed)
				return err
			}}
		}},
	}, Process{
		Args: []string{"twice", "-model", "offline"}, Out: &out, Err: &out,
		Getenv: env("XDG_STATE_HOME", t.TempDir()),
	})
	require.Equal(t, 0, code, out.String())
	require.Equal(t, []int{1, 1, 1}, []int{made, opened, store.closed})
	_, err := h.Create(t.Context(), session.New{}, nil)
	require.ErrorIs(t, err, host.ErrClosed)
}

// closes is a store that counts how often it is closed.
type closes struct {
	session.Memory
	closed int
}

func (c *closes) Close() error { c.closed++; return nil }

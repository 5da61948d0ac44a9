// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// watchedStore calls before when the result of a tool is about to be recorded.
type watchedStore struct {
	session.Store
	before func()
}

func (s *watchedStore) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	for _, e := range b.Entries {
		if e.Kind == session.KindStep && strings.Contains(string(e.Data), `"op":"tool"`) {
			s.before()
		}
	}
	return s.Store.Append(ctx, l, head, b)
}

// A client that was told that a call has ended must find it so after the agent was killed.
func TestClientIsToldOfEndsThatAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := acptest.New(acptest.Options{Files: map[string]string{"/repo/a.txt": "one\n"}, Programs: map[string]acptest.Program{"ls": acptest.Prints("a.txt\n", 0)}})
		defer client.Close()
		var early []acp.ToolCallStatus
		store := &watchedStore{Store: new(session.Memory)}
		store.before = func() {
			synctest.Wait() // all that was sent has come
			for _, c := range client.State().ToolCalls {
				early = append(early, c.Status)
			}
		}
		a, err := agent.New(agent.Config[deps.ACPDeps, string]{
			Model: modeltest.Script(
				modeltest.Say(model.ToolCall("1", "read_file", `{"path":"a.txt"}`)), modeltest.Say(model.ToolCall("2", "read_file", `{"path":"none.txt"}`)),
				modeltest.Say(model.ToolCall("3", "run_command", `{"command":"ls"}`)), modeltest.SayText("done")),
			Toolsets: []toolset.Toolset[deps.ACPDeps]{acpbridge.Toolset[deps.ACPDeps]()},
		})
		require.NoError(t, err)
		conn := acptest.Connect(t, client, func(ctx context.Context, r io.Reader, w io.Writer) error {
			return acpbridge.Serve(ctx, acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a, Store: lasting{store}}, Options: acpbridge.Options{In: r, Out: w}})
		})
		id, err := conn.Start(t.Context(), "/repo")
		require.NoError(t, err)
		_, err = conn.Say(t.Context(), id, "go")
		require.NoError(t, err)
		const open, done, failed = acp.ToolCallStatusInProgress, acp.ToolCallStatusCompleted, acp.ToolCallStatusFailed
		require.Equal(t, []acp.ToolCallStatus{open, done, open, done, failed, open}, early)
		require.Equal(t, done, client.State().ToolCalls[2].Status)
		require.Empty(t, client.Violations())
	})
}

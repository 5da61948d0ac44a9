// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// client counts updates, and fails as it is told to.
type client struct {
	acp.UnimplementedClient
	updates int
	fails   error
}

func (c *client) SessionUpdate(context.Context, *acp.SessionNotification) error {
	c.updates++
	return c.fails
}

// What finished calls show is let go when the client knows all of 128 of them: not before, and not
// what the others show.
func TestFinishedCallsAreLetGo(t *testing.T) {
	to := &client{}
	c := newCalls(to, "s")
	ctx := t.Context()
	report := func(id string, status view.Status) {
		t.Helper()
		e := &view.Entity{
			ID: id, Kind: view.ToolCall, Title: "T", Name: "n", Class: "read", Status: status, Content: []view.Content{{Kind: view.Text, Text: "text"}},
			Input: json.RawMessage("1"), Output: json.RawMessage("2"), Locations: []view.Location{{Path: "/a", Line: 1}},
		}
		require.NoError(t, c.Report(e, true))
	}
	whole := func(id string) bool {
		e, agent := c.Call(id)
		require.NotNil(t, e)
		require.Empty(t, agent)
		require.Equal(t, []string{"T", "n", "read", "/a"}, []string{e.Title, e.Name, e.Class, e.Locations[0].Path})
		require.Equal(t, e.Content == nil, e.Input == nil)
		require.Equal(t, e.Content == nil, e.Output == nil)
		return e.Content != nil
	}
	report("call:open", view.Running)
	for i := range 127 {
		report(fmt.Sprint("call:", i), view.Completed)
	}
	require.NoError(t, c.Show(ctx))
	require.True(t, whole("call:0"))
	report("call:0", view.Failed)
	require.NoError(t, c.Show(ctx))
	require.True(t, whole("call:0"), "it has ended already")
	report("call:last", view.Completed)
	to.fails = errors.New("because")
	require.Error(t, c.Show(ctx))
	require.True(t, whole("call:0"), "the client does not know it")
	to.fails = nil
	require.NoError(t, c.Show(ctx))
	require.False(t, whole("call:0"))
	require.False(t, whole("call:last"))
	require.True(t, whole("call:open"))
	require.Zero(t, c.stale)

	// The client is told nothing twice, and what goes on is told.
	before := to.updates
	require.NoError(t, c.Show(ctx))
	require.Equal(t, before, to.updates)
	report("call:open", view.Completed)
	require.NoError(t, c.Show(ctx))
	require.Equal(t, before+1, to.updates)
	require.Equal(t, 1, c.stale)

	// The end of a run forgets its calls, and no others.
	report("call:r/1/a", view.Running)
	report("call:r/1/b", view.Completed)
	report("call:rr/1/a", view.Running)
	c.EndRun("r")
	require.Equal(t, 3, c.stale, "those that have ended are let go, too")
	for id, known := range map[string]bool{"call:r/1/a": false, "call:r/1/b": false, "call:rr/1/a": true, "call:0": true} {
		e, _ := c.Call(id)
		require.Equal(t, known, e != nil, id)
	}
	require.NotContains(t, c.finished, "call:r/1/b")
	require.Contains(t, c.finished, "call:0")
	require.Equal(t, view.Failed, c.fold.Get("call:r/1/a").Status)
	require.ErrorIs(t, c.Report(&view.Entity{ID: "call:r/1/a"}, false), ErrUnknownToolCall)
	report("call:r/1/a", view.Running)
	require.Equal(t, view.Running, c.fold.Get("call:r/1/a").Status, "an id that is free again")
}

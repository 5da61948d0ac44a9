// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"log/slog"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// Two processes have a session open, and run commands in the background in turn. Their transcript
// has no id twice.
func TestTerminalsOfTwoProcessesHaveDifferentIDs(t *testing.T) {
	store, dir := new(session.Memory), t.TempDir()
	two := []model.Part{
		call("1", "run_command", args{"command": "sleep 1000", "background": true}),
		call("2", "run_command", args{"command": "sleep 1001", "background": true}),
	}
	process := func() *host.Host {
		c, _ := worker(t, nil, two, two)
		c.Host.Store, c.Host.Logger = store, slog.New(slog.DiscardHandler)
		c.Host.Deps = func(_ context.Context, s *host.Session) (bare, error) {
			return acpbridge.DepsOf(s, acpbridge.LocalFallback{Files: true, Commands: true})
		}
		h, err := host.New(c.Host)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
		return h
	}
	ask := func(s *host.Session, err error) {
		require.NoError(t, err)
		o, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("go")}})
		require.NoError(t, err)
		require.NoError(t, o.Err)
	}
	first, second := process(), process()
	s, err := first.Create(t.Context(), session.New{Dir: dir}, nil)
	ask(s, err)
	id := s.ID()
	ask(second.Open(t.Context(), id, nil))
	ask(first.Open(t.Context(), id, nil))
	require.NoError(t, second.Close(t.Context()))
	ask(process().Open(t.Context(), id, nil))

	var ids []string
	for e, err := range store.Load(t.Context(), id, 0) {
		require.NoError(t, err)
		if e.Kind == session.KindMessage {
			for _, found := range regexp.MustCompile(`terminal-[0-9-]+`).FindAllString(string(e.Data), -1) {
				if len(ids) == 0 || ids[len(ids)-1] != found { // the result has it more than once
					ids = append(ids, found)
				}
			}
		}
	}
	require.Len(t, ids, 8, "%v", ids)
	seen := map[string]bool{}
	for _, one := range ids {
		require.False(t, seen[one], "%v", ids)
		seen[one] = true
	}
	require.Equal(t, []string{"terminal-1", "terminal-2"}, ids[:2], "as the models know them")
}

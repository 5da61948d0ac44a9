// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// A turn that is taken up and whose run cannot begin has failed. That is recorded, so it is not taken
// up again, and nothing is left in the inbox for later processes.
func TestTakenUpTurnsThatCannotBeginAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, asked := new(session.Memory), 0
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Store: shared{store}, Logger: slog.New(slog.DiscardHandler),
			RunOptions: func(context.Context, none, *host.Prompt) ([]agent.RunOption, error) {
				asked++
				return nil, errors.New("not now")
			},
		})
		id := cutOff(t, store)
		_, err := store.Put(t.Context(), id, session.Item{Kind: session.ItemContinue})
		require.NoError(t, err)
		stop := serve(t, h)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, asked, "it is tried once")
		var states []session.ItemState
		for i, err := range store.Items(t.Context(), id, -1) {
			require.NoError(t, err)
			states = append(states, i.State)
		}
		require.Equal(t, []session.ItemState{session.ItemConsumed}, states)
		for id, err := range store.Work(t.Context()) {
			require.NoError(t, err)
			t.Errorf("session %s has work", id)
		}
		stop()
		later := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}})
		s, err := later.Open(t.Context(), id, nil)
		require.NoError(t, err)
		all := shown(t, s)
		require.Contains(t, all, "The turn goes on (attempt 1 of 3).")
		require.Contains(t, all, `"status":"failed"`)
		require.NoError(t, later.Close(t.Context()))
	})
}

// The options of a run are made once for each command of the agent that runs something, and for each
// run: neither for commands of the program, nor for ones that do not exist.
func TestOptionsAreMadeForWhatRuns(t *testing.T) {
	made := 0
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: agent.Must(agent.New(agent.Config[none, string]{
			Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				return model.Response(model.Text("so")), nil
			}),
			Commands: []agent.Command[none]{
				{Name: "hello", Description: "Say hello.", Run: func(context.Context, agent.CommandCall[none]) (agent.CommandResult, error) {
					return agent.CommandResult{Notice: "Hello!"}, nil
				}},
				{Name: "prompt", Description: "Run a prompt.", Hint: "what", Prompt: "Do it."},
				{Name: "both", Description: "Make a prompt.", Run: func(context.Context, agent.CommandCall[none]) (agent.CommandResult, error) {
					return agent.CommandResult{Prompt: "Do it."}, nil
				}},
			},
		})),
		Commands: []host.Command{{Name: "own", Description: "Nothing.", Run: func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
			return agent.CommandResult{Notice: "Nothing."}, nil
		}}},
		RunOptions: func(context.Context, none, *host.Prompt) ([]agent.RunOption, error) {
			made++
			return nil, nil
		},
	}))
	for _, c := range []struct {
		text string
		made int
	}{{"Go.", 1}, {"/hello", 1}, {"/hello you", 1}, {"/prompt it", 1}, {"/both", 2}, {"/own", 0}, {"/hell", 0}, {" /hello", 1}} {
		made = 0
		prompt(t, s, c.text)
		require.Equal(t, c.made, made, c.text)
	}
}

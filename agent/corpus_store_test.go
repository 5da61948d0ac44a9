// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

// scenesStore is a store for histories inside. It notes what it is asked for, and fails at what the scene says.
type scenesStore struct {
	w    *setting
	kept map[string][]*model.Message
}

func (s *scenesStore) Put(_ context.Context, id string, messages []*model.Message) error {
	s.w.say("store %s: %d messages", id, len(messages))
	if s.w.scene.config["store"] == "full" {
		return errors.New("the store is full")
	}
	s.kept[id] = messages
	return nil
}

func (s *scenesStore) Get(_ context.Context, id string) ([]*model.Message, error) {
	s.w.say("read %s from the store", id)
	if s.w.scene.config["store"] == "lost" || s.kept[id] == nil {
		return nil, errors.New("the store has lost it")
	}
	return s.kept[id], nil
}

// withStore adds the store of a scene to the options of a run.
func (w *setting) withStore(opts []agent.RunOption) []agent.RunOption {
	if w.scene.config["store"] == "" {
		return opts
	}
	if w.store == nil {
		w.store = &scenesStore{w, map[string][]*model.Message{}}
	}
	return append(opts, agent.WithHistoryStore(w.store))
}

// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// HistoryStore keeps the histories of inner runs that are pending: see [WithHistoryStore]. It is safe for concurrent use.
type HistoryStore interface {
	// Put keeps messages under an id, in place of what it has there. They must not be changed.
	Put(ctx context.Context, id string, messages []*model.Message) error
	// Get returns what was put under an id. It fails if there is nothing.
	Get(ctx context.Context, id string) ([]*model.Message, error)
}

// WithHistoryStore keeps the histories of inner runs that are pending in s, and only their ids in the history of the run. Without
// it they are part of that history until the call that they are about is answered. The id is the idempotency key of the call, so
// it is used once. Nothing is ever removed: that is up to the application, once the outer run has ended. Inner runs inherit s.
//
// It concerns [AsTool] and [HandOver]. The run that resumes needs the same store.
func WithHistoryStore(s HistoryStore) RunOption {
	return runOption(func(o *runOptions) { o.store = s })
}

// store returns where the run keeps the histories of pending inner runs.
func (r *agentRun[D, O]) store() HistoryStore {
	if r.options.store != nil {
		return r.options.store
	}
	return r.options.outer.store
}

// errInside means that an inner run could not be kept or resumed. It ends the outer run: the model can do nothing about it.
var errInside = errors.New("inner run")

// insideState is what a pending call of an agent keeps: the inner history, or the id that it is stored under.
type insideState struct {
	Messages []*model.Message `json:"messages,omitempty"`
	Ref      string           `json:"ref,omitempty"`
}

// saveInside keeps the history of a pending inner run.
func saveInside(ctx context.Context, store HistoryStore, id string, messages []*model.Message) (json.RawMessage, error) {
	state := insideState{Messages: messages}
	if store != nil {
		if err := store.Put(ctx, id, messages); err != nil {
			return nil, fmt.Errorf("%w: store the history under %q: %w", errInside, id, err)
		}
		state = insideState{Ref: id}
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("%w: write the history: %w", errInside, err)
	}
	return data, nil
}

// loadInside returns the history of an inner run that was left pending.
func loadInside(ctx context.Context, store HistoryStore, data json.RawMessage) ([]*model.Message, error) {
	var state insideState
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, fmt.Errorf("%w: read the history: %w", errInside, err)
	}
	switch {
	case state.Ref == "":
		return state.Messages, nil
	case store == nil:
		return nil, fmt.Errorf("%w: the history is stored under %q: give the run its store with WithHistoryStore", errInside, state.Ref)
	}
	messages, err := store.Get(ctx, state.Ref)
	if err != nil {
		return nil, fmt.Errorf("%w: load the history stored under %q: %w", errInside, state.Ref, err)
	}
	return messages, nil
}

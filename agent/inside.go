// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// HistoryStore stores the histories of inner runs that are pending or that a conversation stays with. See [WithHistoryStore].
// Implementations are safe for concurrent use.
type HistoryStore interface {
	// Put stores messages under an id and replaces earlier ones. It must not change them.
	Put(ctx context.Context, id string, messages []*model.Message) error
	// Get returns the messages stored under an id. It returns an error if there are none.
	Get(ctx context.Context, id string) ([]*model.Message, error)
}

// WithHistoryStore stores the histories of pending inner runs ([AsTool], [HandOver]) in s, so that
// the history of the run holds only their ids. Without a store, the history of the run contains
// them until their calls are answered. The same holds for the messages that an agent adds to its
// own history while a conversation stays with it ([Stay]). The id is unique: it consists of the ids
// of the run, its step and the call. The run that resumes needs the same store. Inner runs inherit
// s.
//
// The run never removes anything from s. The application may do so when the outer run has ended.
func WithHistoryStore(s HistoryStore) RunOption {
	return runOption(func(o *runOptions) { o.more().store = s })
}

// store returns the store for histories of pending inner runs, or nil.
func (r *agentRun[D, O]) store() HistoryStore {
	if r.options.store != nil {
		return r.options.store
	}
	return r.options.outer.store
}

// errInside means that an inner run could not be stored or resumed. It ends the outer run, since the model cannot fix it.
var errInside = errors.New("inner run")

// insideState is the state of a call of an agent that is pending or that the conversation stays with: the inner history, or the id
// that it is stored under.
type insideState struct {
	Messages []*model.Message `json:"messages,omitempty"`
	Ref      string           `json:"ref,omitempty"`
	// More reports that the messages follow the messages of the hand-over's turn before.
	More bool `json:"more,omitempty"`
}

// placeOf returns the id under which the history of a run inside a call is stored. It belongs to
// this execution of the call, because histories of earlier ones may be in use.
func placeOf(run *toolset.RunInfo, call string) string {
	return run.RunID + "/" + strconv.Itoa(run.Step) + "/" + model.EscapeID(call)
}

// saveInside keeps the history of an inner run.
func saveInside(ctx context.Context, store HistoryStore, id string, state insideState) (json.RawMessage, error) {
	if store != nil {
		if err := store.Put(ctx, id, state.Messages); err != nil {
			return nil, errs.Errorf("%w: store the history under %q: %w", errInside, id, err)
		}
		state.Messages, state.Ref = nil, id
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, errs.Errorf("%w: write the history: %w", errInside, err)
	}
	return data, nil
}

// loadInside returns the history of an inner run.
func loadInside(ctx context.Context, store HistoryStore, data json.RawMessage) ([]*model.Message, error) {
	state, err := loadState(ctx, store, data)
	return state.Messages, err
}

// loadState returns what [saveInside] has kept, with its messages.
func loadState(ctx context.Context, store HistoryStore, data json.RawMessage) (state insideState, err error) {
	if err := json.Unmarshal(data, &state); err != nil {
		return state, errs.Errorf("%w: read the history: %w", errInside, err)
	}
	switch {
	case state.Ref == "":
		return state, nil
	case store == nil:
		return state, errs.Errorf("%w: the history is stored under %q: give the run its store with WithHistoryStore", errInside, state.Ref)
	}
	if state.Messages, err = store.Get(ctx, state.Ref); err != nil {
		return state, errs.Errorf("%w: load the history stored under %q: %w", errInside, state.Ref, err)
	}
	return state, nil
}

// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// transcripts keeps the messages of runs in sessions, where others can follow them.
type transcripts struct{ store session.Store }

// transcriptName is the name of the activity that keeps what a run has said when it waits or ends.
func transcriptName(name string) string { return name + ".transcript" }

// transcribe is that activity.
func (a *activities) transcribe(ctx context.Context, in taskInput) error {
	messages, err := a.histories.messages(ctx, in.History)
	if err == nil {
		err = a.transcripts.keep(ctx, in.Run.ID, messages, in.Dropped)
	}
	if err != nil {
		return short(err)
	}
	return nil
}

// holder is who holds the sessions of transcripts.
const holder = "temporalengine"

// keep appends the messages of a run that its session does not have yet. Message n of the history is entry n of the session, or, if history processors
// have taken some away, a later one by as many, so what is kept again changes nothing.
func (t *transcripts) keep(ctx context.Context, run string, messages []*model.Message, dropped int) (err error) {
	if t.store == nil {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("temporalengine: transcript of run %s: %w", run, err)
		}
	}()
	if err := t.prepare(ctx, run); err != nil {
		return err
	}
	w, err := session.Open(ctx, t.store, run, session.Claim{Holder: holder, Force: true}) // whoever has it is an attempt that was given up
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(context.WithoutCancel(ctx))) }()
	if n := len(messages); n > 0 && messages[n-1].Pending { // it is replaced by one that has all results
		messages = messages[:n-1]
	}
	next := max(int(w.Lease().Head)-dropped, 0)
	if next >= len(messages) {
		return nil
	}
	var entries []session.Entry
	for _, m := range messages[next:] {
		data, err := json.Marshal(struct {
			Message *model.Message `json:"message"`
		}{m})
		if err != nil {
			return err
		}
		entries = append(entries, session.Entry{Kind: session.KindMessage, Run: run, Time: m.Time, Data: data})
	}
	_, err = w.Append(ctx, entries...)
	return err
}

// prepare creates the session of a run. A session that is held elsewhere, or that has other
// entries, is not touched.
func (t *transcripts) prepare(ctx context.Context, run string) error {
	info, err := t.store.Get(ctx, run)
	if errors.Is(err, session.ErrNotFound) {
		if _, err = t.store.Create(ctx, session.New{ID: run}); errors.Is(err, session.ErrExists) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	own := info.Holder == "" || info.Holder == holder
	for e, err := range t.store.Load(ctx, run, max(info.Head-1, 0)) {
		if err != nil {
			return err
		}
		own = own && e.Kind == session.KindMessage && e.Run == run
	}
	if !own {
		return final(fmt.Errorf("the session %q belongs to another user: start the run with another id", run))
	}
	return nil
}

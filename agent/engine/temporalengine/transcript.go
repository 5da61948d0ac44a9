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
		err = a.transcripts.keep(ctx, in.Run.ID, messages)
	}
	if err != nil {
		return short(err)
	}
	return nil
}

// keep appends the messages of a run that its session does not have yet: message n is its n-th entry, so what is kept again changes nothing.
func (t *transcripts) keep(ctx context.Context, run string, messages []*model.Message) (err error) {
	if t.store == nil {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("temporalengine: transcript of run %s: %w", run, err)
		}
	}()
	claim := session.Claim{Holder: "temporalengine", Force: true} // whoever has it is an attempt that was given up
	w, err := session.Open(ctx, t.store, run, claim)
	if errors.Is(err, session.ErrNotFound) {
		if _, err = t.store.Create(ctx, session.New{ID: run}); err == nil || errors.Is(err, session.ErrExists) {
			w, err = session.Open(ctx, t.store, run, claim)
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(context.WithoutCancel(ctx))) }()
	if n := len(messages); n > 0 && messages[n-1].Pending { // it is replaced by one that has all results
		messages = messages[:n-1]
	}
	head := int(w.Lease().Head)
	if head >= len(messages) {
		return nil
	}
	var entries []session.Entry
	for _, m := range messages[head:] {
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

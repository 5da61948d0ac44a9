// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// MethodQueue is an extension of the protocol, for clients that show turns which they have not
// asked for. Such a client has "ponte-go.dev/turns": true in the _meta of its capabilities, and so
// has the agent's answer to initialize. The client sends a prompt that becomes a turn when those
// before it have ended. The parameters are those of session/prompt. The answer is an empty object,
// and comes when the prompt is recorded: it waits in the session's inbox, or its turn has begun.
// The end of the turn before, session/cancel, and the end of the client leave it there.
//
// The agent tells of the turn in the _meta of session_info_update, under "ponte-go.dev/turn": {}
// before all its updates, which begin with the prompt as it is then, and behind them {"ended": true}
// with "stopReason", or with "code", "message" and "data" of the error. Turns of prompts that
// waited when the client opened the session are told likewise.
const MethodQueue = "_ponte-go.dev/queue"

// takesTurns reports whether a client shows turns that it has not asked for.
func takesTurns(c *acp.ClientCapabilities) bool { return string(c.Meta[acpview.MetaTurns]) == "true" }

// queue carries out [MethodQueue].
func (s *server) queue(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var p acp.PromptRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: %s", oneLine(err.Error()))
	}
	session := s.session(p.SessionID)
	if session == nil {
		return nil, unknownSession(p.SessionID)
	}
	if !takesTurns(&session.info.Capabilities) {
		why := "invalid request: the client has not announced %s"
		return nil, acp.Errorf(acp.CodeInvalidRequest, why, acpview.MetaTurns)
	}
	parts, links, err := promptParts(p.Prompt, s.media)
	if err != nil {
		return nil, err
	}
	t, err := session.admitOwn(s.base, func(ctx context.Context) (*host.Turn, error) {
		return session.hosted.AdmitWith(ctx, host.BusyQueue)
	})
	if err != nil {
		return nil, err
	}
	acp.Async(ctx)
	in := &runInput{prompt: &p, parts: parts, links: links, shown: acpview.Contents(p.Prompt)}
	in.recorded = make(chan struct{})
	failed := make(chan error, 1)
	go func() { failed <- t.runOwn(s, in) }() // the session waits for it
	select {
	case <-in.recorded:
	case err := <-failed:
		if err != nil && !t.told.Load() {
			return nil, err
		}
	}
	return nil, nil
}

// TakeWaiting implements [host.Taker], for clients that show turns which they have not asked for.
// Before the client knows the session, the prompts have to wait.
func (s *session) TakeWaiting(
	w *host.Waiting, admit func(context.Context) (*host.Turn, error),
) bool {
	if run := s.runs.Load(); run != nil {
		(*run)(w, admit)
	}
	return takesTurns(&s.info.Capabilities)
}

// runWaiting runs a prompt that waited when the client opened the session.
func (s *server) runWaiting(session *session, w *host.Waiting, admit admission) {
	t, err := session.admitOwn(s.base, admit)
	if err != nil {
		return // the next one that opens the session has it
	}
	in := &runInput{parts: w.Parts, shown: w.Shown, plain: w.Plain}
	go func() { _ = t.runOwn(s, in) }() // the session waits for it, and the client is told
}

// runOwn runs a turn that the client has not asked for, and tells it of the beginning and the end.
func (t *turn) runOwn(s *server, in *runInput) error {
	defer close(t.answered)
	resp, err := t.prompted(s, in)
	if err = s.withMethods(err); !t.told.Load() {
		return err
	}
	end := &acpview.Turn{Ended: true}
	if err != nil {
		failure := acp.ToError(err)
		end.Code = cmp.Or(failure.Code, acp.CodeInternal)
		end.Message, end.Data = failure.Message, failure.Data
	} else {
		end.StopReason = resp.StopReason
	}
	t.tell(end)
	return err
}

// tell tells the client that the turn has begun or ended. It waits for a slow client, until the
// connection ends.
func (t *turn) tell(what *acpview.Turn) {
	n := &acp.SessionNotification{SessionID: t.session.id, Update: acpview.TurnInfo(what)}
	_ = t.session.client.gate.SessionUpdate(context.WithoutCancel(t.ctx), n)
}

// showCommand shows the prompt of a turn that the client has not asked for if it is a slash
// command, which may be in no message.
func (t *turn) showCommand(r *teller, in *runInput) {
	now := &host.Waiting{Parts: in.parts, Shown: in.shown, Plain: in.plain}
	if all, err := t.session.hosted.Waiting(r.ctx); err == nil { // it may have been changed
		for _, w := range all {
			if w.ID == t.hosted.ID() {
				now = w
			}
		}
	}
	if !now.Plain && t.session.isCommand(now.Parts) {
		t.showPrompt(r, in, now.Content())
	}
}

// isCommand reports whether a prompt is a slash command of the session.
func (s *session) isCommand(parts []model.Part) bool {
	if len(parts) == 0 || parts[0].Kind != model.PartUser {
		return false
	}
	name := parts[0].Text
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name = name[:end]
	}
	is := func(c view.SlashCommand) bool { return "/"+c.Name == name }
	return slices.ContainsFunc(s.hosted.Commands(), is)
}

// showRecorded shows the prompt of a turn that the client has not asked for, once it is recorded.
func (t *turn) showRecorded(r *teller, in *runInput) {
	if e := r.fold.Get(transcript.PromptID(t.hosted.ID())); e != nil {
		t.showPrompt(r, in, e.Content)
	}
}

func (t *turn) showPrompt(r *teller, in *runInput, content []view.Content) {
	if in.told {
		return
	}
	in.told = true
	in.isRecorded()
	id := acpview.MessageID(transcript.PromptID(t.hosted.ID()))
	ctx, cancel := r.grace()
	defer cancel()
	for i := range content {
		c := &acp.ContentChunk{MessageID: id, Content: acpview.Block(&content[i])}
		n := &acp.SessionNotification{SessionID: t.session.id}
		n.Update.UserMessageChunk = c
		r.report(t.session.client.gate.SessionUpdate(ctx, n))
	}
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// cancelGrace is how long a turn that was cancelled may take to end before its prompt is answered
// without it.
const cancelGrace = 5 * time.Second

// prompted runs the turn, and returns the answer to its prompt. A turn that was cancelled is left
// alone if something in it ignores its context: the prompt is answered, the session waits for the
// turn before it runs another one, and the history records the rest of the turn like any other.
func (t *turn) prompted(s *server, in *runInput) (*acp.PromptResponse, error) {
	type answer struct {
		resp *acp.PromptResponse
		err  error
	}
	done := make(chan answer, 1)
	go func() { // the session knows the turn until it has ended, and Serve waits for it
		var a answer
		defer func() {
			if v := recover(); v != nil {
				s.log.Error("acpbridge: a turn panicked", "session", t.session.id, "panic", v, "stack", string(debug.Stack()))
				a.err = acp.Errorf(acp.CodeInternal, "internal error")
			}
			done <- a
		}()
		a.resp, a.err = t.run(s, in)
	}()
	select {
	case a := <-done:
		return a.resp, a.err
	case <-t.hosted.Context().Done():
	}
	if t.cancelled() == nil { // it has ended by itself
		a := <-done
		return a.resp, a.err
	}
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	select {
	case a := <-done:
		return a.resp, a.err
	case <-grace.C:
	}
	t.leave(s)
	return t.cancelled().answer()
}

// leave tells the user and the log that the turn continues after its answer.
func (t *turn) leave(s *server) {
	tools := t.runningTools()
	s.log.Warn("acpbridge: a cancelled turn does not end: something ignores its context", "session", t.session.id, "tools", tools)
	client := t.session.client
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), farewell)
	defer cancel()
	if len(tools) > 0 {
		text := fmt.Sprintf("Cancelled, but still running: %s. The next prompt waits until that has ended.", strings.Join(tools, ", "))
		_ = client.gate.SessionUpdate(ctx, &acp.SessionNotification{SessionID: t.session.id, Update: acp.TextChunk(text)}) // a client that is gone need not know
		t.hosted.Abandon()
		_ = client.Show(ctx)
	}
	client.leave(t.ctx)
}

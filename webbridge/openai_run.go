// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"errors"
	"net/http"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// openaiWriter writes an answer of one of the two kinds. A stream is told of changes as they come, any other answer is written at the end.
type openaiWriter interface {
	// change takes a change. It reports false if the answer has ended with it.
	change(c *openaiChange) bool
	// finish ends the answer, for one of the reasons "stop", "length" and "content_filter".
	finish(reason string, u *toolset.Usage)
	// fail ends a stream that has begun with an error.
	fail(e *openaiAPIError)
	// stream is set once there is something to send. It is nil if the answer is not streamed.
	stream() *eventStream
}

// run answers a request.
func (p *openaiProtocol) run(w http.ResponseWriter, r *http.Request, in *openaiInput, settings map[string]string, writing func(id string, begin func() *eventStream) openaiWriter) error {
	s, done, err := p.h.ephemeral(r)
	if err != nil {
		return err
	}
	defer done()
	for _, id := range openaiSorted(settings) {
		if _, err := s.Set(r.Context(), id, settings[id]); err != nil {
			return err
		}
	}
	if err := s.Seed(r.Context(), in.claims...); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	f := openaiNewFeed()
	t := turn{Parts: in.prompt, Plain: true, NoQuestions: true, Observe: f.observe, Said: f.show}
	if in.maxTokens > 0 {
		t.Options = []agent.RunOption{agent.WithSettings(model.Settings{MaxTokens: in.maxTokens})}
	}
	going, err := s.Begin(ctx, t)
	if err != nil {
		return err
	}
	var out *eventStream
	begin := func() *eventStream {
		if out == nil && in.stream {
			out = p.h.stream(w)
		}
		return out
	}
	answer := writing(s.ID(), begin)
	pace := newPace()
	defer pace.stop()
	for ended := false; ; {
		wake := f.wake
		if !pace.ready {
			wake = nil
		}
		select {
		case <-r.Context().Done():
			return nil // the client is gone, and the turn with it
		case <-pace.idle.C:
			if in.stream {
				answer.stream().comment()
			}
			pace.idle.Reset(keepAlive)
		case <-pace.pause.C:
			pace.ready = true
			continue
		case <-wake:
			pace.shown()
		case <-going.Done():
			ended = true
		}
		changes, usage := f.take()
		for i := range changes {
			if !answer.change(&changes[i]) { // at one of the texts of stop
				going.Cancel()
				<-going.Done()
				_, usage = f.take()
				answer.finish("stop", &usage)
				return nil
			}
		}
		switch {
		case out != nil && out.Err() != nil:
			return nil
		case !ended:
			continue
		}
		reason, failed := openaiOutcome(going)
		switch {
		case failed == nil:
			answer.finish(reason, &usage)
		case out == nil:
			return failed
		default:
			answer.fail(failed)
		}
		return nil
	}
}

// openaiOutcome returns why an answer has ended, or the error of a run that has none.
func openaiOutcome(g *going) (reason string, failed *openaiAPIError) {
	o := g.Outcome()
	var pending *agent.PendingError
	var told *Error
	switch {
	case cutOff(o):
		return "length", nil
	case o.Reason == transcript.Refused, o.Err == nil && o.Finish == model.FinishContentFilter:
		return "content_filter", nil
	case o.Err == nil:
		return "stop", nil
	case errors.As(o.Err, &told):
		failed = openaiErrorOf(told)
		failed.final = true
		return "", failed
	case errors.As(o.Err, &pending):
		return "", &openaiAPIError{
			status: http.StatusUnprocessableEntity, code: "pending", final: true,
			message: "The agent waits for a result from outside, which cannot be given here.",
		}
	}
	return "", &openaiAPIError{status: http.StatusInternalServerError, code: "run_failed", message: g.Failure(), final: true}
}

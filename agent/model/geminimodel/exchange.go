package geminimodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// exchange is one call of Generate: a request and the attempts to have it answered.
type exchange struct {
	m      *Model
	body   []byte
	header http.Header
	sink   model.Sink // may be nil
}

// run makes attempts until one succeeds or there is no use in another one.
func (e *exchange) run(caller context.Context) (*model.Message, error) {
	ctx := caller
	if e.m.timeouts.Total > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(caller, e.m.timeouts.Total)
		defer stop()
	}
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return nil, e.ended(caller, nil)
		}
		a := &assembler{info: e.m.info, sink: e.sink}
		msg, err := e.attempt(ctx, a)
		if err == nil {
			return msg, nil
		}
		var failed *model.APIError
		if sinkErr := (sinkError{}); errors.As(err, &sinkErr) {
			return nil, sinkErr.error
		}
		if ctx.Err() != nil {
			return nil, e.ended(caller, err)
		}
		if !errors.As(err, &failed) || !failed.Retryable || a.emitted || n >= e.m.retry.Attempts {
			return nil, err
		}
		wait, ok := adapter.Backoff(n, e.m.retry.Base, e.m.retry.Max, failed.RetryAfter)
		if !ok {
			return nil, err
		}
		if adapter.Sleep(ctx, wait); ctx.Err() != nil {
			return nil, e.ended(caller, err)
		}
	}
}

// ended is the error for a call whose time is up, by the caller's context or by the bound on all attempts.
func (e *exchange) ended(caller context.Context, last error) error {
	var failed *model.APIError
	if !errors.As(last, &failed) || errors.Is(last, context.Canceled) || errors.Is(last, context.DeadlineExceeded) {
		last = nil // no more than the echo of the end
	}
	if caller.Err() != nil {
		return fmt.Errorf("geminimodel: %w", adapter.Cancelled(caller, e.m.info, last))
	}
	cause := fmt.Errorf("no complete answer within %s: %w", e.m.timeouts.Total, os.ErrDeadlineExceeded)
	if last != nil {
		cause = fmt.Errorf("%w; before that: %w", cause, last)
	}
	return &model.APIError{Provider: e.m.info.Provider, Model: e.m.info.Name, Retryable: true, Err: cause}
}

// attempt sends the request once and reads the answer into a.
func (e *exchange) attempt(ctx context.Context, a *assembler) (*model.Message, error) {
	m := e.m
	attemptCtx, dog := adapter.Watch(ctx, m.timeouts.FirstByte, m.timeouts.Idle)
	complete := false
	defer func() { dog.Finish(complete) }()

	resp, err := m.send(attemptCtx, &call{body: e.body, header: e.header}, e.sink != nil)
	if err != nil {
		if expired := dog.Expired(attemptCtx); expired != nil {
			return nil, m.failure(nil, expired, true)
		}
		return nil, m.notSent(err)
	}
	answer := dog.Guard(resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(answer, maxErrorBody))
		complete = err == nil
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, m.reportedError(resp.StatusCode, resp.Header, body)
	}
	if e.sink != nil {
		err = m.receiveStream(ctx, resp, answer, dog, a)
	} else {
		err = m.receiveWhole(resp, answer, a)
	}
	if err == nil {
		complete = true
		var msg *model.Message
		if msg, err = a.result(); err == nil {
			return msg, nil
		}
	}
	return nil, m.explain(ctx, resp, err, dog.Expired(attemptCtx))
}

// explain turns what went wrong with an answer of status 200 into the error of the attempt.
func (m *Model) explain(ctx context.Context, resp *http.Response, err, expired error) error {
	var failed *model.APIError
	var broken *readError
	var malformed *malformedCallError
	switch {
	case errors.As(err, &failed), errors.As(err, new(sinkError)):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case expired != nil:
		return m.failure(nil, expired, true)
	case errors.As(err, &broken):
		return m.failure(resp, fmt.Errorf("the answer broke off: %w", broken.err), true)
	case errors.As(err, &malformed):
		failed := m.failure(resp, err, true)
		failed.Code = string(genai.FinishReasonMalformedFunctionCall)
		return failed
	}
	return m.failure(resp, err, errors.Is(err, errNoCandidate))
}

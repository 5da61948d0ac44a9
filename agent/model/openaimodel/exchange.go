package openaimodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// exchange is one call of Generate: a request and the attempts to have it answered.
type exchange struct {
	m    *Model
	body []byte
	req  *model.Request
	sink model.Sink // may be nil
	// header has the caller's extra headers.
	header map[string]string
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
		a := &assembler{provider: e.m.info.Provider, tools: e.req.Tools, sink: e.sink}
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
		wait, ok := e.m.retry.wait(n, failed.RetryAfter)
		if !ok {
			return nil, err
		}
		if sleep(ctx, wait); ctx.Err() != nil {
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
		return e.m.cancelled(caller, last)
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
	attemptCtx, dog := watch(ctx, m.timeouts)
	complete := false
	defer func() { dog.finish(complete) }()

	resp, err := m.send(attemptCtx, http.MethodPost, "/chat/completions", e.body, e.header)
	if err != nil {
		if context.Cause(attemptCtx) == errSilent {
			return nil, m.timedOut(dog)
		}
		return nil, err
	}
	dog.body = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(dog, maxErrorBody))
		complete = err == nil
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, m.reportedError(resp.StatusCode, resp.Header, body)
	}
	err = m.receive(ctx, resp, dog, a)
	if err == nil {
		complete = true
		var msg *model.Message
		if msg, err = a.result(); err == nil {
			msg.Model = firstNonEmpty(msg.Model, m.info.Name)
			return msg, nil
		}
	}
	return nil, e.explain(ctx, attemptCtx, dog, resp, err)
}

// explain turns what went wrong with an answer of status 200 into the error of the attempt.
func (e *exchange) explain(ctx, attemptCtx context.Context, dog *watchdog, resp *http.Response, err error) error {
	var failed *model.APIError
	switch {
	case errors.As(err, &failed), errors.As(err, new(sinkError)):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case context.Cause(attemptCtx) == errSilent:
		return e.m.timedOut(dog)
	}
	var broken *readError
	if errors.As(err, &broken) {
		return e.m.brokenResponse(resp, fmt.Errorf("the answer broke off: %w", broken.err), true)
	}
	return e.m.brokenResponse(resp, err, errors.Is(err, errNoChoice))
}

func (m *Model) timedOut(dog *watchdog) error {
	return &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Retryable: true, Err: dog.expired()}
}

// send sends a request with the model's headers; extra wins over them.
func (m *Model) send(ctx context.Context, method, path string, body []byte, extra map[string]string) (*http.Response, error) {
	u := *m.base
	u.Path += path
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), r)
	if err != nil {
		return nil, fmt.Errorf("openaimodel: %w", err)
	}
	for name, values := range m.header {
		req.Header[name] = values
	}
	m.secret.Authorize(req.Header)
	for name, value := range extra {
		if !adapter.ValidHeader(name, value) { // net/http would say so too late, as if it were a fault of the network
			return nil, fmt.Errorf("openaimodel: the extra header %q is no valid one", name)
		}
		req.Header.Set(name, value)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, m.transportError(err)
	}
	return resp, nil
}

package openaimodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/ponte-go/ponte/agent/model"
)

// collector makes a message of one attempt's answer, in one of the protocols, and tells the sink on the way. What an
// answer reports as an error of its own is a reportedError; an error of the sink is a sinkError.
type collector interface {
	// object takes a complete answer.
	object(data []byte) error
	// event takes an event of a stream, whose data is not empty, and valid during the call only. It returns io.EOF for
	// the one that ends the stream.
	event(name string, data []byte) error
	// finished says that the answer is complete, though the stream may go on: what follows is not waited for.
	finished() bool
	// emitted says that the sink has been called.
	emitted() bool
	// result returns the message, once the answer has come to its end.
	result() (*model.Message, error)
}

// sinkError marks an error that came from the caller's sink.
type sinkError struct{ error }

// reportedError is what the endpoint says about a failure in an answer of status 200.
type reportedError struct{ body []byte }

func (e *reportedError) Error() string { return string(e.body) }

// errNoResponse means that an answer is complete and holds nothing.
var errNoResponse = errors.New("the response holds no message")

// exchange is one call of Generate: a request and the attempts to have it answered.
type exchange struct {
	m    *endpoint
	path string
	body []byte
	// header has the caller's extra headers.
	header map[string]string
}

func (m *endpoint) exchange(path string, body []byte, settings *model.Settings) *exchange {
	e := &exchange{m: m, path: path, body: body}
	if settings != nil {
		e.header = settings.ExtraHeaders
	}
	return e
}

// run makes attempts, each with a collector of its own, until one succeeds or there is no use in another one.
func (e *exchange) run(caller context.Context, newCollector func() collector) (*model.Message, error) {
	ctx := caller
	if e.m.timeouts.Total > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(caller, e.m.timeouts.Total)
		defer stop()
	}
	for n := 1; ; n++ {
		c := newCollector()
		msg, err := e.attempt(ctx, c)
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
		if !errors.As(err, &failed) || !failed.Retryable || c.emitted() || n >= e.m.retry.Attempts {
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

// attempt sends the request once and reads the answer into c.
func (e *exchange) attempt(ctx context.Context, c collector) (*model.Message, error) {
	m := e.m
	attemptCtx, dog := watch(ctx, m.timeouts)
	complete := false
	defer func() { dog.finish(complete) }()

	resp, err := m.send(attemptCtx, http.MethodPost, e.path, e.body, e.header)
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
		return nil, m.errorOf(resp.StatusCode, resp.Header, body)
	}
	err = m.receive(ctx, resp, dog, c)
	if err == nil {
		complete = true
		var msg *model.Message
		if msg, err = c.result(); err == nil {
			msg.Model = firstNonEmpty(msg.Model, m.info.Name)
			return msg, nil
		}
	}
	return nil, e.explain(ctx, attemptCtx, dog, resp, err)
}

// explain turns what went wrong with an answer of status 200 into the error of the attempt.
func (e *exchange) explain(ctx, attemptCtx context.Context, dog *watchdog, resp *http.Response, err error) error {
	var failed *model.APIError
	var reported *reportedError
	switch {
	case errors.As(err, &failed), errors.As(err, new(sinkError)):
		return err
	case errors.As(err, &reported):
		return e.m.errorOf(resp.StatusCode, resp.Header, reported.body)
	case ctx.Err() != nil:
		return ctx.Err()
	case context.Cause(attemptCtx) == errSilent:
		return e.m.timedOut(dog)
	}
	var broken *readError
	if errors.As(err, &broken) {
		return e.m.brokenResponse(resp, fmt.Errorf("the answer broke off: %w", broken.err), true)
	}
	return e.m.brokenResponse(resp, err, errors.Is(err, errNoResponse))
}

func (m *endpoint) timedOut(dog *watchdog) error {
	return &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Retryable: true, Err: dog.expired()}
}

// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// collector builds a message from the response to one attempt, in one of the protocols, and calls
// the sink on the way. An error reported in the response is a reportedError. An error of the sink
// is marked by [adapter.FromSink].
type collector interface {
	// object processes an unstreamed response.
	object(data []byte) error
	// event processes an event of a stream. Its data is not empty and valid only during the call.
	// It returns io.EOF for the event that ends the stream, and errKeepAlive for one that adds
	// nothing to the response.
	event(name string, data []byte) error
	// finished reports that the response is complete. The rest of the stream, if any, is not waited
	// for.
	finished() bool
	// emitted reports that the sink has been called.
	emitted() bool
	// result returns the message, after the end of the response.
	result() (*model.Message, error)
}

// errKeepAlive means that an event only keeps the connection alive, or is unknown.
var errKeepAlive = errors.New("keep-alive")

// reportedError is an error that the endpoint reports in a response with status 200.
type reportedError struct{ body []byte }

func (e *reportedError) Error() string { return string(e.body) }

// errNoResponse means that a response is complete but empty.
var errNoResponse = errors.New("the response contains no message")

// exchange is one call of Generate: a request and the attempts to send it.
type exchange struct {
	m    *endpoint
	path string
	body []byte
	// header holds the caller's extra headers.
	header map[string]string
}

func (m *endpoint) exchange(path string, body []byte, settings *model.Settings) *exchange {
	e := &exchange{m: m, path: path, body: body}
	if settings != nil {
		e.header = settings.ExtraHeaders
	}
	return e
}

// run makes attempts, each with a new collector.
func (e *exchange) run(caller context.Context, newCollector func() collector) (*model.Message, error) {
	m := e.m
	call := adapter.Call{
		Package: "openaimodel", Info: m.info, Total: m.timeouts.Total,
		Retry: m.retry, Headers: e.header,
	}
	ctx, stop := call.Bound(caller)
	defer stop()
	var c collector
	var msg *model.Message
	attempt := func() (err error) {
		c = newCollector()
		msg, err = e.attempt(ctx, c)
		return err
	}
	if err := call.Try(caller, ctx, attempt, func() bool { return c.emitted() }); err != nil {
		return nil, err
	}
	return msg, nil
}

// maxErrorBody limits how much of an error response is read, in bytes.
const maxErrorBody = 64 << 10

// attempt sends the request once and reads the response into c.
func (e *exchange) attempt(ctx context.Context, c collector) (*model.Message, error) {
	m := e.m
	attemptCtx, dog := adapter.Watch(ctx, m.timeouts)
	complete := false
	defer func() { dog.Finish(complete) }()

	resp, err := m.send(attemptCtx, http.MethodPost, e.path, e.body, e.header)
	if err != nil {
		return nil, e.explain(ctx, attemptCtx, dog, nil, err)
	}
	body := dog.Guard(resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		said, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
		complete = err == nil
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, m.errorOf(resp, said)
	}
	err = m.receive(ctx, resp, body, dog, c)
	if err == nil {
		complete = true
		var msg *model.Message
		if msg, err = c.result(); err == nil {
			msg.Model = cmp.Or(msg.Model, m.info.Name)
			return msg, nil
		}
	}
	return nil, e.explain(ctx, attemptCtx, dog, resp, err)
}

// explain converts a failure, before or during a response with status 200, to the error of the
// attempt.
func (e *exchange) explain(ctx, attemptCtx context.Context, dog *adapter.Watchdog, resp *http.Response, err error) error {
	var failed *model.APIError
	var reported *reportedError
	switch {
	case adapter.IsFromSink(err):
		return err
	case errs.As(err, &reported):
		return e.m.errorOf(resp, reported.body)
	case resp != nil && errs.As(err, &failed):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if expired := dog.Expired(attemptCtx); expired != nil {
		return e.m.timedOut(expired)
	}
	if resp == nil {
		return err
	}
	return e.m.brokenResponse(resp, err, errors.Is(err, errNoResponse) || errs.As(err, new(*adapter.ReadError)))
}

func (m *endpoint) timedOut(err error) error {
	return &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Retryable: true, Err: err}
}

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
)

// collector makes a message of one attempt's answer, in one of the protocols, and tells the sink on the way. What an
// answer reports as an error of its own is a reportedError; an error of the sink is marked by [adapter.FromSink].
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

// run makes attempts, each with a collector of its own.
func (e *exchange) run(caller context.Context, newCollector func() collector) (*model.Message, error) {
	m := e.m
	call := adapter.Call{
		Package: "openaimodel", Info: m.info, Total: m.timeouts.Total,
		Retry: m.retry,
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

// maxErrorBody bounds what is read of an error's body, in bytes.
const maxErrorBody = 64 << 10

// attempt sends the request once and reads the answer into c.
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
		return nil, m.errorOf(resp.StatusCode, resp.Header, said)
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

// explain turns what went wrong, with an answer of status 200 or before there was one, into the error of the attempt.
func (e *exchange) explain(ctx, attemptCtx context.Context, dog *adapter.Watchdog, resp *http.Response, err error) error {
	var failed *model.APIError
	var reported *reportedError
	switch {
	case adapter.IsFromSink(err):
		return err
	case errors.As(err, &reported):
		return e.m.errorOf(resp.StatusCode, resp.Header, reported.body)
	case resp != nil && errors.As(err, &failed):
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
	return e.m.brokenResponse(resp, err, errors.Is(err, errNoResponse) || errors.As(err, new(*adapter.ReadError)))
}

func (m *endpoint) timedOut(err error) error {
	return &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Retryable: true, Err: err}
}

// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"context"
	"errors"
	"io"
	"net/http"

	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// exchange is one call of Generate: a request and the attempts to send it.
type exchange struct {
	m      *Model
	body   []byte
	header http.Header
	extra  map[string]string // the caller's of the headers
	sink   model.Sink        // may be nil
}

// run makes attempts until one succeeds or another one would be useless.
func (e *exchange) run(caller context.Context) (*model.Message, error) {
	m := e.m
	call := adapter.Call{
		Package: "geminimodel", Info: m.info, Total: m.timeouts.Total,
		Retry: m.retry, Headers: e.extra,
	}
	ctx, stop := call.Bound(caller)
	defer stop()
	var a *assembler
	var msg *model.Message
	err := call.Try(caller, ctx, func() (err error) {
		a = &assembler{info: m.info, sink: e.sink}
		msg, err = e.attempt(ctx, a)
		return err
	}, func() bool { return a.emitted })
	if err != nil {
		return nil, err
	}
	return msg, nil
}

// attempt sends the request once and reads the response into a.
func (e *exchange) attempt(ctx context.Context, a *assembler) (*model.Message, error) {
	m := e.m
	attemptCtx, dog := adapter.Watch(ctx, m.timeouts)
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

// explain returns the error of an attempt that failed with status 200.
func (m *Model) explain(ctx context.Context, resp *http.Response, err, expired error) error {
	var failed *model.APIError
	var malformed *malformedCallError
	switch {
	case errors.As(err, &failed), adapter.IsFromSink(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case expired != nil:
		return m.failure(nil, expired, true)
	case errors.As(err, new(*adapter.ReadError)):
		return m.failure(resp, err, true)
	case errors.As(err, &malformed):
		failed := m.failure(resp, err, true)
		failed.Code = string(genai.FinishReasonMalformedFunctionCall)
		return failed
	}
	return m.failure(resp, err, errors.Is(err, errNoCandidate))
}

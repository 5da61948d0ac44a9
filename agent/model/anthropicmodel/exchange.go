// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// exchange is one call of Generate: a request, the attempts to send it, and its continuations.
type exchange struct {
	m        *Model
	settings *model.Settings
	assembly *assembly
}

// run sends requests until the turn is complete.
func (e *exchange) run(caller context.Context, req *model.Request) (*model.Message, error) {
	m := e.m
	call := adapter.Call{
		Package: "anthropicmodel", Info: m.info, Total: m.timeouts.Total,
		Retry: m.retry, Headers: e.settings.ExtraHeaders,
	}
	ctx, stop := call.Bound(caller)
	defer stop()
	asked := req
	for n := 0; ; n++ {
		body, _, err := m.body(asked, e.settings, e.assembly.sink != nil, e.assembly.container)
		if err != nil {
			return nil, err
		}
		attempt := func() error {
			e.assembly.begin()
			return e.attempt(ctx, body)
		}
		if err := call.Try(caller, ctx, attempt, func() bool { return e.assembly.emitted }); err != nil {
			return nil, err
		}
		e.assembly.complete()
		if !e.assembly.paused() || n == maxContinuations {
			return e.assembly.message(m.info.Name), nil
		}
		continued := *req
		continued.Messages = append(slices.Clip(req.Messages), e.assembly.message(m.info.Name))
		asked = &continued
	}
}

// maxErrorBody limits how much of an error response is read, in bytes.
const maxErrorBody = 64 << 10

// attempt sends the request once and reads the response.
func (e *exchange) attempt(ctx context.Context, body []byte) error {
	m := e.m
	attemptCtx, dog := adapter.Watch(ctx, m.timeouts)
	complete := false
	defer func() { dog.Finish(complete) }()

	// The SDK would read error bodies without a limit and without the watchdog, and drop the status
	// if the body is not JSON. Read them before the SDK does.
	var refused *model.APIError
	guard := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		resp, err := next(req)
		if err != nil {
			return nil, err
		}
		resp.Body = dog.Guard(resp.Body)
		if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
			return resp, nil
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		complete = err == nil
		refused = m.reported(resp.StatusCode, resp.Header, body)
		return nil, refused
	}
	var resp *http.Response
	err := m.client.Post(attemptCtx, "v1/messages", body, &resp, append(e.options(), option.WithMiddleware(guard))...)
	switch {
	case refused != nil:
		return refused // even if the context has ended while its body was read
	case err == nil:
		err = m.receive(ctx, resp, dog, e.assembly)
		complete = err == nil
	}
	return e.explain(ctx, attemptCtx, dog, resp, err)
}

const betaHeader = "anthropic-beta"

// options returns what the settings and the configuration add to each request.
func (e *exchange) options() []option.RequestOption {
	var options []option.RequestOption
	betas := slices.Clip(e.m.betas)
	for _, name := range slices.Sorted(maps.Keys(e.settings.ExtraHeaders)) {
		if value := e.settings.ExtraHeaders[name]; strings.EqualFold(name, betaHeader) {
			betas = append(betas, value) // the model's betas are still needed
		} else {
			options = append(options, option.WithHeader(name, value))
		}
	}
	if at := e.settings.CompactAt; at > 0 {
		betas = append(betas, compactionBeta)
		if _, replaced := e.settings.ExtraBody["context_management"]; !replaced {
			options = append(options, option.WithJSONSet("context_management", compactionAt(at)))
		}
	}
	if len(betas) > 0 {
		options = append(options, option.WithHeader(betaHeader, strings.Join(betas, ",")))
	}
	for _, name := range slices.Sorted(maps.Keys(e.settings.ExtraBody)) {
		options = append(options, option.WithJSONSet(param.EscapeSJSONKey(name), e.settings.ExtraBody[name]))
	}
	return options
}

// explain returns the error of a failed attempt.
func (e *exchange) explain(ctx, attemptCtx context.Context, dog *adapter.Watchdog, resp *http.Response, err error) error {
	var failed *model.APIError
	switch {
	case err == nil, errors.As(err, &failed), adapter.IsFromSink(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	m := e.m
	if expired := dog.Expired(attemptCtx); expired != nil {
		return &model.APIError{Provider: m.info.Provider, Model: m.info.Name, Retryable: true, Err: expired}
	}
	if resp == nil {
		return adapter.TransportError(m.info, adapter.CleanURL(m.base), err, m.redact)
	}
	failed = m.broken(resp.StatusCode, resp.Header, err)
	failed.Retryable = failed.Retryable || errors.As(err, new(*adapter.ReadError))
	return failed
}

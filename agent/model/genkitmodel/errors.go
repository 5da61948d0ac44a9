// SPDX-License-Identifier: Apache-2.0

package genkitmodel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/firebase/genkit/go/core"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/hide"
)

// Invalid results of a plugin that are neither a response nor an error of the provider.
var (
	errNoResponse   = fmt.Errorf("the plugin returned no response: %w", io.ErrUnexpectedEOF)
	errNoMessage    = errors.New("the response has no message")
	errNamelessCall = errors.New("the response has a tool call without a name")
)

// maxMessage limits what an error quotes of a plugin's error, in bytes. Genkit's errors quote whole
// requests.
const maxMessage = 2000

// PanicError reports that a plugin panicked.
type PanicError struct {
	// Value is the value of the panic. It is nil if the plugin ended its goroutine instead of
	// returning.
	Value any
	// Origin is the function that panicked.
	Origin string
}

// Error implements error.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the Genkit plugin ended its goroutine"
	}
	return hide.Controls(fmt.Sprintf("the Genkit plugin panicked: %v (in %s)", e.Value, e.Origin))
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// In reports whether the plugin panicked with a runtime error in its own code, such as a nil
// dereference or an index out of range. The plugin is named by the path of its package, or a part
// of it. Use it for plugins that panic on broken responses.
func (e *PanicError) In(plugin string) bool {
	_, mistake := e.Value.(runtime.Error)
	return mistake && strings.Contains(e.Origin, plugin)
}

// panicked makes an error from a panic. It must be called in the deferred function that recovered.
func panicked(value any) error {
	e := &PanicError{Value: value, Origin: panicOrigin()}
	// If a plugin returns neither a response nor an error, for example for a stream that breaks
	// off, Genkit's telemetry dereferences a nil pointer.
	if _, isRuntime := value.(runtime.Error); isRuntime && strings.Contains(e.Origin, "addAutomaticTelemetry") {
		return errNoResponse
	}
	return e
}

// panicOrigin returns the function that panicked first. Tracing recovers and panics again, which
// keeps the stack.
func panicOrigin() string {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	origin, behind := "an unknown function", false
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			behind = true
		case behind && !strings.HasPrefix(frame.Function, "runtime."):
			origin, behind = frame.Function, false
		}
	}
	return origin
}

// failure returns the error for an error or an invalid result of the plugin: an [*model.APIError],
// except for requests that Genkit did not accept.
func (m *Model) failure(err error) error {
	var inGenkit *core.GenkitError
	if errors.As(err, &inGenkit) && inGenkit.Status == core.INVALID_ARGUMENT && refusedByGenkit(inGenkit.Message) {
		return fmt.Errorf("genkitmodel: %s %s: Genkit does not accept the request: %w: %s",
			m.info.Provider, m.info.Name, model.ErrUnsupported, adapter.Truncate(m.redact(inGenkit.Message), maxMessage))
	}
	var e *model.APIError
	if known := (*model.APIError)(nil); errors.As(err, &known) {
		e = new(*known) // the plugin may return the same value again
	} else {
		e = m.classify(err)
	}
	e.Provider, e.Model = m.info.Provider, m.info.Name
	e.Message = adapter.Truncate(m.redact(e.Message), maxMessage)
	e.Err = adapter.Cleaned(e.Err, m.redact)
	e.Code, e.Type, e.RequestID = m.redact(e.Code), m.redact(e.Type), m.redact(e.RequestID)
	return e
}

func (m *Model) classify(err error) *model.APIError {
	e := &model.APIError{Provider: m.info.Provider, Err: err}
	if m.dialect.Error != nil && m.dialect.Error(err, e) {
		said := e.Retryable
		if e.Message == "" {
			e.Message = err.Error()
		}
		Classify(e)
		e.Retryable = e.Retryable || said
		return e
	}
	var panicked *PanicError
	var inGenkit *core.GenkitError
	var unsent *net.OpError
	var address *url.Error
	switch {
	case errors.As(err, &panicked):
	case errors.As(err, &address), errors.As(err, &unsent):
		where := "the provider"
		if address != nil {
			where = adapter.CleanText(address.URL) // Google's URL contains the key
		}
		return adapter.TransportError(m.info, where, err, m.redact)
	case errors.Is(err, errNoMessage), errors.Is(err, errNamelessCall), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Retryable = true // the response broke off or is invalid; the next one may be complete
	case errors.As(err, &inGenkit):
		e.Code = string(inGenkit.Status)
		switch inGenkit.Status {
		case core.UNAVAILABLE, core.RESOURCE_EXHAUSTED, core.UNAUTHENTICATED, core.PERMISSION_DENIED:
			e.Status = core.HTTPStatusCode(inGenkit.Status)
			e.Retryable = adapter.RetryableStatus(e.Status)
		}
	}
	e.Message = err.Error()
	return e
}

// refusedByGenkit reports whether the message comes from Genkit's own checks of the request,
// against a schema or against what the plugin declares to support.
func refusedByGenkit(message string) bool {
	return strings.HasPrefix(message, "invalid input to action") || strings.HasPrefix(message, "model ") && strings.Contains(message, " does not support ")
}

// FromHTTP fills e from the response with which a provider reported an error. Its parameters are
// the fields of every SDK's error type.
func FromHTTP(e *model.APIError, status int, header http.Header) {
	e.Status = status
	e.RequestID = adapter.RequestID(header)
	e.RetryAfter = adapter.RetryAfter(header, time.Now())
}

// Classify sets [model.APIError.Retryable] from the other fields of e, for errors made in the hooks
// of a dialect.
func Classify(e *model.APIError) {
	cause := e.Err // not compared, because some SDK errors cannot be
	e.Err = nil
	adapter.Classify(e)
	switch {
	case e.Err == nil:
		e.Err = cause
	case cause != nil:
		e.Err = fmt.Errorf("%w: %w", e.Err, cause)
	}
}

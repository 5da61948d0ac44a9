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
)

// What a plugin can return that is neither a response nor an error of the provider.
var (
	errNoResponse   = fmt.Errorf("the plugin returned no response: %w", io.ErrUnexpectedEOF)
	errNoMessage    = errors.New("the response has no message")
	errNamelessCall = errors.New("the response calls a tool that has no name")
)

// maxMessage bounds what an error quotes of a plugin's, in bytes: Genkit's quote whole requests.
const maxMessage = 2000

// PanicError is what a plugin panicked with.
type PanicError struct {
	// Value is the value of the panic, nil if the plugin ended its goroutine in place of returning.
	Value any
	// Origin is the function that panicked.
	Origin string
}

// Error implements error.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the Genkit plugin ended its goroutine"
	}
	return fmt.Sprintf("the Genkit plugin panicked: %v (in %s)", e.Value, e.Origin)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// In reports whether the plugin, by the path of its package or a part of it, panicked over a mistake of its own: a nil
// pointer, an index. It is for what plugins make of broken answers.
func (e *PanicError) In(plugin string) bool {
	_, mistake := e.Value.(runtime.Error)
	return mistake && strings.Contains(e.Origin, plugin)
}

// panicked makes an error of a panic. It must be called by the deferred function that recovered.
func panicked(value any) error {
	e := &PanicError{Value: value, Origin: panicOrigin()}
	// A plugin that returns neither a response nor an error, as for a stream that breaks off, makes Genkit's telemetry
	// read from a nil pointer.
	if _, isRuntime := value.(runtime.Error); isRuntime && strings.Contains(e.Origin, "addAutomaticTelemetry") {
		return errNoResponse
	}
	return e
}

// panicOrigin names the function that panicked first: tracing recovers and panics again, with the stack still there.
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

// failure is the error for what a plugin returned, or for what is wrong with that: an [*model.APIError], but for what
// Genkit refused before the plugin saw it.
func (m *Model) failure(err error) error {
	var inGenkit *core.GenkitError
	if errors.As(err, &inGenkit) && inGenkit.Status == core.INVALID_ARGUMENT && refusedByGenkit(inGenkit.Message) {
		return fmt.Errorf("genkitmodel: %s %s: Genkit refuses the request: %w: %s",
			m.info.Provider, m.info.Name, model.ErrUnsupported, adapter.Truncate(m.redact(inGenkit.Message), maxMessage))
	}
	var e *model.APIError
	if known := (*model.APIError)(nil); errors.As(err, &known) {
		e = new(*known) // the plugin may return it again
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
	e := &model.APIError{Err: err}
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
			where = adapter.CleanText(address.URL) // Google's has the key
		}
		return adapter.TransportError(m.info, where, err, m.redact)
	case errors.Is(err, errNoMessage), errors.Is(err, errNamelessCall), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Retryable = true // the answer broke off, or makes no sense: the next may be whole
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

// refusedByGenkit reports whether the message is that of Genkit's own checks: of the request against a schema, and
// against what the plugin says that the model supports.
func refusedByGenkit(message string) bool {
	return strings.HasPrefix(message, "invalid input to action") || strings.HasPrefix(message, "model ") && strings.Contains(message, " does not support ")
}

// FromHTTP fills e from the answer with which a provider refused: the fields of every SDK's error type.
func FromHTTP(e *model.APIError, status int, header http.Header) {
	e.Status = status
	e.RequestID = adapter.RequestID(header)
	e.RetryAfter = adapter.RetryAfter(header, time.Now())
}

// Classify sets [model.APIError.Retryable] by what else e says, for errors that a dialect makes in a hook.
func Classify(e *model.APIError) {
	cause := e.Err // compared with nothing: there are SDKs whose errors cannot be compared
	e.Err = nil
	adapter.Classify(e)
	switch {
	case e.Err == nil:
		e.Err = cause
	case cause != nil:
		e.Err = fmt.Errorf("%w: %w", e.Err, cause)
	}
}

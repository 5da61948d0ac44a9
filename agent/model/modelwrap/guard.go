// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ponte-go/ponte/agent/model"
)

// watched passes on deltas and records whether there was one.
type watched struct {
	sink    model.Sink
	emitted bool
}

func (w *watched) take(d model.Delta) error {
	w.emitted = true
	return w.sink(d)
}

// watch returns the sink to pass to a model in place of sink, and a value that tells whether it was
// used. Both are nil if sink is nil.
func watch(sink model.Sink) (*watched, model.Sink) {
	if sink == nil {
		return nil, nil
	}
	w := &watched{sink: sink}
	return w, w.take
}

// saw reports whether a delta has reached the sink. After that, the request must not be sent again.
func (w *watched) saw() bool { return w != nil && w.emitted }

// ended returns the error for a request whose context has ended: last if it says so, otherwise the
// cause.
func ended(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	if last != nil && errors.Is(last, cause) {
		return last
	}
	err := fmt.Errorf("modelwrap: request cancelled: %w", cause)
	if !errors.Is(cause, ctx.Err()) {
		err = fmt.Errorf("modelwrap: request cancelled: %w (%w)", cause, ctx.Err())
	}
	if last != nil {
		err = fmt.Errorf("%w; before that: %w", err, last)
	}
	return err
}

// apiErrors yields all API errors that err wraps. A fallback wraps several.
func apiErrors(err error) iter.Seq[*model.APIError] {
	return func(yield func(*model.APIError) bool) { eachAPIError(err, yield) }
}

func eachAPIError(err error, yield func(*model.APIError) bool) bool {
	switch e := err.(type) {
	case *model.APIError:
		return yield(e)
	case interface{ Unwrap() error }:
		return eachAPIError(e.Unwrap(), yield)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if !eachAPIError(err, yield) {
				return false
			}
		}
	}
	return true
}

// mustWrap panics if m is nil.
func mustWrap(wrapper string, m model.Model) {
	if m == nil {
		panic("modelwrap: " + wrapper + ": model is nil")
	}
}

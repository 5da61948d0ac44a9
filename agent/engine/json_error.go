// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// ErrorCodec lets errors of one kind keep their identity between processes.
type ErrorCodec struct {
	// Name identifies the kind. It must be unique and stable.
	Name string
	// Encode describes an error of this kind as a value that can be written as JSON, or nil. It
	// reports false for errors of other kinds. It looks only at err itself, not at the errors that
	// err wraps.
	Encode func(err error) (data any, ok bool)
	// Decode returns the error. data is the value from Encode, text the error's text, and wrapped
	// holds the decoded errors that it wrapped.
	Decode func(data json.RawMessage, text string, wrapped []error) error
}

// Sentinel returns the kind of one error value.
func Sentinel(name string, sentinel error) ErrorCodec {
	return ErrorCodec{
		Name:   name,
		Encode: func(err error) (any, bool) { return nil, err == sentinel },
		Decode: func(json.RawMessage, string, []error) error { return sentinel },
	}
}

var kinds = struct {
	sync.RWMutex
	own []ErrorCodec
}{}

// RegisterErrors registers kinds of errors with [MarshalDone] and [UnmarshalDone]. They replace
// kinds with the same names. Register them in both processes when the program starts. Errors of
// this package, of contexts, and of packages journal, model and toolset are known already. Errors
// of other kinds keep their text and the errors that they wrap.
func RegisterErrors(more ...ErrorCodec) {
	kinds.Lock()
	defer kinds.Unlock()
	for _, k := range more {
		kinds.own = slices.DeleteFunc(kinds.own, func(o ErrorCodec) bool { return o.Name == k.Name })
		kinds.own = append(kinds.own, k)
	}
}

// find calls f with the known kinds until it reports true.
func find(f func(k *ErrorCodec) bool) {
	kinds.RLock()
	own := kinds.own
	kinds.RUnlock()
	for _, all := range [][]ErrorCodec{own, known()} {
		for i := range all {
			if f(&all[i]) {
				return
			}
		}
	}
}

// typed returns the kind of a type of errors whose fields can be written as JSON. wrap, if not nil, gives the error what it wraps.
func typed[E any, P interface {
	*E
	error
}](name string, wrap func(e *E, wrapped error), hide func(e *E)) ErrorCodec {
	return ErrorCodec{
		Name: name,
		Encode: func(err error) (any, bool) {
			e, ok := err.(P)
			if !ok {
				return nil, false
			}
			shown := *(*E)(e)
			if hide != nil {
				hide(&shown)
			}
			return shown, true
		},
		Decode: func(data json.RawMessage, text string, wrapped []error) error {
			e := new(E)
			if json.Unmarshal(data, e) != nil {
				return errors.New(text)
			}
			if wrap != nil && len(wrapped) > 0 {
				wrap(e, wrapped[0])
			}
			return P(e)
		},
	}
}

// known returns the kinds known to this package. As a function it is not linked into programs
// without engines.
func known() []ErrorCodec {
	knowing.Do(func() { knownKinds = theKnown() })
	return knownKinds
}

var (
	knowing    sync.Once
	knownKinds []ErrorCodec
)

func theKnown() []ErrorCodec {
	return []ErrorCodec{
		Sentinel("cancelled", context.Canceled), Sentinel("deadline", context.DeadlineExceeded), Sentinel("goexit", ErrGoexit),
		Sentinel("nobody", toolset.ErrNobody), typed[toolset.InMemoryError]("in_memory", nil, nil),
		Sentinel("auth", model.ErrAuth), Sentinel("rate_limited", model.ErrRateLimited), Sentinel("context_length", model.ErrContextLength),
		Sentinel("unsupported", model.ErrUnsupported), Sentinel("requests_forbidden", model.ErrRequestsForbidden),
		Sentinel("no_model", ErrNoModel), Sentinel("no_prompt", ErrNoPrompt), Sentinel("finished", ErrFinished),
		Sentinel("unprocessed_calls", ErrUnprocessedCalls), Sentinel("token_limit", ErrTokenLimit), Sentinel("content_filter", ErrContentFilter),
		Sentinel("refused", ErrRefused), Sentinel("response_failed", ErrResponseFailed),
		Sentinel("incomplete_tool_call", ErrIncompleteToolCall), Sentinel("results", ErrResults), Sentinel("run_id", ErrRunID),
		Sentinel("stopped", ErrStopped), Sentinel("inbox_in_use", ErrInboxInUse),
		Sentinel("journal_in_use", journal.ErrInUse), Sentinel("journal_corrupt", journal.ErrCorrupt), Sentinel("journal_version", journal.ErrVersion),
		Sentinel("journal_mismatch", journal.ErrMismatch), Sentinel("journal_diverged", journal.ErrDiverged), Sentinel("journal_closed", journal.ErrClosed),
		Sentinel("message_version", model.ErrMessageVersion), Sentinel("no_price", model.ErrNoPrice), Sentinel("no_usage", model.ErrNoUsage),
		typed("api", func(e *model.APIError, wrapped error) { e.Err = wrapped }, func(e *model.APIError) { e.Err = nil }),
		typed[toolset.RetryError]("retry", nil, nil), typed[toolset.FailedError]("failed", nil, nil), typed[toolset.DeniedError]("denied", nil, nil),
		typed[toolset.ApprovalRequiredError]("approval_required", nil, nil), typed[toolset.DeferredError]("deferred", nil, nil),
		typed[toolset.PendingError]("pending", nil, nil), typed[PendingError]("pending_run", nil, nil),
		typed("budget", func(e *BudgetError, wrapped error) { e.Err = wrapped }, nil),
		typed("journal", func(e *journal.Error, wrapped error) { e.Err = wrapped }, func(e *journal.Error) { e.Err = nil }),
		// The messages of an inner run that failed are not passed on.
		typed("run", func(e *RunError, wrapped error) { e.Err = wrapped }, nil), panicked(),
	}
}

// panicked is the kind of a [*PanicError]. Its value becomes the value's text, or the error that it was.
func panicked() ErrorCodec {
	return ErrorCodec{
		Name: "panic",
		Encode: func(err error) (any, bool) {
			e, ok := err.(*PanicError)
			if !ok {
				return nil, false
			}
			return [2]string{e.said()[len("panic: "):], string(e.Stack)}, true
		},
		Decode: func(data json.RawMessage, text string, wrapped []error) error {
			var said [2]string
			if json.Unmarshal(data, &said) != nil {
				return errors.New(text)
			}
			e := &PanicError{Value: said[0], Stack: []byte(said[1])}
			if len(wrapped) > 0 {
				e.Value = wrapped[0]
			}
			return e
		},
	}
}

// errorJSON is an error and what it wraps.
type errorJSON struct {
	Text string `json:"text"`
	Kind string `json:"kind,omitempty"`
	// Data is the kind's.
	Data json.RawMessage `json:"data,omitempty"`
	// Level is which level of the run's meter has the limit that was reached, counted from 1. It is 0 if another meter has it.
	Level   int          `json:"level,omitempty"`
	Wrapped []*errorJSON `json:"wrapped,omitempty"`
}

func errorOf(t *Task, err error) *errorJSON {
	if err == nil {
		return nil
	}
	form := &errorJSON{Text: textOf(err)}
	for _, w := range unwrapped(err) {
		if w != nil {
			form.Wrapped = append(form.Wrapped, errorOf(t, w))
		}
	}
	var data any
	switch e := err.(type) {
	case *toolset.LimitError:
		form.Kind, data, form.Level = "limit", e, e.Level(meterOf(t))+1
	case *toolset.PriceError:
		form.Kind, data, form.Level = "price", struct{ Provider, Model string }{e.Provider, e.Model}, e.Level(meterOf(t))+1
	default:
		find(func(k *ErrorCodec) (ok bool) {
			if data, ok = k.Encode(err); ok {
				form.Kind = k.Name
			}
			return ok
		})
	}
	if data != nil {
		if written, err := plainjson.Marshal(data); err == nil {
			form.Data = written
		} else {
			form.Kind = ""
		}
	}
	return form
}

// textOf returns the text of an error, whatever its methods do.
func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = "an error without a readable text"
		}
	}()
	return err.Error()
}

func meterOf(t *Task) *toolset.Meter {
	if t.Info == nil {
		return nil
	}
	return t.Info.Meter
}

func unwrapped(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

func (f *errorJSON) error(t *Task) error {
	if f == nil {
		return nil
	}
	var wrapped []error
	for _, w := range f.Wrapped {
		wrapped = append(wrapped, w.error(t))
	}
	var err error
	switch f.Kind {
	case "":
	case "limit":
		var e toolset.LimitError
		if json.Unmarshal(f.Data, &e) == nil {
			err = e.At(meterOf(t), f.Level-1)
		}
	case "price":
		var e toolset.PriceError
		if json.Unmarshal(f.Data, &e) == nil && len(wrapped) > 0 {
			e.Err = wrapped[0]
			err = e.At(meterOf(t), f.Level-1)
		}
	default:
		find(func(k *ErrorCodec) bool {
			if k.Name == f.Kind {
				err = k.Decode(f.Data, f.Text, wrapped)
			}
			return k.Name == f.Kind
		})
	}
	switch {
	case err != nil:
		return err
	case len(wrapped) == 0:
		return errors.New(f.Text)
	}
	return &otherError{f.Text, wrapped}
}

// otherError is an error of a kind that is not known, from another process.
type otherError struct {
	text    string
	wrapped []error
}

func (e *otherError) Error() string { return e.text }

func (e *otherError) Unwrap() []error { return e.wrapped }

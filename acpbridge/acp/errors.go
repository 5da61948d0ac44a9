// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/show"
)

// Error codes of JSON-RPC 2.0 and of the protocol.
const (
	CodeParseError       = -32700
	CodeInvalidRequest   = -32600
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternal         = -32603
	CodeAuthRequired     = -32000
	CodeResourceNotFound = -32002
	CodeRequestCancelled = -32800
)

// Errors by code, for errors.Is. [Errorf] makes one with another message.
var (
	ErrParse            = &Error{Code: CodeParseError, Message: "parse error"}
	ErrInvalidRequest   = &Error{Code: CodeInvalidRequest, Message: "invalid request"}
	ErrMethodNotFound   = &Error{Code: CodeMethodNotFound, Message: "method not found"}
	ErrInvalidParams    = &Error{Code: CodeInvalidParams, Message: "invalid params"}
	ErrInternal         = &Error{Code: CodeInternal, Message: "internal error"}
	ErrAuthRequired     = &Error{Code: CodeAuthRequired, Message: "authentication required"}
	ErrResourceNotFound = &Error{Code: CodeResourceNotFound, Message: "resource not found"}

	// ErrRequestCancelled is also the cause of a handler's ctx that ended because the peer sent
	// $/cancel_request.
	ErrRequestCancelled = &Error{Code: CodeRequestCancelled, Message: "request cancelled"}
)

var (
	// ErrTurnCancelled is the cause of a prompt's ctx that ended because the client sent
	// session/cancel. It is a [context.Canceled] too.
	ErrTurnCancelled error = turnCancelled{}

	// ErrClosed is the error of everything that the connection can no longer do. It comes wrapped
	// with the reason.
	ErrClosed = errors.New("acp: connection closed")

	// ErrAnswered is the error of a message sent with the ctx of a request that has been answered:
	// no update of a turn goes out after the turn's answer.
	ErrAnswered = errors.New("acp: the request has been answered")
)

type turnCancelled struct{}

func (turnCancelled) Error() string        { return "acp: turn cancelled by session/cancel" }
func (turnCancelled) Is(target error) bool { return target == context.Canceled }

// Error is a JSON-RPC error: what a handler returns to answer with a code of its choice, and what a
// call returns, wrapped in a [CallError], when the peer answered with an error. errors.Is compares
// codes.
type Error struct {
	Code    int             // of JSON-RPC and the protocol, such as -32602
	Message string          // one line, for people
	Data    json.RawMessage // for programs; nil for none
}

// Errorf returns an Error with the code and the formatted message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithData returns a copy of the error that carries data, as JSON. Data that has no JSON form is
// left out.
func (e *Error) WithData(data any) *Error {
	out := *e
	out.Data, _ = json.Marshal(data)
	return &out
}

// Error implements error, on one line. Characters that control terminals or are invisible are
// written out, as in ⟨ESC⟩.
func (e *Error) Error() string { return show.Received(fmt.Sprintf("acp: %s (%d)", e.Message, e.Code)) }

// Is reports whether target is an Error of the same code. A cancelled request is a
// [context.Canceled] too.
func (e *Error) Is(target error) bool {
	if t, ok := target.(*Error); ok {
		return t.Code == e.Code
	}
	return target == context.Canceled && e.Code == CodeRequestCancelled
}

func (e *Error) encode(enc *encoder) {
	enc.open()
	enc.key(`"code":`)
	enc.int(int64(e.Code))
	enc.key(`"message":`)
	enc.string(e.Message)
	if e.Data != nil {
		enc.key(`"data":`)
		enc.raw(e.Data)
	}
	enc.close()
}

func (e *Error) decode(d *decoder) {
	*e = Error{}
	have := 0
	for d.object() {
		switch string(d.key) {
		case "code":
			have |= 1 << 0
			e.Code = int(d.int())
		case "message":
			have |= 1 << 1
			e.Message = d.string()
		case "data":
			if !d.null() {
				e.Data = d.raw()
			}
		default:
			d.skip()
		}
	}
	d.end("Error", have, "code", "message")
}

// CallError is a failed call of the peer: Err is an [*Error] if the peer answered with one, a
// [*DecodeError] if its result did not have the protocol's form, an [*AnswerError] if the answer
// was malformed, a [*TooLongError] if it was over the limit, the cause of the caller's ctx, or an
// [ErrClosed].
type CallError struct {
	Method string // of the call
	Err    error  // is never nil
}

func (e *CallError) Error() string {
	return "acp: " + e.Method + ": " + strings.TrimPrefix(e.Err.Error(), "acp: ")
}

func (e *CallError) Unwrap() error { return e.Err }

// TooLongError reports an answer of the peer that was longer than [ConnOptions].MaxLine and has
// been skipped.
type TooLongError struct {
	Limit int // bytes
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("acp: the answer is longer than the limit of %d bytes", e.Limit)
}

// ToError returns what a handler's error is answered with: the [*Error] that it is or wraps;
// otherwise an internal error with the first line of its text, and {"kind":"internal"} as data.
func ToError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return &Error{Code: CodeInternal, Message: line, Data: json.RawMessage(`{"kind":"internal"}`)}
}

func methodNotFound(method string) error {
	return Errorf(CodeMethodNotFound, "method not found: %s", method)
}

// invalidParams is the answer to parameters that do not decode.
func invalidParams(err error) error {
	return Errorf(CodeInvalidParams, "invalid params: %s", strings.TrimPrefix(err.Error(), "acp: "))
}

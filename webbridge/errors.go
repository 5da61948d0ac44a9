// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// Error is an error for clients. Functions of [Options] may return one.
type Error struct {
	// Status is the HTTP status. Kind classifies the error for programs, Message describes the
	// problem, where it is, and what to do.
	Status  int    `json:"-"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Question is the question as it is now, if an answer to it was refused because it has changed or was answered.
	Question *view.Entity `json:"question,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return "webbridge: " + e.Kind + ": " + e.Message }

// The kinds of errors, and their statuses.
const (
	KindInvalid      = "invalid"      // 400
	KindUnauthorized = "unauthorized" // 401
	KindForbidden    = "forbidden"    // 403
	KindNotFound     = "not_found"    // 404
	KindBusy         = "busy"         // 409: another turn is running
	KindHeld         = "held"         // 409: another process has the session
	KindAnswered     = "answered"     // 409: somebody else has answered the question
	KindChanged      = "changed"      // 409: the question shows something else by now
	KindFilesStay    = "files_stay"   // 409: files could not be taken back, so the conversation was not
	KindTooLarge     = "too_large"    // 413
	KindMediaType    = "media_type"   // 415
	KindHost         = "host"         // 421
	KindLimit        = "limit"        // 429
	KindInternal     = "internal"     // 500
	KindUnavailable  = "unavailable"  // 503
)

var statuses = map[string]int{
	KindInvalid: 400, KindUnauthorized: 401, KindForbidden: 403, KindNotFound: 404, KindBusy: 409, KindHeld: 409, KindAnswered: 409, KindChanged: 409, KindFilesStay: 409,
	KindTooLarge: 413, KindMediaType: 415, KindHost: 421, KindLimit: 429, KindInternal: 500, KindUnavailable: 503,
}

func refuse(kind, format string, args ...any) *Error {
	return &Error{Status: statuses[kind], Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// unknown is the error for sessions that do not exist and for sessions of other users.
func unknown(id string) *Error { return refuse(KindNotFound, "there is no session %q", id) }

// explain returns the error that clients see. Errors that are not known to be meant for them are
// internal.
func (h *Handler) explain(err error) *Error {
	var told *Error
	var large *http.MaxBytesError
	var at *session.Error
	var stay *host.FilesStayError
	errors.As(err, &at)
	failed := storeFailureOf(err)
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &stay):
		return refuse(KindFilesStay, "%s", stay.Text())
	case errors.As(err, &large):
		return refuse(KindTooLarge, "the body of the request is longer than %d bytes", large.Limit)
	case errors.Is(err, session.ErrNotFound):
		if at != nil {
			return unknown(at.Session)
		}
		return refuse(KindNotFound, "there is no such session")
	case errors.Is(err, session.ErrHeld), errors.Is(err, session.ErrLeaseLost) && at != nil && at.Holder != "":
		by := "another program"
		if at != nil && at.Holder != "" {
			by = at.Holder
		}
		return refuse(KindHeld, "a turn of the session is running in %s: wait for its end, or stop it", by)
	case errors.Is(err, session.ErrChanged):
		return refuse(KindChanged, "the prompt was changed since it was shown: look at it again")
	case errors.Is(err, session.ErrConsumed):
		return refuse(KindChanged, "the prompt does not wait any more: its turn has begun, or it was removed")
	case errors.Is(err, session.ErrNoItem):
		return refuse(KindNotFound, "there is no such prompt")
	case errors.Is(err, host.ErrBusy):
		return refuse(KindBusy, "a turn of the session is running: wait for its end, or cancel it")
	case errors.Is(err, host.ErrAsked):
		return refuse(KindBusy, "calls of the session wait for approval: answer the questions first")
	case errors.Is(err, session.ErrExists):
		return refuse(KindInvalid, "a session with this id exists")
	case errors.Is(err, session.ErrInvalid):
		return refuse(KindInvalid, "%v", err)
	case errors.Is(err, host.ErrClosed), errors.Is(err, session.ErrLeaseLost):
		return refuse(KindUnavailable, "the session was closed: try again")
	case failed != nil:
		if at == nil {
			at = new(session.Error)
		}
		h.o.Logger.Error("webbridge: the store has failed", "op", at.Op, "session", at.Session, "cause", failed.cause)
		return refuse(failed.kind, "%s", host.ErrorText(failed.cause))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refuse(KindUnavailable, "the request was cancelled")
	}
	if run, ok := errors.AsType[*agent.RunError](err); ok { // the host has logged it
		return refuse(KindInternal, "%s", h.host.ErrorText(run))
	}
	h.o.Logger.Error("webbridge: a request has failed", "error", fmt.Sprintf("%T", err))
	return refuse(KindInternal, "the server has failed: its log says more")
}

// storeFailure is an error of a store that is the operator's to mend.
type storeFailure struct {
	cause error
	kind  string
}

var storeFailures = []storeFailure{
	{session.ErrUnavailable, KindUnavailable}, {session.ErrBusy, KindUnavailable}, {session.ErrFull, KindUnavailable},
	{session.ErrReadOnly, KindUnavailable}, {session.ErrVersion, KindInternal}, {session.ErrCorrupt, KindInternal},
}

func storeFailureOf(err error) *storeFailure {
	for i := range storeFailures {
		if errors.Is(err, storeFailures[i].cause) {
			return &storeFailures[i]
		}
	}
	return nil
}

// form is how errors are written below a path.
type form struct {
	prefix string
	write  func(http.ResponseWriter, *Error)
}

// errorsAs sets how errors are written below a path, such as "/v1/", for a [Protocol] with its own
// format. It is called by Protocol.Register.
func (h *Handler) errorsAs(prefix string, write func(w http.ResponseWriter, e *Error)) {
	h.forms = append(h.forms, form{prefix, write})
}

// shown returns an error for clients. Errors that are not meant for them are logged and become [KindInternal].
func (h *Handler) shown(err error) *Error {
	e := h.explain(err)
	if e.Status == 0 {
		e = refuse(e.Kind, "%s", e.Message)
	}
	e.Status = max(e.Status, 400)
	return e
}

// fail writes an error.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := h.shown(err)
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	for _, f := range h.forms {
		if strings.HasPrefix(r.URL.Path, f.prefix) {
			f.write(w, e)
			return
		}
	}
	writeJSON(w, e.Status, map[string]any{"error": e})
}

// writeJSON writes a body of JSON.
func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"kind":"internal","message":"the answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

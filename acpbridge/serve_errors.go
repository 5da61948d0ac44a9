// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// notReopened returns the answer to a request for a session of the store. what names the action
// that failed.
func (s *server) notReopened(what string, id acp.SessionID, err error) error {
	var held *sessions.Error
	switch {
	case errors.Is(err, sessions.ErrNotFound), errors.Is(err, sessions.ErrInvalid):
		return unknownSession(id)
	case errors.Is(err, sessions.ErrHeld) && errors.As(err, &held):
		return acp.Errorf(acp.CodeInvalidRequest, "%s", oneLine(heldMessage(held))).
			WithData(errorData{Kind: KindHeld, SessionID: id, Holder: held.Holder})
	}
	return s.notOpened(what, id, err)
}

// heldMessage names the holder of a session.
func heldMessage(held *sessions.Error) string {
	since := ""
	if !held.Since.IsZero() {
		since = " since " + held.Since.Format(time.DateTime)
	}
	return fmt.Sprintf("a turn of the session is running in %s%s: wait for its end, or stop it", held.Holder, since)
}

// notOpened returns the answer to a request that opens a session.
func (s *server) notOpened(what string, id acp.SessionID, err error) error {
	if wrong, ok := errors.AsType[workspaceError](err); ok {
		if path, ok := errors.AsType[*workspace.PathError](wrong.error); ok {
			s.logError(what, id, err)
			return acp.Errorf(acp.CodeInvalidParams, "invalid params: the directory %q cannot be used: %s", path.Path, oneLine(path.Err.Error())).
				WithData(errorData{Kind: KindSession})
		}
	}
	return s.failure(what, id, err)
}

// failure logs that something about a session failed, and returns the answer. Errors of Deps that
// are a [*acp.Error] know what they say.
func (s *server) failure(what string, id acp.SessionID, err error) error {
	s.logError(what, id, err)
	if e, ok := errors.AsType[*acp.Error](err); ok {
		return e
	}
	data := errorData{Kind: KindSession}
	if _, ok := errors.AsType[*agent.PanicError](err); ok {
		data.Kind = KindPanic
	} else if ofStore(err) {
		data.Kind, data.Retryable = KindStore, passes(err)
	}
	why := err.Error() + advice(err)
	if s.discreet {
		why = s.host.ErrorText(err)
	}
	return acp.Errorf(acp.CodeInternal, "%s", oneLine(what+": "+why)).WithData(data)
}

// discreet reports whether errors are hidden from clients: the program has its own text for them,
// or they are behind a network, which the output of such a connection says by a method. The user of
// a client that has started this process is often the developer.
func discreet(h *host.Host, out io.Writer) bool {
	remote, ok := out.(interface{ Remote() bool })
	return h.OwnErrorText() || ok && remote.Remote()
}

// advice returns what to do about an error of a store, after the error's text.
func advice(err error) string {
	for _, a := range []struct {
		cause error
		text  string
	}{
		{sessions.ErrFull, "Make room on the disk and try again. Nothing is lost."},
		{sessions.ErrCorrupt, "Export the readable part of it, or restore a backup."},
		{sessions.ErrReadOnly, "Make it writable and try again."},
		{sessions.ErrVersion, "Use that version."},
		{host.ErrMoved, "Look whether it goes on before you try again."},
		{sessions.ErrBusy, "Try again."},
		{sessions.ErrUnavailable, "Try again when it is there."},
	} {
		if errors.Is(err, a.cause) {
			return ". " + a.text
		}
	}
	return ""
}

// ofStore reports whether the error comes from the session store.
func ofStore(err error) bool {
	return slices.ContainsFunc([]error{
		sessions.ErrFull, sessions.ErrCorrupt, sessions.ErrReadOnly, sessions.ErrVersion, sessions.ErrBusy, sessions.ErrUnavailable,
		sessions.ErrLeaseLost, sessions.ErrHeadMoved, sessions.ErrClosed,
	}, func(cause error) bool { return errors.Is(err, cause) })
}

// passes reports whether what failed because of the store can be tried again. A turn that has begun
// goes on by itself.
func passes(err error) bool {
	return (errors.Is(err, sessions.ErrBusy) || errors.Is(err, sessions.ErrUnavailable)) && !errors.Is(err, host.ErrMoved)
}

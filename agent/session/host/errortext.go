// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/explain"
	"github.com/ponte-go/ponte/internal/show"
)

// ErrorText returns what users are told of an error: a class of errors and what to do, such as "The
// model provider is overloaded. Try again in a minute." It contains no text of providers, tools and
// stores, which may name hosts and files. It is the default of [Config].ErrorText.
func ErrorText(err error) string {
	if text, ok := storeText(err); ok {
		return text
	}
	return explain.Error(err)
}

// ErrorText returns what users are told of an error, in one line of at most 2,000 bytes: see
// [Config].ErrorText.
func (h *Host) ErrorText(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil || text == "" {
			text = ErrorText(err)
		}
		text = clip(show.Line(oneLine(text)))
	}()
	if h.errorText != nil {
		text = h.errorText(err)
	}
	return text
}

// commandText returns the text of a slash command's error for users. The command's own errors are
// shown unchanged.
func (h *Host) commandText(err error) string {
	_, store := storeText(err)
	if _, known := explain.Known(err); known || store {
		return h.ErrorText(err)
	}
	return oneLine(err.Error())
}

// clip bounds a text.
func clip(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// storeAdvice returns advice about errors of the store.
var storeAdvice = []struct {
	cause error
	do    string
}{
	{session.ErrUnavailable, "try again"},
	{session.ErrBusy, "try again"},
	{session.ErrFull, "try again when there is room; nothing is lost"},
	{session.ErrReadOnly, "try again when it can be"},
	{session.ErrVersion, "the server has to be updated"},
	{session.ErrCorrupt, "start another session, or have this one salvaged"},
}

// storeText returns what users are told of an error of the store, and of a session that another
// program has.
func storeText(err error) (string, bool) {
	switch {
	case errors.Is(err, errDoubt):
		return session.ErrUnavailable.Error() + ": if the prompt was recorded, the turn goes on when it can be", true
	case errors.Is(err, errLeft):
		return session.ErrUnavailable.Error() + ": the turn goes on when it can be", true
	}
	for _, a := range storeAdvice {
		if errors.Is(err, a.cause) {
			return a.cause.Error() + ": " + a.do, true
		}
	}
	held, ok := errors.AsType[*session.Error](err)
	switch {
	case ok && held.Holder != "":
		return "The session is open in " + held.Holder + ". Close it there, and try again.", true
	case ok, errors.Is(err, ErrClosed):
		return "The session was closed. Try again.", true
	}
	return "", false
}

// logCommand logs why a command has failed, unless it is only the user who can mend it.
func (s *Session) logCommand(err error) {
	if _, known := explain.Known(err); known {
		s.host.log.Error("host: a command has failed", "session", s.id, "error", clip(err.Error()))
	}
}

// explained sets what users are told of the error, if it was not told while the turn was shown.
func (s *Session) explained(o *Outcome) *Outcome {
	if o.Err != nil && o.Failure == "" {
		o.Failure = s.host.ErrorText(o.Err)
	}
	return o
}

// logFailure logs why a turn has failed. Texts of the store are omitted, because they name files
// and addresses.
func (s *Session) logFailure(t *Turn, o *Outcome) {
	if o.Err == nil || o.Reason != transcript.Failed {
		return
	}
	if held, ok := errors.AsType[*session.Error](o.Err); ok {
		if held.Holder == "" {
			s.logError("a turn has failed", o.Err)
		}
		return
	}
	attrs := []any{"session", s.id, "turn", t.id, "run", t.id}
	err := o.Err
	if run, ok := errors.AsType[*agent.RunError](err); ok {
		attrs[5] = run.RunID
		attrs = append(attrs, "stage", string(run.Stage), "tool", run.Tool)
		err = run.Err
	}
	attrs = append(attrs, "error", clip(err.Error()))
	if p, ok := errors.AsType[*agent.PanicError](err); ok {
		attrs = append(attrs, "stack", string(p.Stack))
	}
	s.host.log.Error("host: a turn has failed", attrs...)
}

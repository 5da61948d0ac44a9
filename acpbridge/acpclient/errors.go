// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/show"
)

var (
	// ErrClosed is the error of everything that is done with a client or a session after it has
	// been closed.
	ErrClosed = errors.New("acpclient: closed")
	// ErrBusy is the error of a prompt that is sent during the session's turn, or before the agent
	// has ended a cancelled one.
	ErrBusy = errors.New("acpclient: the session has a turn in progress")
	// ErrNoAnswer is the cause of a call that was ended because the agent did not answer in time.
	ErrNoAnswer = errors.New("the agent has not answered")
	// ErrLimit is the error of a turn that was ended because the session has become larger than
	// [Config.MaxState].
	ErrLimit = errors.New("acpclient: the session is too large")
)

// AgentError is an error that the agent answered with.
type AgentError struct {
	// Method is the name of the call.
	Method string
	// Code is the error's code, such as [acp.CodeInternal]. errors.Is compares it with errors of
	// package acp, such as [acp.ErrAuthRequired].
	Code int
	// Message is the error in one line. Details has more, such as a model provider's answer. It may
	// be empty.
	Message, Details string
	// Data is all that the agent added.
	Data json.RawMessage
	// AuthMethods are the ways to authenticate that the agent has announced, if Code is
	// [acp.CodeAuthRequired].
	AuthMethods []acp.AuthMethod

	err error
}

func (e *AgentError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "acpclient: %s: %s", e.Method, e.Message)
	if e.Details != "" && !strings.Contains(e.Message, e.Details) {
		b.WriteString(": " + e.Details)
	}
	fmt.Fprintf(&b, " (%d)", e.Code)
	if len(e.AuthMethods) > 0 {
		ids := make([]string, len(e.AuthMethods))
		for i := range e.AuthMethods {
			ids[i] = string(authMethodID(&e.AuthMethods[i]))
		}
		b.WriteString("; authenticate with one of: " + strings.Join(ids, ", "))
	}
	return shown(b.String())
}

// maxError bounds the text of an error that has something of the agent's in it.
const maxError = 4096

// shown makes the agent's text in an error visible, all of it on one line.
func shown(text string) string {
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return show.Received(strings.ReplaceAll(text, "\n", " "))
}

func (e *AgentError) Unwrap() error { return e.err }

// UnsupportedError reports that the agent does not offer what was asked for. Nothing was sent. It
// is an [errors.ErrUnsupported].
type UnsupportedError struct {
	// What names what is missing: a method, a kind of prompt content, an option.
	What string
	// Agent is the agent's name, if it has told one.
	Agent string
}

func (e *UnsupportedError) Error() string {
	agent := "the agent"
	if e.Agent != "" {
		agent = e.Agent
	}
	return shown(fmt.Sprintf("acpclient: %s does not offer %s", agent, e.What))
}

func (e *UnsupportedError) Unwrap() error { return errors.ErrUnsupported }

// ProtocolError reports that the agent broke the protocol. It is the error of a call whose answer
// cannot be used, and what [Client.Problems] has.
type ProtocolError struct {
	// Method is the call or the agent's message; it is empty for lines that are not messages.
	Method string
	// Problem describes the error in one line. It has no content of messages, except for the
	// beginning of lines that are not messages.
	Problem string

	err error
}

func (e *ProtocolError) Error() string {
	if e.Method == "" {
		return shown("acpclient: the agent broke the protocol: " + e.Problem)
	}
	return shown("acpclient: " + e.Method + ": the agent broke the protocol: " + e.Problem)
}

func (e *ProtocolError) Unwrap() error { return e.err }

// ProcessError reports that the agent's process could not be started, has ended, or does not
// answer.
type ProcessError struct {
	// Command is the command line, for people.
	Command string
	// Method is the call that was waiting, if there was one.
	Method string
	// Ended reports that the process has ended. ExitCode is its exit code, or -1 if Signal ended
	// it.
	Ended    bool
	ExitCode int
	Signal   string
	// Stderr holds the last lines of its standard error, and Garbage the last lines of its standard
	// output that are not messages. Both are bounded, and values of environment variables that look
	// like secrets are taken out.
	Stderr, Garbage []string

	err error
}

func (e *ProcessError) Error() string {
	var b strings.Builder
	b.WriteString("acpclient: ")
	if e.Method != "" {
		b.WriteString(e.Method + ": ")
	}
	fmt.Fprintf(&b, "agent %q: ", e.Command)
	switch {
	case e.Signal != "":
		b.WriteString("the process was ended by " + e.Signal)
	case e.Ended:
		fmt.Fprintf(&b, "the process has ended (exit code %d)", e.ExitCode)
	case e.err != nil && !errors.Is(e.err, acp.ErrClosed):
		b.WriteString(oneLine(e.err.Error()))
	default:
		b.WriteString("the process has closed the connection")
	}
	if len(e.Garbage) > 0 {
		b.WriteString("; it printed to standard output: " + strings.Join(e.Garbage, " | "))
	}
	if len(e.Stderr) > 0 {
		b.WriteString("; its last words: " + strings.Join(e.Stderr, " | "))
	}
	return b.String()
}

func (e *ProcessError) Unwrap() error { return e.err }

// failed makes the error of a call.
func (c *Client) failed(ctx context.Context, method string, err error) error {
	cause := err
	if call, ok := errors.AsType[*acp.CallError](err); ok {
		cause = call.Err
	}
	if answer, ok := errors.AsType[*acp.Error](cause); ok && !(ctx.Err() != nil && errors.Is(cause, context.Cause(ctx))) {
		return c.agentError(method, answer)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		if errors.Is(err, ErrNoAnswer) {
			return c.lost(method, context.Cause(ctx))
		}
		return fmt.Errorf("acpclient: %s: %w", method, context.Cause(ctx))
	}
	if errors.Is(cause, ErrClosed) && c.conn.Err() != nil {
		cause = c.conn.Err() // the client's ctx ends behind the connection: a call may notice that first
	}
	if errors.Is(cause, acp.ErrClosed) {
		return c.lost(method, cause)
	}
	return &ProtocolError{Method: method, Problem: strings.TrimPrefix(oneLine(cause.Error()), "acp: "), err: err}
}

func (c *Client) agentError(method string, answer *acp.Error) error {
	e := &AgentError{Method: method, Code: answer.Code, Message: oneLine(answer.Message), Data: answer.Data, err: answer}
	var data struct{ Details, Message, Error any }
	var text string
	switch {
	case len(answer.Data) == 0:
	case json.Unmarshal(answer.Data, &text) == nil:
		e.Details = text
	case json.Unmarshal(answer.Data, &data) == nil:
		for _, v := range []any{data.Details, data.Message, data.Error} {
			if s := detail(v); s != "" {
				e.Details = s
				break
			}
		}
	}
	if answer.Code == acp.CodeAuthRequired && c.hello != nil {
		e.AuthMethods = c.hello.AuthMethods
	}
	return e
}

// detail returns what a member of an error's data says.
func detail(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, _ := json.Marshal(v)
	return string(data)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"fmt"
	"log/slog"

	"github.com/ponte-go/ponte/internal/hide"
)

// Printing or logging a message shows no values of headers and variables, and addresses without
// what may be secret in them. JSON has all of it, because it is what is sent. A message inside a
// structure of another package must not be logged as JSON.

type shownHTTPHeader HTTPHeader

// Format implements [fmt.Formatter]. It hides the value.
func (v HTTPHeader) Format(f fmt.State, verb rune) {
	v.Value = hide.Text(v.Value)
	hide.Format(f, verb, shownHTTPHeader(v))
}

type shownEnvVariable EnvVariable

// Format implements [fmt.Formatter]. It hides the value.
func (v EnvVariable) Format(f fmt.State, verb rune) {
	v.Value = hide.Text(v.Value)
	hide.Format(f, verb, shownEnvVariable(v))
}

type shownMCPServerHTTP MCPServerHTTP

// Format implements [fmt.Formatter]. It hides the values of headers, and the query of the address.
func (v MCPServerHTTP) Format(f fmt.State, verb rune) {
	v.URL = hide.URL(v.URL)
	hide.Format(f, verb, shownMCPServerHTTP(v))
}

type shownMCPServerSSE MCPServerSSE

// Format implements [fmt.Formatter]. It hides the values of headers, and the query of the address.
func (v MCPServerSSE) Format(f fmt.State, verb rune) {
	v.URL = hide.URL(v.URL)
	hide.Format(f, verb, shownMCPServerSSE(v))
}

type shownMCPServerStdio MCPServerStdio

// Format implements [fmt.Formatter]. It hides the values of variables.
func (v MCPServerStdio) Format(f fmt.State, verb rune) { hide.Format(f, verb, shownMCPServerStdio(v)) }

type shownCreateTerminalRequest CreateTerminalRequest

// Format implements [fmt.Formatter]. It hides the values of variables.
func (v CreateTerminalRequest) Format(f fmt.State, verb rune) {
	hide.Format(f, verb, shownCreateTerminalRequest(v))
}

// A handler that logs JSON asks these types for what to log.

// LogValue implements [slog.LogValuer], without the value.
func (v HTTPHeader) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without the value.
func (v EnvVariable) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v MCPServerHTTP) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v MCPServerSSE) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v MCPServerStdio) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v MCPServer) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v NewSessionRequest) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v LoadSessionRequest) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v ResumeSessionRequest) LogValue() slog.Value { return hide.Log(v) }

// LogValue implements [slog.LogValuer], without secrets.
func (v CreateTerminalRequest) LogValue() slog.Value { return hide.Log(v) }

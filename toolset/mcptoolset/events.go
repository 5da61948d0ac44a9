// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Progress is emitted when a server reports the progress of a call. It is the value of a custom
// event (agent.EventCustom). If a server reports faster than the events are observed, only the last
// report is kept.
//
// A tool of an exported toolset ([Export]) emits it to report its own progress to the client.
// Server and Tool are not sent.
type Progress struct {
	// Server and Tool identify the call. Tool is the server's name for the tool.
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"`
	// Progress grows. Total is its final value, or 0 if that is not known.
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	// Message is the server's message, with invisible characters written out.
	Message string `json:"message,omitempty"`
}

// Log is a log message of a server. It is emitted like [Progress] if it can only belong to one run,
// and dropped otherwise, because it may hold what is none of another run's business.
type Log struct {
	// Server is the server's name.
	Server string `json:"server"`
	// Level is "debug", "info", "notice", "warning", "error", "critical", "alert" or "emergency".
	Level string `json:"level"`
	// Logger is the part of the server that logs. Message is a text or JSON. Invisible characters
	// in both are written out.
	Logger  string `json:"logger,omitempty"`
	Message string `json:"message"`
}

const maxEventText = 2000

// progress passes on a report of progress.
func (l *link) progress(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string) // calls have no empty one
	l.mu.Lock()
	f := l.flights[token]
	l.mu.Unlock()
	if f != nil {
		f.emit(Progress{
			Server: l.server.config.Name, Tool: visible(f.title, 200), Progress: p.Progress,
			Total: p.Total, Message: visible(p.Message, maxEventText),
		})
	}
}

// log passes on a log message.
func (l *link) log(p *mcp.LoggingMessageParams) {
	f, err := l.asking(l.ctx)
	if err != nil {
		return
	}
	text, ok := p.Data.(string)
	if !ok {
		data, err := json.Marshal(p.Data)
		if err != nil {
			return
		}
		text = string(data)
	}
	f.emit(Log{
		Server: l.server.config.Name, Level: visible(string(p.Level), 20),
		Logger: visible(p.Logger, 200), Message: visible(text, maxEventText),
	})
}

// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
)

// isEnd reports whether an error is only the end of the stream.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, os.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe)
}

// How much is kept of what a server says by itself.
const (
	maxTasks          = 1000
	maxProblemFiles   = 10_000
	maxProblemsOfFile = 1000
	maxMessage        = 4000
)

// Request implements [lsp.Handler].
func (l *link) Request(method string, params json.RawMessage) (any, error) {
	switch method {
	case "workspace/configuration":
		var p lsp.ConfigurationParams
		if err := json.Unmarshal(params, &p); err != nil || len(p.Items) > 1000 {
			return nil, errors.New("malformed parameters")
		}
		answers := make([]any, len(p.Items))
		for i, item := range p.Items {
			answers[i] = l.guest.server.Settings[item.Section]
		}
		return answers, nil
	case "workspace/workspaceFolders":
		return l.guest.view.folders(), nil
	case "workspace/applyEdit":
		return l.takeEdit(params), nil
	case "window/showDocument":
		return map[string]bool{"success": false}, nil
	case "client/registerCapability",
		"client/unregisterCapability",
		"window/workDoneProgress/create",
		"window/showMessageRequest",
		"workspace/semanticTokens/refresh",
		"workspace/inlayHint/refresh",
		"workspace/codeLens/refresh",
		"workspace/diagnostic/refresh",
		"workspace/inlineValue/refresh",
		"workspace/foldingRange/refresh":
		return nil, nil
	}
	return nil, lsp.ErrNotSupported
}

// Notify implements [lsp.Handler].
func (l *link) Notify(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		l.published(params)
	case "$/progress":
		var p struct {
			Token json.RawMessage `json:"token"`
			Value struct {
				Kind string `json:"kind"`
			} `json:"value"`
		}
		if json.Unmarshal(params, &p) == nil && len(p.Token) < 200 {
			l.progress(string(p.Token), p.Value.Kind)
		}
	}
}

// progress notes that the server begins and ends work.
func (l *link) progress(token, kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case kind == "begin" && len(l.tasks) < maxTasks:
		l.tasks[token] = time.Now()
	case kind == "end":
		delete(l.tasks, token)
	default:
		return
	}
	l.changed()
}

// stuck is how long a task of a server is waited for at most. After that the server has forgotten
// it, perhaps.
const stuck = time.Minute

// busy reports whether the server has reported work in progress. l.mu is held.
func (l *link) busy() bool {
	for _, since := range l.tasks {
		if time.Since(since) < stuck {
			return true
		}
	}
	return false
}

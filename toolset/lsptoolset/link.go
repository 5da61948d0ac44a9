// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// link is a server that runs.
type link struct {
	guest    *guest
	conn     *lsp.Conn
	process  *local.Connection
	can      lsp.ServerCapabilities
	encoding lsp.Encoding
	since    time.Time
	gone     chan struct{} // closed when nothing of it is left

	// syncing is held while documents are sent. docs has what the server was sent, by path; recent
	// has the paths, the one that was used last at the end.
	syncing chan struct{}
	docs    map[string]*document
	recent  []string

	mu       sync.Mutex
	stirred  time.Time // when it got its first document, or was started
	grown    time.Time // when it was told of files that are new or gone
	used     time.Time
	event    chan struct{} // closed and replaced when one of the following changes
	problems map[string]*published
	heard    time.Time            // when the server published problems last
	tasks    map[string]time.Time // what it says that it works on, and since when
	capture  *capture             // takes edits of the server; nil refuses them
}

// clientCapabilities are the capabilities that servers are told.
const clientCapabilities = `{
"general":{"positionEncodings":["utf-8","utf-16"]},
"window":{"workDoneProgress":true},
"workspace":{"applyEdit":true,"configuration":true,"workspaceFolders":true,
	"workspaceEdit":{"documentChanges":true,"resourceOperations":["create","rename","delete"],
		"failureHandling":"transactional","changeAnnotationSupport":{}},
	"didChangeConfiguration":{"dynamicRegistration":true},
	"didChangeWatchedFiles":{"dynamicRegistration":true,"relativePatternSupport":true},
	"executeCommand":{},
	"symbol":{"symbolKind":{"valueSet":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]}}},
"textDocument":{"synchronization":{"didSave":true},
	"hover":{"contentFormat":["plaintext","markdown"]},
	"definition":{"linkSupport":true},"typeDefinition":{"linkSupport":true},"implementation":{"linkSupport":true},
	"references":{},"callHierarchy":{},"formatting":{},"diagnostic":{"relatedDocumentSupport":true},
	"documentSymbol":{"hierarchicalDocumentSymbolSupport":true,
		"symbolKind":{"valueSet":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]}},
	"codeAction":{"codeActionLiteralSupport":{"codeActionKind":{"valueSet":["","quickfix","refactor",
			"refactor.extract","refactor.inline","refactor.rewrite","source","source.organizeImports","source.fixAll"]}},
		"isPreferredSupport":true,"disabledSupport":true,"dataSupport":true,
		"resolveSupport":{"properties":["edit"]},"honorsChangeAnnotations":true},
	"rename":{"prepareSupport":true,"honorsChangeAnnotations":true},
	"publishDiagnostics":{"relatedInformation":true,"versionSupport":true,"tagSupport":{"valueSet":[1,2]}}}}`

// open starts the server and waits until it has been initialized.
func (g *guest) open(ctx context.Context) (_ *link, err error) {
	pool := g.view.pool
	program, ok := pool.program(g.server)
	if !ok {
		return nil, errors.New(g.server.missing())
	}
	host, err := g.view.runner()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pool.config.StartTimeout,
		fmt.Errorf("%s has not started within %v", g.server.Name, pool.config.StartTimeout))
	defer cancel()
	process, err := host.Connect(
		ctx,
		workspace.Command{
			Args: append([]string{program}, g.server.Command[1:]...),
			Env:  g.server.Env,
		},
	)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.server.Name, err)
	}
	l := &link{
		guest: g, process: process, since: time.Now(), stirred: time.Now(), used: time.Now(), gone: make(chan struct{}), syncing: make(chan struct{}, 1),
		docs: map[string]*document{}, event: make(chan struct{}), problems: map[string]*published{}, tasks: map[string]time.Time{},
	}
	l.conn = lsp.NewConn(stream{process}, l, lsp.Limits{})
	if err := l.initialize(ctx); err != nil {
		ended := l.conn.Err() != nil // by itself
		l.conn.End(err)
		l.close(false)
		if timeout := ctx.Err() != nil; ended || !timeout {
			err = l.why()
		}
		if pool.ctx.Err() != nil {
			err = ErrClosed
		}
		return nil, err
	}
	return l, nil
}

// stream ends its process, too, when it is closed.
type stream struct{ *local.Connection }

func (s stream) Close() error {
	s.Stop()
	return nil
}

func (l *link) initialize(ctx context.Context) error {
	v, config := l.guest.view, &l.guest.view.pool.config
	folders := v.folders()
	var result lsp.InitializeResult
	err := l.conn.Call(ctx, "initialize", struct {
		ProcessID    *int                  `json:"processId"` // in a sandbox it would be another one's
		ClientInfo   ClientInfo            `json:"clientInfo"`
		RootPath     string                `json:"rootPath"`
		RootURI      string                `json:"rootUri"`
		Capabilities json.RawMessage       `json:"capabilities"`
		Options      any                   `json:"initializationOptions,omitempty"`
		Folders      []lsp.WorkspaceFolder `json:"workspaceFolders"`
	}{
		nil, config.Client, v.real[0], folders[0].URI, json.RawMessage(clientCapabilities),
		l.options(), folders,
	}, &result)
	if err != nil {
		return err
	}
	l.can, l.encoding = result.Capabilities, lsp.Encoding(result.Capabilities.PositionEncoding)
	switch l.encoding {
	case lsp.UTF8, lsp.UTF16:
	case "":
		l.encoding = lsp.UTF16
	default:
		return fmt.Errorf(
			"%s counts characters in %s, which it was not offered",
			l.guest.server.Name,
			shown(string(l.encoding), 50),
		)
	}
	if err := l.conn.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	if len(l.guest.server.Settings) == 0 {
		return nil
	}
	return l.conn.Notify(
		ctx,
		"workspace/didChangeConfiguration",
		map[string]any{"settings": l.guest.server.Settings},
	)
}

// options are what the server gets when it starts: gopls takes its settings from there.
func (l *link) options() any {
	s := l.guest.server
	if s.Options == nil && s.Settings[s.Name] != nil {
		return s.Settings[s.Name]
	}
	return s.Options
}

// touch notes that the server is used.
func (l *link) touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = time.Now()
}

func (l *link) idle() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.used)
}

// why says why the connection has ended.
func (l *link) why() error {
	err := l.conn.Err()
	if inner := (interface{ Unwrap() []error })(nil); errors.As(err, &inner) {
		for _, e := range inner.Unwrap() {
			if e != lsp.ErrClosed {
				err = e
			}
		}
	}
	text := shown(err.Error(), 500)
	if ended := l.process.Ended(); ended != "" {
		text = shown(ended, 1000)
		if r := (*lsp.ResponseError)(nil); errors.As(err, &r) || !isEnd(err) {
			text = shown(err.Error(), 500) + "; " + text
		}
	}
	return fmt.Errorf("%s: %s", l.guest.server.Name, text)
}

// close ends the server: politely if that is wanted, and at once otherwise. It waits for that.
func (l *link) close(politely bool) {
	if politely && l.conn.Err() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		if l.conn.Call(ctx, "shutdown", nil, nil) == nil && l.conn.Notify(ctx, "exit", nil) == nil {
			select {
			case <-l.process.Exited():
			case <-ctx.Done():
			}
		}
		cancel()
	}
	l.conn.End(errors.New("closed"))
	_ = l.process.Close()
	l.conn.Close()
}

// call makes a request, within the time that it may take. It is made again if the text has changed
// meanwhile.
func (l *link) call(ctx context.Context, method string, params, result any) error {
	limit := l.guest.view.pool.config.CallTimeout
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		limit,
		fmt.Errorf(
			"%w: %s has not answered %s within %v",
			ErrUnavailable,
			l.guest.server.Name,
			method,
			limit,
		),
	)
	defer cancel()
	for {
		err := l.conn.Call(ctx, method, params, result)
		if !lsp.Modified(err) {
			if errors.Is(err, lsp.ErrClosed) {
				select { // for its last words
				case <-l.gone:
				case <-ctx.Done():
				}
				err = fmt.Errorf("%w: %w", ErrUnavailable, l.why())
			}
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// changed wakes those who wait for an event. l.mu is held.
func (l *link) changed() {
	close(l.event)
	l.event = make(chan struct{})
}

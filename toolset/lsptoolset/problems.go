// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/lazy"
	"github.com/ponte-go/ponte/internal/lsp"
)

// published are the problems of a file that a server has published last.
type published struct {
	path    string
	version int32 // of the document; 0 if the server does not say
	at      time.Time
	items   []lsp.Diagnostic
}

// quiet is how long a server must publish nothing more before its answer counts as complete, unless
// it says when its work is done.
const quiet = 250 * time.Millisecond

// exact reports whether the server says when it has finished with a change.
func (s *Server) exact() bool { return s.Name == "gopls" }

// published takes the problems of a file. Malformed ones are left out.
func (l *link) published(params json.RawMessage) {
	var p struct {
		URI         string            `json:"uri"`
		Version     int32             `json:"version"`
		Diagnostics []json.RawMessage `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	l.store(p.URI, p.Version, p.Diagnostics)
}

// store keeps the problems of a file. Malformed ones are left out.
func (l *link) store(uri string, version int32, items []json.RawMessage) {
	at, err := l.guest.view.locate(uri)
	if err != nil {
		return // nobody asked about it
	}
	found := &published{path: at.Path, version: version, at: time.Now()}
	for _, raw := range items {
		var d lsp.Diagnostic
		if len(found.items) < maxProblemsOfFile && json.Unmarshal(raw, &d) == nil {
			if len(d.Message) > maxMessage {
				d.Message = shown(d.Message, maxMessage)
			}
			if d.Severity < lsp.SeverityError || d.Severity > lsp.SeverityHint {
				d.Severity = lsp.SeverityError
			}
			found.items = append(found.items, d)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = found.at
	if _, known := l.problems[at.Path]; known || len(l.problems) < maxProblemFiles {
		l.problems[at.Path] = found
	}
	l.changed()
}

// maxPulled is how many other open files a server is asked about after a change.
const maxPulled = 16

// pull asks a server for the problems of documents, and of others that it has open, and reports
// whether it has answered within limit.
func (l *link) pull(ctx context.Context, limit time.Duration, docs []*document) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	open, err := l.others(limited, docs)
	if err != nil {
		return false, context.Cause(ctx)
	}
	for _, d := range append(slices.Clip(docs), open...) {
		var report struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		params := map[string]any{"textDocument": lsp.TextDocumentIdentifier{URI: d.uri}}
		err := l.call(limited, "textDocument/diagnostic", params, &report)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case limited.Err() != nil:
			return false, nil
		case err != nil:
			return false, err
		case report.Kind == "full":
			l.store(d.uri, d.version, report.Items)
		}
	}
	return true, nil
}

// others returns open documents beside docs, those that were used last.
func (l *link) others(ctx context.Context, docs []*document) (all []*document, err error) {
	select {
	case l.syncing <- struct{}{}:
		defer func() { <-l.syncing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for _, path := range slices.Backward(l.recent) {
		if d := l.docs[path]; len(all) < maxPulled && !slices.Contains(docs, d) {
			all = append(all, d)
		}
	}
	return all, nil
}

// checked waits until the server has looked at the present text of documents, and reports whether
// it has. It waits for limit at most.
func (l *link) checked(ctx context.Context, limit time.Duration, docs ...*document) (bool, error) {
	if provides(l.can.DiagnosticProvider) {
		return l.pull(ctx, limit, docs)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	l.checkSilent(ctx, limit, docs)
	for {
		l.mu.Lock()
		event, done, rest := l.event, !l.busy(), time.Duration(0)
		for _, d := range docs {
			done = done && l.problems[d.at.Path].of(d)
		}
		if !l.guest.server.exact() {
			rest = quiet - time.Since(l.heard)
		}
		l.mu.Unlock()
		if done && rest <= 0 {
			return true, nil
		}
		var soon <-chan time.Time
		if done {
			soon = time.After(rest)
		}
		select {
		case <-event:
		case <-soon:
		case <-timer.C:
			return false, nil
		case <-l.conn.Done():
			return false, fmt.Errorf("%w: %w", ErrUnavailable, l.why())
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// of reports whether the problems are those of a document's text.
func (p *published) of(d *document) bool {
	return p != nil && (p.version >= d.version || p.version == 0 && p.at.After(d.sent))
}

// checkSilent asks typescript-language-server about documents that had no problems: it publishes
// nothing if they still have none.
func (l *link) checkSilent(ctx context.Context, limit time.Duration, docs []*document) {
	if l.guest.server.Name != "typescript-language-server" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, d := range docs {
		l.mu.Lock()
		p := l.problems[d.at.Path]
		silent := p != nil && len(p.items) == 0 && !p.of(d)
		l.mu.Unlock()
		if silent && l.hasNone(ctx, d, "syntacticDiagnosticsSync") &&
			l.hasNone(ctx, d, "semanticDiagnosticsSync") {
			l.mu.Lock()
			l.problems[d.at.Path] = &published{path: d.at.Path, at: time.Now()}
			l.changed()
			l.mu.Unlock()
		}
	}
}

// hasNone reports whether TypeScript's own server finds no problems of a kind.
func (l *link) hasNone(ctx context.Context, d *document, kind string) bool {
	var answer struct {
		Body []json.RawMessage `json:"body"`
	}
	err := l.call(ctx, "workspace/executeCommand", lsp.ExecuteCommandParams{
		Command:   "typescript.tsserverRequest",
		Arguments: []json.RawMessage{json.RawMessage(strconv.Quote(kind)), fileArgument(d.uri)},
	}, &answer)
	return err == nil && answer.Body != nil && len(answer.Body) == 0
}

func fileArgument(uri string) json.RawMessage {
	data, _ := json.Marshal(map[string]string{"file": uri}) //nolint:errcheck // strings
	return data
}

// known returns the problems that the server has published, by path. They must not be changed.
func (l *link) known() map[string]*published {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]*published, len(l.problems))
	for path, p := range l.problems {
		if len(p.items) > 0 {
			all[path] = p
		}
	}
	return all
}

// problem is a problem as models see it.
type problem struct {
	path     string
	line     int // counted from 1
	severity lsp.DiagnosticSeverity
	source   string
	message  string
}

func newProblem(path string, d *lsp.Diagnostic) problem {
	source := d.Source
	if code := strings.Trim(string(d.Code), `"`); code != "" && code != "null" && len(code) < 100 &&
		!strings.HasPrefix(code, "{") {
		source = strings.TrimSpace(source + " " + code)
	}
	return problem{
		path,
		int(d.Range.Start.Line) + 1,
		d.Severity,
		shown(source, 100),
		shown(d.Message, 1000),
	}
}

// sortProblems puts the errors first, then goes by path and line.
func sortProblems(all []problem) {
	slices.SortFunc(all, func(a, b problem) int {
		return cmp.Or(
			cmp.Compare(a.severity, b.severity),
			cmp.Compare(a.path, b.path),
			cmp.Compare(a.line, b.line),
			cmp.Compare(a.message, b.message),
			cmp.Compare(a.source, b.source),
		)
	})
}

var severities = map[lsp.DiagnosticSeverity]string{
	lsp.SeverityError: "error", lsp.SeverityWarning: "warning", lsp.SeverityInformation: "info", lsp.SeverityHint: "hint",
}

// text returns the problem on one line.
func (p *problem) text(v *project) string {
	line := fmt.Sprintf("%s:%d: %s: %s", v.short(p.path), p.line, severities[p.severity], p.message)
	if p.source != "" {
		line += " [" + p.source + "]"
	}
	return line
}

// numbered matches numbers of lines and columns in messages.
var numbered = lazy.Regexp(`(?i)(:|\b(?:line|column|col|at) )\d+`)

// key identifies a problem wherever its line is now.
func (p *problem) key() string {
	message := numbered().ReplaceAllString(p.message, "$1")
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s", p.path, p.severity, p.source, message)
}

// newProblems returns the problems of after that were not in before. A problem that has moved is
// not new. lineOf returns the text of a line before and after, for files whose text is known.
func newProblems(
	before, after map[string]*published,
	textBefore, textAfter map[string]*lsp.Text,
) []problem {
	type old struct {
		lines map[string]int // how often, by the text of the line
		total int
	}
	known := map[string]*old{}
	lineOf := func(texts map[string]*lsp.Text, p *problem) string {
		if t := texts[p.path]; t != nil {
			return strings.TrimSpace(t.Line(p.line - 1))
		}
		return ""
	}
	for path, p := range before {
		for i := range p.items {
			was := newProblem(path, &p.items[i])
			o := known[was.key()]
			if o == nil {
				o = &old{lines: map[string]int{}}
				known[was.key()] = o
			}
			o.lines[lineOf(textBefore, &was)]++
			o.total++
		}
	}
	var candidates []problem
	for path, p := range after {
		for i := range p.items {
			if p.items[i].Severity == lsp.SeverityHint {
				continue
			}
			now := newProblem(path, &p.items[i])
			o := known[now.key()]
			if line := lineOf(textAfter, &now); o != nil && o.lines[line] > 0 {
				o.lines[line]--
				o.total--
				continue
			}
			candidates = append(candidates, now)
		}
	}
	// The old ones that remain are on changed lines. As many candidates are the same problems.
	sortProblems(candidates)
	return slices.DeleteFunc(candidates, func(p problem) bool {
		o := known[p.key()]
		if o == nil || o.total == 0 {
			return false
		}
		o.total--
		return true
	})
}

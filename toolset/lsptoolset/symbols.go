// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// symbol is a symbol of the project.
type symbol struct {
	// path has the elements of its full name, the first pkg of which are its package's.
	path  []string
	pkg   int
	kind  lsp.SymbolKind
	at    workspace.Location
	full  lsp.Range // the whole of it
	name  lsp.Range // its name
	depth int
	// detail describes it, such as its signature.
	detail string
}

func (s *symbol) title() string { return shown(strings.Join(s.path, "."), 300) }

// line returns the symbol with its kind and place.
func (s *symbol) line(v *project) string {
	return fmt.Sprintf(
		"%s (%s) %s:%d", s.title(), kindName(s.kind), v.short(s.at.Path), s.name.Start.Line+1,
	)
}

// maxSymbols bounds the symbols that are taken of an answer.
const maxSymbols = 20_000

// provides reports whether a server has an ability.
func provides(ability json.RawMessage) bool {
	text := string(bytes.TrimSpace(ability))
	return text != "" && text != "null" && text != "false"
}

// outline returns the symbols of a document in the order of the text.
func (l *link) outline(ctx context.Context, d *document) ([]symbol, error) {
	if !provides(l.can.DocumentSymbolProvider) {
		return nil, nil
	}
	var raw []json.RawMessage
	params := map[string]any{"textDocument": lsp.TextDocumentIdentifier{URI: d.uri}}
	if err := l.call(ctx, "textDocument/documentSymbol", params, &raw); err != nil {
		return nil, err
	}
	var all []symbol
	for _, item := range raw {
		var flat struct {
			lsp.SymbolInformation
			Location *lsp.Location `json:"location"`
		}
		if err := json.Unmarshal(item, &flat); err != nil {
			return nil, fmt.Errorf(
				"the answer to textDocument/documentSymbol is malformed: %w",
				err,
			)
		}
		if flat.Location != nil {
			path := append(namePath(flat.ContainerName), symbolPath(flat.Name)...)
			r := flat.Location.Range
			all = append(all, symbol{path: path, kind: flat.Kind, at: d.at, full: r, name: r})
			continue
		}
		var nested lsp.DocumentSymbol
		if err := json.Unmarshal(item, &nested); err != nil {
			return nil, fmt.Errorf(
				"the answer to textDocument/documentSymbol is malformed: %w",
				err,
			)
		}
		all = flatten(all, &nested, d, nil, 0)
	}
	return all, nil
}

func flatten(
	all []symbol, s *lsp.DocumentSymbol, d *document, parent []string, depth int,
) []symbol {
	if len(all) >= maxSymbols || depth > 50 {
		return all
	}
	path := append(parent[:len(parent):len(parent)], symbolPath(s.Name)...)
	all = append(
		all,
		symbol{
			path:   path,
			kind:   s.Kind,
			at:     d.at,
			full:   s.Range,
			name:   s.SelectionRange,
			depth:  depth,
			detail: s.Detail,
		},
	)
	for i := range s.Children {
		all = flatten(all, &s.Children[i], d, path, depth+1)
	}
	return all
}

// search asks the server for symbols of the project by name.
func (l *link) search(ctx context.Context, query string) ([]symbol, error) {
	if !provides(l.can.WorkspaceSymbolProvider) {
		return nil, nil
	}
	var raw []struct {
		lsp.SymbolInformation
		Location struct {
			URI   string     `json:"uri"`
			Range *lsp.Range `json:"range"`
		} `json:"location"`
	}
	if err := l.call(ctx, "workspace/symbol", map[string]string{"query": query}, &raw); err != nil {
		return nil, err
	}
	var all []symbol
	for i := range raw {
		s := &raw[i]
		at, err := l.guest.view.locate(s.Location.URI)
		if err != nil || s.Location.Range == nil || len(all) >= maxSymbols {
			continue // it is not the project's
		}
		path, pkg := symbolPath(s.Name), 0
		if container := namePath(s.ContainerName); !strings.Contains(s.ContainerName, "/") &&
			!endsWith(path[:len(path)-1], container) {
			path = append(container, path...) // otherwise it is a package, and in the name
		}
		if l.guest.server.Name == "gopls" {
			pkg = 1
		}
		all = append(
			all,
			symbol{
				path: path,
				pkg:  pkg,
				kind: s.Kind,
				at:   at,
				full: *s.Location.Range,
				name: *s.Location.Range,
			},
		)
	}
	return all, nil
}

// at is a place in the project, or outside of it.
type place struct {
	path   string
	inside bool
	at     workspace.Location
	// span is the name at the place, and whole what is there, if the server tells; otherwise they
	// are the same.
	span, whole lsp.Range
}

// places decodes an answer with locations: one, several, links, or none.
func (l *link) places(raw json.RawMessage) ([]place, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if raw[0] == '{' {
		raw = append(append([]byte{'['}, raw...), ']')
	}
	var found []struct {
		lsp.Location
		lsp.LocationLink
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("the answer with locations is malformed: %w", err)
	}
	var all []place
	for i := range found {
		f := &found[i]
		p := place{span: f.Location.Range, whole: f.Location.Range}
		uri := f.URI
		if f.TargetURI != "" {
			uri, p.span, p.whole = f.TargetURI, f.TargetSelectionRange, f.TargetRange
		}
		if len(all) == maxSymbols {
			break
		}
		if q, err := l.place(uri, p.span); err == nil {
			q.whole = p.whole
			all = append(all, q)
		}
	}
	return all, nil
}

// place returns the place that a server names. A name that is not a file's is an error.
func (l *link) place(uri string, span lsp.Range) (place, error) {
	at, err := l.guest.view.locate(uri)
	if err == nil {
		return place{path: at.Path, inside: true, at: at, span: span, whole: span}, nil
	}
	if at.Path == "" {
		return place{}, err
	}
	return place{path: at.Path, span: span, whole: span}, nil
}

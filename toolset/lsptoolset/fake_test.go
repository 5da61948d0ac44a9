// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
)

// fakeServer is a language server for a toy language, in this process. "def NAME" defines a name,
// every other word NAME refers to it, and "BAD" is an error. mode makes it misbehave.
func fakeServer(mode string) {
	f := &fake{mode: mode, docs: map[string]string{}, versions: map[string]int32{}, out: os.Stdout}
	f.misbehave()
	if file, ok := strings.CutPrefix(mode, "writes to "); ok {
		_ = os.WriteFile(file, nil, 0o644)
	}
	f.conn = lsp.NewConn(stdio{}, f, lsp.Limits{})
	<-f.conn.Done()
	if mode == "ignores the end" {
		select {}
	}
	os.Exit(0)
}

type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) Close() error                { return os.Stdin.Close() }

type fake struct {
	mode string
	conn *lsp.Conn
	out  io.Writer

	mu       sync.Mutex
	root     string
	docs     map[string]string
	versions map[string]int32
}

// misbehave does what a server does that never speaks the protocol.
func (f *fake) misbehave() {
	forever := func(text string) {
		for {
			if _, err := io.WriteString(f.out, text); err != nil {
				os.Exit(0)
			}
		}
	}
	switch f.mode {
	case "exits at once":
		fmt.Fprintln(os.Stderr, "fake: no license")
		os.Exit(3)
	case "never answers":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "never reads":
		select {}
	case "prints garbage":
		forever("Welcome to the fake language server!\n")
	case "prints an endless line":
		forever("x")
	case "announces a huge message":
		fmt.Fprint(f.out, "Content-Length: 99999999999\r\n\r\n")
	case "announces a negative length":
		fmt.Fprint(f.out, "Content-Length: -5\r\n\r\n")
	case "announces no length":
		fmt.Fprint(f.out, "Content-Type: text\r\n\r\n{}")
	case "announces more than it sends":
		fmt.Fprint(f.out, "Content-Length: 1000000\r\n\r\n{")
	case "sends no JSON":
		fmt.Fprint(f.out, "Content-Length: 5\r\n\r\nhello")
	case "floods with notifications":
		body := `{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":4,"message":"x"}}`
		forever(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
	case "floods with requests":
		body := `{"jsonrpc":"2.0","id":1,"method":"workspace/configuration","params":{"items":[{"section":"a"}]}}`
		forever(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
	case "floods with answers":
		body := `{"jsonrpc":"2.0","id":424242,"result":null}`
		forever(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
	case "floods its errors":
		go func() {
			for {
				if _, err := fmt.Fprintln(os.Stderr, strings.Repeat("error ", 1000)); err != nil {
					return
				}
			}
		}()
	case "ignores the end":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	case "leaves a child":
		child := exec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Start()
	case "eats memory":
		go func() {
			var all [][]byte
			for {
				block := make([]byte, 16<<20)
				for i := range block {
					block[i] = byte(i)
				}
				all = append(all, block)
				time.Sleep(5 * time.Millisecond)
				_ = all
			}
		}()
	}
}

// Request implements [lsp.Handler].
func (f *fake) Request(method string, params json.RawMessage) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mode == "as written" {
		return f.asWritten(method, params)
	}
	if method == "initialize" {
		if f.mode == "counts in another encoding" {
			return map[string]any{"capabilities": map[string]any{"positionEncoding": "utf-32"}}, nil
		}
		var p struct {
			RootURI string `json:"rootUri"`
		}
		_ = json.Unmarshal(params, &p)
		f.root, _ = lsp.Path(p.RootURI)
		capabilities := map[string]any{
			"textDocumentSync": 2, "hoverProvider": true, "definitionProvider": true, "referencesProvider": true, "documentSymbolProvider": true,
			"workspaceSymbolProvider": true, "renameProvider": true, "documentFormattingProvider": true,
			"codeActionProvider": map[string]any{
				"resolveProvider": true,
			}, "executeCommandProvider": map[string]any{"commands": []string{"fake.apply"}},
		}
		switch f.mode {
		case "utf-8":
			capabilities["positionEncoding"] = "utf-8"
		case "knows calls":
			capabilities["callHierarchyProvider"] = true
		case "is asked for diagnostics":
			capabilities["diagnosticProvider"] = map[string]any{"interFileDependencies": true}
		}
		return map[string]any{"capabilities": capabilities}, nil
	}
	if method == "shutdown" {
		return nil, nil
	}
	switch f.mode {
	case "exits when asked":
		os.Exit(7)
	case "exits when it renames":
		if method == "textDocument/rename" {
			os.Exit(9)
		}
	case "hangs when asked":
		select {}
	case "answers with errors":
		return nil, fmt.Errorf("internal error: \x1b[31mred\x1b[0m")
	case "answers with other types":
		return map[string]any{"uri": 12, "range": "x", "location": []int{1}}, nil
	case "answers with numbers":
		return []int{1, 2, 3}, nil
	case "answers with nothing":
		return nil, nil
	}
	var at struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
		Position lsp.Position `json:"position"`
		NewName  string       `json:"newName"`
		Query    string       `json:"query"`
	}
	_ = json.Unmarshal(params, &at)
	uri := at.TextDocument.URI
	switch method {
	case "textDocument/documentSymbol":
		if f.mode == "plays the text" {
			return f.written(uri, "symbol "), nil
		}
		all := []lsp.DocumentSymbol{}
		for _, d := range definitions(f.docs[uri]) {
			if f.mode == "places symbols outside" {
				d.r.Start.Line += 10_000
				d.r.End.Line += 10_000
			}
			kind := lsp.SymbolFunction
			if strings.HasPrefix(d.name, "T") {
				kind = lsp.SymbolClass
			}
			all = append(
				all,
				lsp.DocumentSymbol{
					Name:           d.name,
					Kind:           kind,
					Range:          d.line,
					SelectionRange: d.r,
				},
			)
		}
		return all, nil
	case "workspace/symbol":
		var all []map[string]any
		for u, text := range f.files() {
			for _, d := range definitions(text) {
				if strings.Contains(d.name, at.Query) {
					all = append(
						all,
						map[string]any{
							"name":     d.name,
							"kind":     12,
							"location": map[string]any{"uri": u, "range": d.r},
						},
					)
				}
			}
		}
		return all, nil
	case "textDocument/diagnostic":
		if strings.Contains(f.docs[uri], "HANGS") {
			select {}
		}
		all := []lsp.Diagnostic{}
		for _, r := range occurrences(f.docs[uri], "BAD") {
			all = append(all, lsp.Diagnostic{Range: r, Severity: lsp.SeverityError, Message: "BAD is bad", Source: "fake"})
		}
		return map[string]any{"kind": "full", "items": all}, nil
	case "textDocument/hover":
		if f.mode == "plays the text" {
			if all := f.written(uri, "hover "); len(all) > 0 {
				return map[string]any{"contents": all[0]}, nil
			}
			return nil, nil
		}
		return map[string]any{
			"contents": map[string]string{
				"kind":  "plaintext",
				"value": fmt.Sprintf("%q", f.docs[uri]),
			},
		}, nil
	case "textDocument/definition", "textDocument/references":
		var all []lsp.Location
		name := wordAt(f.docs[uri], at.Position, f.mode == "utf-8")
		for u, text := range f.files() {
			for _, r := range occurrences(text, name) {
				isDef := strings.HasPrefix(lineOf(text, r), "def "+name)
				if isDef == (method == "textDocument/definition") {
					if f.mode == "places symbols outside" {
						u, r.Start.Line, r.End.Line = "file:///etc/passwd", 4_000_000_000, 4_000_000_000
					}
					all = append(all, lsp.Location{URI: u, Range: r})
				}
			}
		}
		return all, nil
	case "textDocument/prepareCallHierarchy":
		line := strings.Split(f.docs[uri], "\n")[at.Position.Line]
		name := line[strings.LastIndexByte(line[:at.Position.Character], ' ')+1:]
		if strings.HasPrefix(name, "T") {
			return nil, errors.New("not a function")
		}
		return []lsp.CallHierarchyItem{{Name: name, URI: uri}}, nil
	case "callHierarchy/incomingCalls":
		var p struct{ Item lsp.CallHierarchyItem }
		_ = json.Unmarshal(params, &p)
		var all []lsp.CallHierarchyIncomingCall
		for _, r := range occurrences(f.docs[p.Item.URI], p.Item.Name) {
			call := lsp.CallHierarchyIncomingCall{From: p.Item, FromRanges: []lsp.Range{r}}
			all = append(all, call)
		}
		return all, nil
	case "textDocument/rename":
		return f.rename(uri, wordAt(f.docs[uri], at.Position, f.mode == "utf-8"), at.NewName), nil
	case "textDocument/formatting":
		t := lsp.NewText(f.docs[uri], lsp.EndsCR)
		return []lsp.TextEdit{
			{Range: lsp.Range{End: t.End(f.encoding())}, NewText: f.docs[uri] + "# formatted\n"},
		}, nil
	case "textDocument/codeAction":
		if f.mode == "fixes the range" {
			var p lsp.CodeActionParams
			_ = json.Unmarshal(params, &p)
			all := []any{map[string]any{"title": "Sort", "kind": "source"}}
			for range p.Context.Diagnostics {
				changes := map[string]any{uri: []lsp.TextEdit{{Range: p.Range}}}
				all = append(all, map[string]any{
					"title": "Remove", "kind": "quickfix.remove", "edit": map[string]any{"changes": changes},
				})
			}
			return all, nil
		}
		kind := "quickfix"
		if f.mode == "moves code" {
			kind = "refactor.move.newFile"
		}
		return []any{
			map[string]any{
				"title": "Apply by command",
				"kind":  kind,
				"command": map[string]any{
					"title":     "x",
					"command":   "fake.apply",
					"arguments": []string{uri},
				},
			},
			map[string]any{"title": "Format all", "kind": "source.fixAll", "data": uri},
		}, nil
	case "codeAction/resolve":
		var p struct {
			Data string `json:"data"`
		}
		_ = json.Unmarshal(params, &p)
		return map[string]any{
			"title": "Format all",
			"edit":  map[string]any{"changes": map[string]any{p.Data: []any{}}},
		}, nil
	case "workspace/executeCommand":
		var p struct {
			Arguments []string `json:"arguments"`
		}
		_ = json.Unmarshal(params, &p)
		return nil, callLater(f.conn, insertAtTop(p.Arguments[0], "# by command\n"))
	}
	return nil, lsp.ErrNotSupported
}

// Notify implements [lsp.Handler].
func (f *fake) Notify(method string, params json.RawMessage) {
	if method == "exit" && f.mode != "ignores the end" {
		os.Exit(0)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mode == "as written" {
		f.noted(method, params)
		return
	}
	if f.mode == "hangs when told" {
		select {}
	}
	var p struct {
		TextDocument   lsp.TextDocumentItem `json:"textDocument"`
		ContentChanges []struct {
			Text string `json:"text"`
		} `json:"contentChanges"`
	}
	_ = json.Unmarshal(params, &p)
	uri := p.TextDocument.URI
	switch method {
	case "textDocument/didOpen":
		f.docs[uri] = p.TextDocument.Text
	case "textDocument/didChange":
		f.docs[uri] = p.ContentChanges[len(p.ContentChanges)-1].Text
	case "textDocument/didClose":
		delete(f.docs, uri)
		return
	default:
		return
	}
	f.versions[uri] = p.TextDocument.Version
	f.publish(uri)
	switch f.mode {
	case "exits when told of BAD":
		if strings.Contains(f.docs[uri], "BAD") {
			os.Exit(9)
		}
	case "edits unasked":
		go func() { _ = callNow(f.conn, insertAtTop(uri, "# unasked\n")) }()
	case "never finishes":
		f.tell(
			"$/progress",
			map[string]any{
				"token": uri,
				"value": map[string]string{"kind": "begin", "title": "working"},
			},
		)
	}
}

func (f *fake) tell(method string, params any) { _ = f.conn.Notify(contextForever, method, params) }

// publish publishes the errors of a document.
func (f *fake) publish(uri string) {
	all := []lsp.Diagnostic{}
	for _, r := range occurrences(f.docs[uri], "BAD") {
		all = append(
			all,
			lsp.Diagnostic{
				Range:    r,
				Severity: lsp.SeverityError,
				Message:  "BAD is bad",
				Source:   "fake",
			},
		)
	}
	if f.mode == "publishes a lot" {
		for i := range 20_000 {
			all = append(
				all,
				lsp.Diagnostic{Severity: lsp.SeverityError, Message: fmt.Sprint("number ", i)},
			)
		}
	}
	if f.mode == "publishes slowly" {
		time.Sleep(500 * time.Millisecond)
	}
	if f.mode == "plays the text" {
		f.tell("textDocument/publishDiagnostics", map[string]any{
			"uri": uri, "version": f.versions[uri], "diagnostics": f.written(uri, "problem "),
		})
		return
	}
	version := f.versions[uri]
	if f.mode == "publishes without version" {
		version = 0
	}
	if f.mode != "publishes nothing" && f.mode != "is asked for diagnostics" {
		f.tell(
			"textDocument/publishDiagnostics",
			lsp.PublishDiagnosticsParams{URI: uri, Version: version, Diagnostics: all},
		)
	}
}

// written returns what the lines of a document that begin with a word have behind it, as JSON.
func (f *fake) written(uri, word string) []json.RawMessage {
	all := []json.RawMessage{}
	for line := range strings.Lines(f.docs[uri]) {
		if text, ok := strings.CutPrefix(line, word); ok {
			all = append(all, json.RawMessage(text))
		}
	}
	return all
}

func (f *fake) encoding() lsp.Encoding {
	if f.mode == "utf-8" {
		return lsp.UTF8
	}
	return lsp.UTF16
}

// rename renames a word in all files.
func (f *fake) rename(uri, name, to string) any {
	changes := map[string][]lsp.TextEdit{}
	for u, text := range f.files() {
		for _, r := range occurrencesIn(text, name, f.encoding()) {
			changes[u] = append(changes[u], lsp.TextEdit{Range: r, NewText: to})
		}
	}
	switch f.mode {
	case "renames as written":
		data, _ := os.ReadFile(filepath.Join(f.root, "edit.json"))
		return json.RawMessage(strings.ReplaceAll(string(data), "ROOT", string(lsp.URI(f.root))))
	case "edits an old version":
		return map[string]any{"documentChanges": []any{map[string]any{
			"textDocument": map[string]any{"uri": uri, "version": f.versions[uri] + 1},
			"edits":        changes[uri],
		}}}
	case "moves the directory":
		old, _ := lsp.Path(uri)
		return map[string]any{"documentChanges": []any{
			map[string]any{
				"textDocument": map[string]any{"uri": uri, "version": nil}, "edits": changes[uri],
			},
			map[string]any{
				"kind": "rename", "oldUri": uri,
				"newUri": lsp.URI(filepath.Join(f.root, to, filepath.Base(old))),
			},
			map[string]any{"kind": "delete", "uri": lsp.URI(filepath.Dir(old))},
		}}
	case "edits overlap":
		changes[uri] = append(changes[uri], changes[uri]...)
		changes[uri][0].Range.End.Line++
	case "edits other projects":
		changes["file:///etc/passwd"] = []lsp.TextEdit{{NewText: "root::0:0\n"}}
	case "renames the file":
		old, _ := lsp.Path(uri)
		return map[string]any{
			"documentChanges": []any{
				map[string]any{
					"textDocument": map[string]any{"uri": uri, "version": nil},
					"edits":        changes[uri],
				},
				map[string]any{
					"kind":         "rename",
					"oldUri":       uri,
					"newUri":       lsp.URI(filepath.Join(filepath.Dir(old), to+".toy")),
					"annotationId": "note",
				},
				map[string]any{
					"kind": "create",
					"uri":  lsp.URI(filepath.Join(filepath.Dir(old), "new", "notes.toy")),
				},
				map[string]any{
					"textDocument": map[string]any{
						"uri": lsp.URI(filepath.Join(filepath.Dir(old), "new", "notes.toy")),
					},
					"edits": []any{map[string]any{
						"range": lsp.Range{}, "newText": "# notes\n",
					}},
				},
				map[string]any{
					"kind":    "delete",
					"uri":     lsp.URI(filepath.Join(f.root, "old.toy")),
					"options": map[string]bool{"ignoreIfNotExists": true},
				},
			},
			"changeAnnotations": map[string]any{
				"note": map[string]any{
					"label":             "Moves the file",
					"needsConfirmation": true,
					"description":       "because",
				},
			},
		}
	}
	return map[string]any{"changes": changes}
}

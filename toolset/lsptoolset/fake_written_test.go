// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
)

// The mode "as written": the fake server answers as the file answers.json of the project says, and
// writes to heard.txt what it is told. Keys of the file are methods, such as "textDocument/hover",
// with a file and a position behind it, "textDocument/hover a.toy 3:4", or with neither. Answers of
// the form {"fails": "because"} are errors. In them, ROOT is the URI of the project.
//
//   - "capabilities" is what the server can do, everything by default,
//   - "edits" are those that it asks for when it runs a command,
//   - "publishes" are the problems of a document that is opened or changed, and
//   - "progress" are its reports of work then.

func (f *fake) asWritten(method string, params json.RawMessage) (any, error) {
	if method == "initialize" {
		var p struct {
			RootURI string `json:"rootUri"`
		}
		_ = json.Unmarshal(params, &p)
		f.root, _ = lsp.Path(p.RootURI)
	}
	f.noted(method, params)
	var p struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
		Position lsp.Position `json:"position"`
	}
	_ = json.Unmarshal(params, &p)
	switch method {
	case "initialize":
		var can map[string]any
		if json.Unmarshal(f.answer("capabilities"), &can) != nil || can == nil {
			can = map[string]any{}
			for _, ability := range strings.Fields("hover definition references documentSymbol workspaceSymbol rename documentFormatting " +
				"codeAction callHierarchy implementation typeDefinition") {
				can[ability+"Provider"] = true
			}
		}
		return map[string]any{"capabilities": can}, nil
	case "shutdown":
		return nil, nil
	case "workspace/executeCommand":
		var edits []lsp.ApplyWorkspaceEditParams
		_ = json.Unmarshal(f.answer("edits"), &edits)
		for _, edit := range edits {
			_ = callLater(f.conn, edit)
		}
	}
	name := strings.TrimPrefix(p.TextDocument.URI, string(lsp.URI(f.root))+"/")
	key := fmt.Sprintf("%s %s", method, name)
	answer := f.answer(fmt.Sprintf("%s %d:%d", key, p.Position.Line, p.Position.Character), key, method)
	var failure struct {
		Fails string `json:"fails"`
	}
	if _ = json.Unmarshal(answer, &failure); failure.Fails != "" {
		return nil, errors.New(failure.Fails)
	}
	return answer, nil
}

// answer returns what the file says of the first of keys that it has.
func (f *fake) answer(keys ...string) json.RawMessage {
	data, _ := os.ReadFile(filepath.Join(f.root, "answers.json"))
	data = bytes.ReplaceAll(data, []byte("ROOT"), []byte(lsp.URI(f.root)))
	var all map[string]json.RawMessage
	_ = json.Unmarshal(data, &all)
	for _, key := range keys {
		if answer, ok := all[key]; ok {
			return answer
		}
	}
	return json.RawMessage("null")
}

// noted takes what the server is told or asked, and publishes what is written.
func (f *fake) noted(method string, params json.RawMessage) {
	if method == "exit" {
		os.Exit(0)
	}
	to, err := os.OpenFile(filepath.Join(f.root, "heard.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	text := strings.ReplaceAll(string(params), string(lsp.URI(f.root)), "ROOT")
	fmt.Fprintf(to, "%s %s\n", method, strings.ReplaceAll(text, f.root, "DIR"))
	_ = to.Close()
	if method != "textDocument/didOpen" && method != "textDocument/didChange" {
		return
	}
	var p struct {
		TextDocument lsp.TextDocumentItem `json:"textDocument"`
	}
	_ = json.Unmarshal(params, &p)
	var reports []any
	_ = json.Unmarshal(f.answer("progress"), &reports)
	for _, report := range reports {
		f.tell("$/progress", report)
	}
	name := strings.TrimPrefix(p.TextDocument.URI, string(lsp.URI(f.root))+"/")
	if problems := f.answer("publishes "+name, "publishes"); string(problems) != "null" {
		f.tell("textDocument/publishDiagnostics", map[string]any{
			"uri": p.TextDocument.URI, "version": p.TextDocument.Version, "diagnostics": problems,
		})
	}
}

// newWritten returns a bench whose server answers as written.
func newWritten(t *testing.T, c func(*lsptoolset.Config), o lsptoolset.Options, answers string, project files) *bench {
	config := fakeConfig(t, "as written")
	if c != nil {
		c(&config)
	}
	all := files{"answers.json": answers}
	for name, text := range project {
		all[name] = text
	}
	return newBench(t, config, o, all)
}

// heard returns what the server was told or asked since the last time: lines that begin with one of
// these texts.
func (b *bench) heard(methods ...string) (lines []string) {
	name := filepath.Join(b.dir, "heard.txt")
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(b, err)
	require.NoError(b, os.Remove(name))
	for line := range strings.Lines(string(data)) {
		for _, m := range methods {
			if strings.HasPrefix(line, m) {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return lines
}

// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Editor is a fake of a user's editor: it shows files of a disk as text, and saves text to them, as real ones do. Methods are safe for concurrent
// use.
type Editor struct {
	// Name describes the editor.
	Name string
	// Disk is where the files are.
	Disk Disk
	// Show makes text of what is on disk. An error refuses the file. Nil shows it as it is.
	Show func(data []byte) (string, error)
	// Save converts text for the disk. Nil saves it unchanged.
	Save func(text string) string
	// Blank shows a missing file as empty text.
	Blank bool
	// Lazy keeps what is written in the buffer, and does not save it.
	Lazy bool

	mu      sync.Mutex
	buffers map[string]string // text that is not saved
}

// Editors returns a fake of each kind: faithful, lossy in one way or another, and formatting.
func Editors() []*Editor {
	return []*Editor{
		{Name: "faithful"},
		{Name: "replaces what is not UTF-8", Show: replacing}, // Node.js: acpx, the TypeScript SDK; Python's errors="replace"
		{Name: "drops what is not UTF-8", Show: dropping, Blank: true},
		{Name: "has line feeds", Show: lineFeeds, Save: toLineFeeds, Blank: true},
		{Name: "has no byte order mark", Show: unmarked},
		{Name: "ends every file with a newline", Show: ended, Save: withNewline},
		{Name: "refuses what is not UTF-8", Show: strict},
		{Name: "formats when it saves", Show: strict, Save: formatted, Blank: true},
		{Name: "does not save", Lazy: true},
	}
}

// ErrNotUTF8 is the error of an editor that refuses other encodings.
var ErrNotUTF8 = errors.New("stream did not contain valid UTF-8")

func replacing(data []byte) (string, error) { return strings.ToValidUTF8(string(data), "\ufffd"), nil }

func dropping(data []byte) (string, error) { return strings.ToValidUTF8(string(data), ""), nil }

func lineFeeds(data []byte) (string, error) {
	text, _ := replacing(data)
	return toLineFeeds(text), nil
}

func toLineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func unmarked(data []byte) (string, error) {
	return replacing(bytes.TrimPrefix(data, []byte("\ufeff")))
}

func ended(data []byte) (string, error) {
	text, _ := replacing(data)
	return withNewline(text), nil
}

func withNewline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func strict(data []byte) (string, error) {
	if !utf8.Valid(data) {
		return "", ErrNotUTF8
	}
	return string(data), nil
}

// formatted removes blanks at the ends of lines, and adds a final newline.
func formatted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		body := strings.TrimRight(line, "\r\n")
		lines[i] = strings.TrimRight(body, " \t") + line[len(body):]
	}
	return withNewline(strings.Join(lines, ""))
}

// Read returns the text that the editor has of a file. A missing file is fs.ErrNotExist, unless the editor is Blank.
func (e *Editor) Read(path string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if text, ok := e.buffers[path]; ok {
		return text, nil
	}
	data, err := e.Disk.ReadFile(path)
	switch {
	case missing(err) && e.Blank:
		return "", nil
	case missing(err):
		return "", fmt.Errorf("no such file: %s: %w", path, fs.ErrNotExist)
	case err != nil:
		return "", err
	case e.Show == nil:
		return string(data), nil
	}
	return e.Show(data)
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrNotDirectory)
}

// Write puts text into a file, and saves it.
func (e *Editor) Write(path, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Lazy {
		e.put(path, text)
		return nil
	}
	mode := fs.FileMode(0o644)
	if was, err := e.Disk.Mode(path); err == nil && was.IsRegular() {
		mode = was.Perm()
	}
	saved := text
	if e.Save != nil {
		saved = e.Save(text)
	}
	if err := e.Disk.WriteFile(path, []byte(saved), mode); err != nil {
		return err
	}
	delete(e.buffers, path)
	return nil
}

// Type has the user type: the editor has the text, and has not saved it.
func (e *Editor) Type(path, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(path, text)
}

// put has text in the buffer of a file. What is on disk is saved, and read again when the disk changes.
func (e *Editor) put(path, text string) {
	if data, err := e.Disk.ReadFile(path); err == nil && e.shows(data, text) {
		delete(e.buffers, path)
		return
	}
	if e.buffers == nil {
		e.buffers = map[string]string{}
	}
	e.buffers[path] = text
}

// shows reports whether text is how contents are shown.
func (e *Editor) shows(data []byte, text string) bool {
	if e.Show == nil {
		return string(data) == text
	}
	shown, err := e.Show(data)
	return err == nil && shown == text
}

// SaveAll has the user save what was typed.
func (e *Editor) SaveAll() error {
	e.mu.Lock()
	typed := e.buffers
	e.buffers = nil
	lazy := e.Lazy
	e.Lazy = false
	e.mu.Unlock()
	defer func() { e.Lazy = lazy }()
	for path, text := range typed {
		if err := e.Write(path, text); err != nil {
			return err
		}
	}
	return nil
}

// Unsaved reports whether the editor has text of a file that is not saved.
func (e *Editor) Unsaved(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.buffers[path]
	return ok
}

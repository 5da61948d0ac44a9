// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// Editor is a fake of a user's editor: it shows files of a disk as text, and saves text to them,
// as real ones do. Methods are safe for concurrent use.
type Editor struct {
	// Name describes the editor.
	Name string
	// Disk is where the files are.
	Disk workspacetest.Disk
	// Show makes text of what is on disk. An error refuses the file. Nil shows it as it is.
	Show func(data []byte) (string, error)
	// Save converts text for the disk. Nil saves it unchanged.
	Save func(text string) string
	// Keeps saves with the encoding, the byte order mark and the line endings that the file has on
	// disk.
	Keeps bool
	// Blank shows a missing file as empty text.
	Blank bool
	// Lazy keeps what is written in the buffer, and does not save it.
	Lazy bool
	// Dirty keeps text that it could not save in the buffer.
	Dirty bool
	// Strict refuses to read lines after the end of a file, with ErrBeyondEnd. Otherwise there are
	// none.
	Strict bool

	mu      sync.Mutex
	buffers map[string]string // text that is not saved
}

// Editors returns a fake of each kind: faithful, lossy in one way or another, and formatting. The
// last ones are written from the sources of handlers that are in use:
//
//   - acpx 0.19.1 (Node.js) decodes as the second one does.
//   - toad 0.6.20, toad/acp/agent.py, lines 421-452: read_text(encoding="utf-8", errors="ignore"), which also makes line feeds of all line
//     endings; an error is the empty text; write_text writes what was sent.
//   - CodeCompanion (Neovim), lua/codecompanion/interactions/chat/acp/fs.lua at 4c05831, read_text_file and write_text_file: line feeds of all
//     line endings, by the fourth one.
//   - Zed, crates/acp_thread/src/acp_thread.rs at 00293ca, read_text_file and write_text_file: open_buffer, which makes an empty buffer for a missing
//     file and has line feeds; format on save; save_buffer, which restores the line endings, and leaves the text in the buffer if it fails. Lines after the end are
//     "Invalid params".
//   - agent-shell (Emacs), agent-shell-fs.el, agent-shell--on-fs-read-text-file-request and the one for writing: insert-file-contents and
//     basic-save-buffer, which detect and keep the coding system.
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
		{Name: "toad", Show: universal, Blank: true},
		{Name: "Zed", Show: ofZed, Save: formatted, Keeps: true, Blank: true, Dirty: true, Strict: true},
		{Name: "agent-shell", Show: ofEmacs, Keeps: true, Dirty: true},
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

func toLineFeeds(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

func universal(data []byte) (string, error) {
	text, _ := dropping(data)
	return toLineFeeds(text), nil
}

func ofZed(data []byte) (string, error) {
	text, err := strict(data)
	return strings.ReplaceAll(text, "\r\n", "\n"), err
}

// ofEmacs shows text in the encoding that is detected, and line feeds if all lines end in the
// same other way.
func ofEmacs(data []byte) (string, error) {
	text, ok := workspace.DecodeText(data)
	if !ok {
		return "", ErrNotUTF8
	}
	shown := strings.TrimPrefix(string(text.Data), "\ufeff")
	if inDOS(shown) {
		shown = strings.ReplaceAll(shown, "\r\n", "\n")
	}
	return shown, nil
}

// inDOS reports whether all lines of a text end in CRLF.
func inDOS(text string) bool {
	n := strings.Count(text, "\r\n")
	return n == strings.Count(text, "\n") && n == strings.Count(text, "\r")
}

// kept returns text as an editor saves it that keeps what a file has.
func kept(disk []byte, text string) string {
	was, ok := workspace.DecodeText(disk)
	if !ok {
		return text
	}
	old := string(was.Data)
	if strings.HasPrefix(old, "\ufeff") && !strings.HasPrefix(text, "\ufeff") {
		text = "\ufeff" + text
	}
	if strings.Contains(old, "\r\n") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	if data, err := was.Encode([]byte(text)); err == nil {
		return string(data)
	}
	return text
}

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

// Read returns the text that the editor has of a file. A missing file is fs.ErrNotExist, unless
// the editor is Blank.
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

// ErrBeyondEnd is the error of an editor that refuses to read lines after the end of a file.
var ErrBeyondEnd = errors.New("attempting to read beyond the end of the file")

// ReadLines returns lines of the text that the editor has of a file, from the given one, counted
// from 1, and at most limit of them. Zero is the first line, and no limit.
func (e *Editor) ReadLines(path string, line, limit int) (string, error) {
	text, err := e.Read(path)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	skipped := max(line-1, 0)
	if e.Strict && skipped >= len(lines) {
		return "", ErrBeyondEnd
	}
	lines = lines[min(skipped, len(lines)):]
	if limit > 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return strings.Join(lines, ""), nil
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
	if err := e.Disk.WriteFile(path, []byte(e.saved(path, text)), mode); err != nil {
		if e.Dirty {
			e.put(path, text)
		}
		return err
	}
	delete(e.buffers, path)
	return nil
}

// saved returns text as it is saved.
func (e *Editor) saved(path, text string) string {
	disk, err := e.Disk.ReadFile(path)
	if err != nil {
		disk = nil
	}
	return e.savedOver(disk, err == nil, text)
}

// savedOver returns what a save of text writes over what is on disk.
func (e *Editor) savedOver(disk []byte, exists bool, text string) string {
	if e.Save != nil {
		text = e.Save(text)
	}
	if e.Keeps && exists {
		text = kept(disk, text)
	}
	return text
}

// Type has the user type: the editor has the text, and has not saved it.
func (e *Editor) Type(path, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(path, text)
}

// put has text in the buffer of a file. What is on disk is saved, and read again when the disk
// changes.
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
	for _, path := range slices.Sorted(maps.Keys(typed)) {
		if err := e.Write(path, typed[path]); err != nil {
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

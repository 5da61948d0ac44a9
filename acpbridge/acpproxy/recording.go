// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Side is who a message is from.
type Side string

// The sides. The client is the editor.
const (
	FromClient Side = "client"
	FromAgent  Side = "agent"
)

// name is the name of a side in errors.
func (s Side) name() string {
	if s == FromClient {
		return "editor"
	}
	return string(s)
}

// Entry is a message in a recording. A recording is a file of such objects, one a line.
type Entry struct {
	// Millis is when the message passed, in milliseconds since the first one.
	Millis int64 `json:"ms"`
	// From is who wrote it.
	From Side `json:"from"`
	// Message is the message. Text is the line if it was not JSON. One of them is set.
	Message json.RawMessage `json:"message,omitempty"`
	Text    string          `json:"text,omitempty"`
}

// maxEntry is the longest line of a recording that is read.
const maxEntry = 256 << 20

// ReadRecording reads a recording. A last line that was cut off, such as by a crash, is left out.
func ReadRecording(r io.Reader) ([]Entry, error) {
	var all []Entry
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return nil, fmt.Errorf("acpproxy: recording, line %d: %w", n, err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("acpproxy: recording, line %d: %w", n, err)
		}
		if e.From != FromClient && e.From != FromAgent || (e.Message == nil) == (e.Text == "") {
			return nil, fmt.Errorf("acpproxy: recording, line %d: it is not a message", n)
		}
		all = append(all, e)
	}
}

// readLine returns a line that has an end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxEntry:
			return nil, fmt.Errorf("it is longer than %d bytes", maxEntry)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return line, nil
		}
	}
}

// recorder writes a recording.
type recorder struct {
	redact *redactor

	mu    sync.Mutex
	w     io.Writer
	start time.Time
	ended bool
}

func newRecorder(w io.Writer, secrets []string) *recorder {
	all := slices.Clone(secrets)
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); local.Secret(name) {
			all = append(all, value)
		}
	}
	return &recorder{w: w, redact: &redactor{hide.Replacer(redacted, all...)}}
}

// add writes an entry. It returns an error once, and writes nothing afterwards.
func (r *recorder) add(who Side, line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	now := time.Now()
	if r.start.IsZero() {
		r.start = now
	}
	e := Entry{Millis: now.Sub(r.start).Milliseconds(), From: who}
	if json.Valid(line) {
		e.Message = r.redact.json(line)
	} else {
		e.Text = r.redact.secrets.Replace(strings.ToValidUTF8(string(line), "\uFFFD"))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	if err == nil {
		_, err = r.w.Write(out.Bytes())
	}
	r.ended = err != nil
	return err
}

// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/wholefile"
	"github.com/ponte-go/ponte/toolset"
)

// Version is the version of the files that [Recording.Save] writes.
const Version = 1

// Recording is a session as a test needs it. [Make] makes one of a stored session.
type Recording struct {
	// Version is the version of the form: see the constant.
	Version int `json:"version"`
	// Session and Title name the session.
	Session string `json:"session"`
	Title   string `json:"title,omitempty"`
	// Notes say to people what is replayed, and what was left out.
	Notes []string `json:"notes,omitempty"`
	// Model describes the model that the agent had.
	Model model.Info `json:"model"`
	// Messages are the messages of the session. Turns refer to them by index, from 0.
	Messages []*model.Message `json:"messages"`
	// Files are the known contents of files.
	Files []File `json:"files,omitempty"`
	// Frames are what the model was sent besides messages. Steps refer to them by index.
	Frames []Frame `json:"frames,omitempty"`
	Turns  []Turn  `json:"turns"`
}

// Turn is one turn of a session.
type Turn struct {
	// ID is the id of the turn in its session.
	ID string `json:"id"`
	// Before is the history that the turn began with. Prompt is the input of the user. If it is
	// empty, the turn resumed pending calls, with Answers.
	Before  []int                   `json:"before,omitempty"`
	Prompt  []model.Part            `json:"prompt,omitempty"`
	Answers toolset.DeferredResults `json:"answers,omitzero"`
	// Messages are the messages of the turn. Summaries are texts of summaries that the history got
	// in the turn.
	Messages  []int    `json:"messages"`
	Summaries []string `json:"summaries,omitempty"`
	// Reason is why the turn ended, as in package transcript.
	Reason string `json:"reason"`
	// Decisions are the decisions about calls.
	Decisions []Decided `json:"decisions,omitempty"`
	// Files are indexes of what files held when the turn began.
	Files []int `json:"files,omitempty"`
	// Checked has the additions of [Fill]; nil without it.
	Checked *Checked `json:"checked,omitempty"`
}

// Decided is a decision about a call.
type Decided struct {
	// Step and Call name the call, and Decision is the decision.
	Step     int            `json:"step"`
	Call     string         `json:"call"`
	Decision model.Decision `json:"decision"`
}

// Checked has the parts of a turn that sessions do not keep. A replay is compared with it, too.
type Checked struct {
	// Steps has the index of the frame of each request.
	Steps []int `json:"steps,omitempty"`
	// Ran are the ids of the calls that were carried out, by step. Own are those whose tools asked
	// for approval while they ran, and Asked those that somebody was asked about before.
	Ran   [][]string `json:"ran,omitempty"`
	Own   [][]string `json:"own,omitempty"`
	Asked []PastCall `json:"asked,omitempty"`
	// Output is the output, as JSON. End describes how the run ended without one.
	Output json.RawMessage `json:"output,omitempty"`
	End    string          `json:"end,omitempty"`
}

// Frame has the parts of a request besides messages.
type Frame struct {
	// Agent is the agent that sent it.
	Agent        string              `json:"agent,omitempty"`
	Instructions string              `json:"instructions,omitempty"`
	Tools        []model.ToolDef     `json:"tools,omitempty"`
	ToolChoice   model.ToolChoice    `json:"tool_choice,omitzero"`
	Output       *model.OutputSchema `json:"output,omitempty"`
	Settings     json.RawMessage     `json:"settings,omitempty"`
}

// File has the contents of a file.
type File struct {
	// Path is absolute.
	Path string `json:"path"`
	// Text is the content if that is UTF-8, Data otherwise.
	Text string `json:"text,omitempty"`
	Data []byte `json:"data,omitempty"`
}

func (f *File) bytes() []byte {
	if f.Data != nil {
		return f.Data
	}
	return []byte(f.Text)
}

// Load reads a recording.
func Load(file string) (*Recording, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	r := new(Recording)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("replay: %s: %w", file, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("replay: %s: %w", file, err)
	}
	return r, nil
}

// check finds what cannot be replayed.
func (r *Recording) check() error {
	if r.Version < 1 || r.Version > Version {
		return fmt.Errorf("it has version %d, and this program reads 1 to %d", r.Version, Version)
	}
	if slices.Contains(r.Messages, nil) {
		return fmt.Errorf("a message is null")
	}
	outside := func(indexes []int, n int) bool {
		return slices.ContainsFunc(indexes, func(i int) bool { return i < 0 || i >= n })
	}
	for i := range r.Turns {
		t := &r.Turns[i]
		switch {
		case outside(t.Before, len(r.Messages)), outside(t.Messages, len(r.Messages)):
			return fmt.Errorf("turn %d names a message that is not there", i+1)
		case outside(t.Files, len(r.Files)):
			return fmt.Errorf("turn %d names a file that is not there", i+1)
		case t.Checked != nil && outside(t.Checked.Steps, len(r.Frames)):
			return fmt.Errorf("turn %d names a frame that is not there", i+1)
		}
	}
	return nil
}

// Save writes the recording to a file. An existing file is replaced as a whole.
func (r *Recording) Save(file string) error {
	data, err := r.encode()
	if err == nil {
		err = replaceFile(file, data)
	}
	if err != nil {
		return fmt.Errorf("replay: save %s: %w", file, err)
	}
	return nil
}

// encode returns the content of the file: JSON with a line for each message, file, frame and turn,
// which keeps diffs small.
func (r *Recording) encode() ([]byte, error) {
	r.Version = Version
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	depth, inString := 0, false
	data := bytes.TrimSpace(b.Bytes())
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case inString && c == '\\':
			out.WriteByte(c)
			i++
			c = data[i]
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			if depth--; depth < 2 && data[i-1] != '[' {
				out.WriteByte('\n')
			}
		}
		out.WriteByte(c)
		if opens := c == '{' || c == '['; !inString && (depth == 1 && (c == '{' || c == ',') ||
			depth == 2 && (c == ',' || opens && data[i+1] != ']')) {
			out.WriteByte('\n')
		}
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func replaceFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return wholefile.Write(file, data, 0o600)
}

// messages returns messages by their indexes.
func (r *Recording) messages(indexes []int) []*model.Message {
	all := make([]*model.Message, len(indexes))
	for i, at := range indexes {
		all[i] = r.Messages[at].Clone()
	}
	return all
}

// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// logVersion is the version of the JSON form of [Log].
const logVersion = 1

// Log is the state of a recorder, as plain data. Its JSON form is kept: later versions of this
// package read it. The contents of files are not in it, only their hashes. See [Recorder.Content]
// and [Restore].
type Log struct {
	// Version is the version of this form, 1.
	Version int `json:"version"`
	// Checkpoints and Changes have the oldest first.
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	Changes     []Change     `json:"changes,omitempty"`
	// Commands are the last 100 started commands, the oldest first. Their changes are not recorded.
	Commands []Command `json:"commands,omitempty"`
	// Dropped describes what is no longer kept.
	Dropped Dropped `json:"dropped,omitzero"`
}

// Change is a change of a file that was made through a recorder.
type Change struct {
	// Checkpoint is the last one before the change.
	Checkpoint int `json:"checkpoint"`
	// Path is absolute and clean.
	Path string `json:"path"`
	// Before and After are the states of the file.
	Before State `json:"before"`
	After  State `json:"after"`
	// Unsure is set if the write ended with an error that leaves open whether the file was written,
	// such as a lost connection.
	Unsure bool `json:"unsure,omitempty"`

	kept bool // the contents are counted as used by the change
}

// State is the content of a file at one time.
type State struct {
	// Hash identifies the contents: "sha256:" and 64 hexadecimal digits. It is empty if there was
	// no file, or if its contents are unknown.
	Hash string `json:"hash,omitempty"`
	// Size is how many bytes the file had.
	Size int64 `json:"size,omitempty"`
	// Absent is set if the file did not exist.
	Absent bool `json:"absent,omitempty"`
	// Uncertain is set if the file was empty or missing, and the editor did not distinguish the
	// two.
	Uncertain bool `json:"uncertain,omitempty"`
	// Unknown says why the contents are unknown.
	Unknown string `json:"unknown,omitempty"`
}

func (s State) same(other State) bool {
	s.Uncertain, other.Uncertain = false, false
	return s.Unknown == "" && s == other
}

// Command is a command that was started through a recorder.
type Command struct {
	// Checkpoint is the last one before the command, 0 if there was none.
	Checkpoint int `json:"checkpoint,omitempty"`
	// Title is the command line, or the program with its arguments, cut at 200 bytes.
	Title string `json:"title"`
}

// Dropped describes what a log no longer has.
type Dropped struct {
	// Changes is how many changes were dropped. The last of them belonged to the checkpoint
	// Through.
	Changes int `json:"changes,omitempty"`
	Through int `json:"through,omitempty"`
}

// maxCommands is how many commands a log has.
const maxCommands = 100

func (l *Log) addCommand(c workspace.Command) {
	title := c.Line
	if title == "" {
		title = strings.Join(c.Args, " ")
	}
	if len(title) > 200 {
		end := 200
		for end > 0 && !utf8.RuneStart(title[end]) {
			end--
		}
		title = title[:end] + "…"
	}
	l.Commands = append(l.Commands, Command{l.last(), strings.ToValidUTF8(title, "�")})
	if extra := len(l.Commands) - maxCommands; extra > 0 {
		l.Commands = append([]Command(nil), l.Commands[extra:]...)
	}
}

// add adds a checkpoint.
func (l *Log) add(title, turn string, undo bool) Checkpoint {
	c := Checkpoint{ID: l.last() + 1, Title: title, Turn: turn, Time: time.Now().UTC(), Undo: undo}
	l.Checkpoints = append(l.Checkpoints, c)
	return c
}

// last returns the id of the last checkpoint, or 0.
func (l *Log) last() int {
	if len(l.Checkpoints) == 0 {
		return 0
	}
	return l.Checkpoints[len(l.Checkpoints)-1].ID
}

// lastOf returns the last change of a file since a checkpoint, or nil.
func (l *Log) lastOf(style workspace.Style, path string, checkpoint int) *Change {
	for i := len(l.Changes) - 1; i >= 0 && l.Changes[i].Checkpoint == checkpoint; i-- {
		if style.Fold(l.Changes[i].Path) == style.Fold(path) {
			return &l.Changes[i]
		}
	}
	return nil
}

// Log returns what the recorder knows, to be stored. The last changes may still grow while the
// checkpoint that they belong to is the last one.
func (r *Recorder) Log() Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.log
	l.Checkpoints, l.Changes, l.Commands = slices.Clone(l.Checkpoints), slices.Clone(l.Changes), slices.Clone(l.Commands)
	return l
}

// Content returns the contents with a hash that is in the log. ok is false if they are not kept.
func (r *Recorder) Content(hash string) (data []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.contents.byHash[hash]
	if kept == nil {
		return nil, false
	}
	return slices.Clone(kept.data), true
}

// ErrLog means that a stored log cannot be used: it is malformed, or of a newer version.
var ErrLog = errors.New("checkpoint: unusable log")

// Restore returns a recorder that continues a stored log. content returns stored contents by their
// hash; fs.ErrNotExist means that they are not kept, and that the changes they belong to cannot be
// undone. The newest contents are asked for first, up to the bound of the options.
func Restore(w workspace.Workspace, l Log, content func(hash string) ([]byte, error), o Options) (*Recorder, error) {
	if err := check(w, &o); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	r := New(w, o)
	r.log = l
	r.log.Checkpoints, r.log.Changes, r.log.Commands = slices.Clone(l.Checkpoints), slices.Clone(l.Changes), slices.Clone(l.Commands)
	for i := len(r.log.Changes) - 1; i >= 0; i-- {
		c := &r.log.Changes[i]
		c.kept = false
		before, err := r.load(c.Before, content)
		if err != nil {
			return nil, err
		}
		after, err := r.load(c.After, content)
		if err != nil {
			return nil, err
		}
		if before == nil || after == nil {
			continue
		}
		if c.kept = r.contents.fits(c.Before, c.After); c.kept {
			r.contents.add(c.Before, before)
			r.contents.add(c.After, after)
		}
		if r.contents.size > r.contents.max {
			r.contents.releaseChange(c)
			break
		}
	}
	r.bound()
	return r, nil
}

// load returns stored contents. They are nil if they are not kept.
func (r *Recorder) load(s State, content func(hash string) ([]byte, error)) ([]byte, error) {
	if s.Hash == "" {
		return []byte{}, nil
	}
	if kept := r.contents.byHash[s.Hash]; kept != nil {
		return kept.data, nil
	}
	data, err := content(s.Hash)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("checkpoint: contents %s: %w", s.Hash, err)
	case hashOf(data) != s.Hash:
		return nil, fmt.Errorf("%w: the contents %s have another hash", ErrLog, s.Hash)
	case data == nil:
		data = []byte{}
	}
	return data, nil
}

// check reports what is wrong with a log that was stored.
func (l *Log) check() error {
	if l.Version < 1 || l.Version > logVersion {
		return fmt.Errorf("%w: version %d; this program knows version %d", ErrLog, l.Version, logVersion)
	}
	last, at := 0, 1
	for _, c := range l.Checkpoints {
		if c.ID <= last {
			return fmt.Errorf("%w: checkpoint %d follows %d", ErrLog, c.ID, last)
		}
		last = c.ID
	}
	for _, c := range l.Changes {
		switch {
		case c.Path == "":
			return fmt.Errorf("%w: a change without a path", ErrLog)
		case c.Checkpoint < at || c.Checkpoint > last:
			return fmt.Errorf("%w: a change of checkpoint %d between %d and %d", ErrLog, c.Checkpoint, at, last)
		}
		at = c.Checkpoint
		for _, s := range []State{c.Before, c.After} {
			if states := count(s.Hash != "") + count(s.Absent) + count(s.Unknown != ""); states != 1 || s.Size < 0 {
				return fmt.Errorf(
					"%w: %s: a state that is not exactly one of contents, absent and unknown",
					ErrLog, c.Path,
				)
			}
		}
	}
	return nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

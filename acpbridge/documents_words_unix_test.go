// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// oneFile is an editor with one file, of which it has the text that a test says, whatever is on disk. It writes down what it is asked.
type oneFile struct {
	acp.UnimplementedClient
	path    string
	asked   []string
	text    *string // nil: there is no such file
	refuses error   // to read
	writes  func(path, text string) error
}

func (e *oneFile) note(id acp.SessionID, path, what string) {
	if id != "s" || path != e.path {
		what += fmt.Sprint(" of ", id, path)
	}
	e.asked = append(e.asked, what)
}

func (e *oneFile) ReadTextFile(_ context.Context, r *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	what := "read"
	if r.Line != nil {
		what += fmt.Sprint(" from ", *r.Line)
	}
	if r.Limit != nil {
		what += fmt.Sprint(" lines ", *r.Limit)
	}
	e.note(r.SessionID, r.Path, what)
	if e.refuses != nil {
		return nil, e.refuses
	}
	if e.text == nil {
		return nil, acp.Errorf(acp.CodeResourceNotFound, "no such file")
	}
	text := *e.text
	if r.Line != nil || r.Limit != nil {
		lines := strings.SplitAfter(text, "\n")
		if r.Line != nil {
			lines = lines[min(int(*r.Line)-1, len(lines)):]
		}
		if r.Limit != nil {
			lines = lines[:min(int(*r.Limit), len(lines))]
		}
		text = strings.Join(lines, "")
	}
	return &acp.ReadTextFileResponse{Content: text}, nil
}

func (e *oneFile) WriteTextFile(_ context.Context, r *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	e.note(r.SessionID, r.Path, fmt.Sprintf("write %q", r.Content))
	return &acp.WriteTextFileResponse{}, e.writes(r.Path, r.Content)
}

// documentsTable writes down what becomes of a file in an editor.
type documentsTable struct {
	t        *testing.T
	got      strings.Builder
	dir      string
	editor   *oneFile
	cases    []string          // titles, by what becomes of them
	titles   map[string]string // of the same outcome
	versions map[string]string // by the hash of contents
}

var (
	versionSum  = regexp.MustCompile(`[0-9a-f]{64}`)
	versionHere = regexp.MustCompile(`\b(h[0-9a-f]{32}|s[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+)\b`)
)

// words replaces what is different each time, and names versions by what they are of.
func (d *documentsTable) words(s string) string {
	s = strings.ReplaceAll(s, d.dir, "/project")
	s = versionHere.ReplaceAllString(s, "disk's")
	return versionSum.ReplaceAllStringFunc(s, func(sum string) string { return d.versions[sum] })
}

func (d *documentsTable) knows(text string) string {
	d.versions[fmt.Sprintf("%x", sha256.Sum256([]byte(text)))] = fmt.Sprintf("%q", text)
	return text
}

// say writes down a line, behind what the editor was asked for it.
func (d *documentsTable) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if d.editor != nil && len(d.editor.asked) > 0 {
		line += " (asked to " + strings.Join(d.editor.asked, ", ") + ")"
		d.editor.asked = nil
	}
	d.got.WriteString(d.words(line) + "\n")
}

// ends notes that what was written down is what becomes of a case. Cases of which the same becomes are told together.
func (d *documentsTable) ends(title string) {
	outcome := d.got.String()
	d.got.Reset()
	if d.titles[outcome] == "" {
		d.cases = append(d.cases, outcome)
	}
	d.titles[outcome] += title + "\n"
}

// all returns what was written down of all cases.
func (d *documentsTable) all() string {
	var all strings.Builder
	for _, outcome := range d.cases {
		all.WriteString(d.titles[outcome] + outcome + "\n")
	}
	return all.String()
}

func sideOf(s *ws.Side) string {
	switch {
	case s == nil:
		return "unknown"
	case !s.Exists:
		return fmt.Sprintf("none%s", s.Data)
	}
	return fmt.Sprintf("%q %v", s.Data, s.Mode)
}

func (d *documentsTable) document(what string, doc *ws.Document, err error) {
	if err != nil {
		d.failure(what, err)
		return
	}
	line := fmt.Sprintf("\t%s: ", what)
	if doc.Path != d.editor.path {
		line += doc.Path + " "
	}
	line += fmt.Sprintf("disk %s, buffer %s", sideOf(doc.Disk), sideOf(doc.Buffer))
	for _, mark := range []struct {
		name string
		set  bool
	}{
		{"unsaved", doc.Unsaved}, {"uncertain", doc.Uncertain}, {"doubtful", doc.Doubtful}, {"unchecked", doc.Unchecked}, {"unread", doc.Unread},
		{"faithful", doc.Faithful == ws.FaithYes}, {"not faithful", doc.Faithful == ws.FaithNo},
	} {
		if mark.set {
			line += ", " + mark.name
		}
	}
	d.say("%s, version %s", line, doc.Version)
	if doc.Bypass != "" {
		d.say("\t\tbypass: %s", doc.Bypass)
	}
	if doc.Blocked != "" {
		d.say("\t\tblocked: %s", doc.Blocked)
	}
}

// failure writes down an error, and which ones it is.
func (d *documentsTable) failure(what string, err error) {
	is := ""
	for _, target := range []error{os.ErrNotExist, errors.ErrUnsupported, ws.ErrLost, ws.ErrChanged, ws.ErrBinary} {
		if errors.Is(err, target) {
			is += fmt.Sprintf(", is %q", target)
		}
	}
	d.say("\t%s: %v%s", what, err, is)
}

func (d *documentsTable) file(what string, f ws.File, err error) {
	if err != nil {
		d.failure(what, err)
		return
	}
	if f.Path != d.editor.path {
		what += " " + f.Path
	}
	if f.More {
		what += ", more"
	}
	d.say("\t%s: %q of %d, %v, %d lines, %v %v %v %v, version %s", what, f.Data, f.Size, f.Mode, f.Lines, f.Unsaved, f.Uncertain, f.Doubtful, f.Faithful, f.Version)
}

// abilities are what an editor can do, and what this machine does for it.
type abilities struct {
	title       string
	read, write bool
	local       acpbridge.LocalFallback
	away        bool // the files are on another machine
}

func (d *documentsTable) workspace(can abilities) (*oneFile, *acpbridge.Workspace, string) {
	d.t.Helper()
	s := &deps.Session{ID: "s", Cwd: d.dir}
	if can.away {
		s.Cwd = "/no/such/machine"
	}
	e := &oneFile{path: filepath.Join(s.Cwd, "a"), writes: func(string, string) error { return nil }}
	d.editor = e
	s.Capabilities.FS.ReadTextFile, s.Capabilities.FS.WriteTextFile = can.read, can.write
	w, err := acpbridge.NewWorkspace(deps.ACPDeps{Client: e, Session: s}, can.local)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { _ = w.Close() })
	return e, w, e.path
}

// disk makes the file what a test says; nil removes it.
func (d *documentsTable) disk(text *string) {
	path := filepath.Join(d.dir, "a")
	_ = os.Remove(path)
	if text != nil {
		require.NoError(d.t, os.WriteFile(path, []byte(*text), 0o640))
	}
}

func (d *documentsTable) onDisk() string {
	data, err := os.ReadFile(filepath.Join(d.dir, "a"))
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%q", data)
}

func quoted(text *string) string {
	if text == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *text)
}

var (
	readsAndWrites = abilities{title: "reads and writes", read: true, write: true}
	filesHere      = acpbridge.LocalFallback{Files: true}
)

func newDocumentsTable(t *testing.T) *documentsTable {
	d := &documentsTable{t: t, dir: project(t, nil), versions: map[string]string{}, titles: map[string]string{}}
	for _, text := range []string{"", "one\n", "one\ntwo\n", "NEW\n", "new\n", "\xff"} {
		d.knows(text)
	}
	return d
}

// TestWhatIsKnownOfAFileIsTold compares what is told of a file with a record, for what is on disk, what an editor has of it, and what that
// can do. Run it with -update to make the record anew, and read it.
func TestWhatIsKnownOfAFileIsTold(t *testing.T) {
	d := newDocumentsTable(t)
	text := func(s string) *string { return new(d.knows(s)) }
	internal := acp.Errorf(acp.CodeInternal, "not UTF-8")
	type has struct {
		disk, buffer *string
		refuses      error
	}
	var all []has
	for _, disk := range []*string{nil, text(""), text("one\ntwo\n"), text("one\r\ntwo\r\n"), text("\ufeffone\ntwo\n"), text("one\ntwo"), text("on\xe9\n")} {
		for _, buffer := range []*string{nil, text(""), text("one\ntwo\n"), text("on\ufffd\n"), text("typed\n")} {
			all = append(all, has{disk: disk, buffer: buffer})
		}
	}
	for _, disk := range []*string{nil, text("one\ntwo\n"), text("on\xe9\n")} {
		for _, refuses := range []error{internal, acp.ErrClosed, acp.ErrMethodNotFound} {
			all = append(all, has{disk: disk, refuses: refuses})
		}
	}
	for _, can := range []abilities{
		readsAndWrites, {title: "reads and writes on another machine", read: true, write: true, away: true},
		{title: "reads", read: true}, {title: "reads, and this machine writes", read: true, local: filesHere},
		{title: "writes", write: true}, {title: "writes, and this machine reads", write: true, local: filesHere},
		{title: "does nothing, and this machine does", local: filesHere},
	} {
		for _, c := range all {
			if can.away && c.disk != nil || !can.read && (c.buffer != nil || c.refuses != nil) {
				continue // it makes no difference
			}
			title := fmt.Sprintf("# an editor that %s: disk %s, editor %s", can.title, quoted(c.disk), quoted(c.buffer))
			if c.refuses != nil {
				title += fmt.Sprintf(", refuses: %v", c.refuses)
			}
			d.disk(c.disk)
			e, w, path := d.workspace(can)
			e.text, e.refuses = c.buffer, c.refuses
			doc, err := w.Open(t.Context(), path, true)
			d.document("at a glance", doc, err)
			doc, err = w.Open(t.Context(), path, false)
			d.document("opened", doc, err)
			doc, err = w.Open(t.Context(), path, true)
			d.document("again", doc, err)
			f, err := w.Read(t.Context(), path, ws.Range{})
			d.file("read", f, err)
			f, err = w.Read(t.Context(), path, ws.Range{Line: 2, Lines: 1})
			d.file("line 2", f, err)
			f, err = w.Read(t.Context(), path, ws.Range{Line: 2})
			d.file("from line 2", f, err)
			f, err = w.Read(t.Context(), path, ws.Range{Offset: 1, Limit: 2})
			d.file("bytes 1 and 2", f, err)
			f, err = w.Read(t.Context(), path, ws.Range{Limit: 1000})
			d.file("up to 1000 bytes", f, err)
			f, err = w.Read(t.Context(), path, ws.Range{Saved: true})
			d.file("saved", f, err)
			info, err := w.Stat(t.Context(), path)
			if err != nil {
				d.failure("stat", err)
			} else {
				d.say("\tstat: %s %v %d, version %s", filepath.Base(info.Path), info.Mode, info.Size, info.Version)
			}
			for info, err := range w.Walk(t.Context(), filepath.Dir(path), ws.WalkOptions{Details: true}) {
				if err != nil {
					d.failure("list", err)
				} else if !info.IsDir() {
					d.say("\tlist: %s %v %d, version %s", filepath.Base(info.Path), info.Mode, info.Size, info.Version)
				}
			}
			if !can.away {
				version := ws.Version("")
				if doc != nil {
					version = doc.Version
				}
				for _, of := range []ws.Version{"other", version, ws.AnyVersion} {
					d.disk(c.disk)
					if err := w.Remove(t.Context(), path, of); err != nil {
						d.failure("removed "+string(of), err)
					}
					d.say("\tremoved %s: on disk is %s", of, d.onDisk())
				}
			}
			d.ends(title)
		}
	}
	golden(t, "documents.want", d.all())
}

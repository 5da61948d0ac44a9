// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// TestWhatBecomesOfAChangeIsTold compares what is told of a file after a change with a record, for what is on disk, what an editor has of
// the file, and what it does when it is asked to write. Run it with -update to make the record anew, and read it.
func TestWhatBecomesOfAChangeIsTold(t *testing.T) {
	d := newDocumentsTable(t)
	text := func(s string) *string { return new(d.knows(s)) }
	var e *oneFile
	save := func(path, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o640))
		e.text = &text
	}
	full := acp.Errorf(acp.CodeInternal, "the disk is full")
	editors := []struct {
		title  string
		writes func(path, text string) error
	}{
		{"saves", func(path, text string) error { save(path, text); return nil }},
		{"formats", func(path, _ string) error { save(path, "NEW\n"); return nil }},
		{"does not save", func(_, text string) error { e.text = &text; return nil }},
		{"does nothing", func(string, string) error { return nil }},
		{"saves and forgets it", func(path, text string) error { save(path, text); e.refuses = full; return nil }},
		{"fails", func(string, string) error { return full }},
		{"fails and keeps the text", func(_, text string) error { e.text = &text; return full }},
		{"fails and has saved", func(path, text string) error { save(path, text); return full }},
		{"fails and has saved something", func(path, _ string) error { save(path, "\xff"); return full }},
		{"fails and keeps nothing", func(string, string) error { e.text = nil; return full }},
		{"is lost", func(string, string) error { return acp.ErrClosed }},
		{"cannot do it after all", func(string, string) error { return acp.ErrMethodNotFound }},
		{"says that there is no such file", func(string, string) error { return acp.Errorf(acp.CodeResourceNotFound, "gone") }},
	}
	type has struct{ disk, buffer *string }
	var states []has
	for _, disk := range []*string{nil, text("one\n"), text("one\r\n"), text("on\xe9\n"), text("new\n")} {
		for _, buffer := range []*string{nil, text("one\n"), text("typed\n"), text("on\ufffd\n"), text("new\n")} {
			states = append(states, has{disk, buffer})
		}
	}
	changes := []struct {
		title  string
		change ws.Change
		finds  bool // the file is opened before, and the change is one of that
		stale  bool // and the file is not the same any more
	}{
		{title: "a change", change: ws.Change{Data: []byte("new\n")}, finds: true},
		{title: "a change to bytes", change: ws.Change{Data: []byte("\xff")}, finds: true},
		{title: "an exact change", change: ws.Change{Data: []byte("new\n"), Exact: true}, finds: true},
		{title: "a change of another version", change: ws.Change{Data: []byte("new\n"), IfVersion: "other"}},
		{title: "a new file", change: ws.Change{Data: []byte("new\n")}},
		{title: "a change of whatever is there", change: ws.Change{Data: []byte("new\n"), IfVersion: ws.AnyVersion}},
		{title: "a change of what has changed", change: ws.Change{Data: []byte("new\n")}, finds: true, stale: true},
	}
	for _, can := range []abilities{
		readsAndWrites, {title: "reads and writes on another machine", read: true, write: true, away: true},
		{title: "reads", read: true}, {title: "reads, and this machine writes", read: true, local: filesHere},
		{title: "writes", write: true}, {title: "writes, and this machine reads", write: true, local: filesHere},
		{title: "writes on another machine", write: true, away: true},
		{title: "does nothing, and this machine does", local: filesHere},
	} {
		for _, state := range states {
			if can.away && state.disk != nil || !can.read && state.buffer != nil {
				continue // it makes no difference
			}
			for i, editor := range editors {
				plain := (state.disk == nil || *state.disk == "one\n") && (state.buffer == nil || *state.buffer != "on\ufffd\n" && *state.buffer != "new\n")
				if i > 0 && (!can.write || !plain) {
					continue
				}
				if can.away && (editor.title == "formats" || editor.title == "fails and has saved" || editor.title == "fails and has saved something") {
					continue // nobody sees the disk
				}
				for n, c := range changes {
					if i > 0 && n > 0 && !(c.change.IfVersion == ws.AnyVersion && i < 3) {
						continue
					}
					d.disk(state.disk)
					var w ws.Applier
					var path string
					var opener ws.Opener
					one, all, at := d.workspace(can)
					e, w, opener, path = one, all, all, at
					e.text, e.writes = state.buffer, func(path, text string) error {
						if can.away {
							path = d.dir + "/elsewhere"
						}
						return editor.writes(path, text)
					}
					change := c.change
					if c.finds {
						if doc, err := opener.Open(t.Context(), path, false); err == nil {
							change.IfVersion = doc.Version
							if can.away {
								change.Found = doc
							}
						}
						e.asked = nil
					}
					if c.stale {
						d.disk(text("other\n"))
						e.text = text("other\n")
					}
					doc, err := w.ApplyChange(t.Context(), path, change)
					d.document("changed", doc, err)
					if !can.away {
						d.say("\ton disk is %s", d.onDisk())
					}
					doc, err = opener.Open(t.Context(), path, true)
					d.document("at a glance", doc, err)
					d.ends(fmt.Sprintf("# %s: disk %s, editor %s: %s, and it %s", can.title, quoted(state.disk), quoted(state.buffer), c.title, editor.title))
				}
			}
		}
	}
	golden(t, "changes.want", d.all())
}

// TestChangesOfFilesThatWereExchangedAreRefused has a change of a file that the user was shown under another name.
func TestChangesOfFilesThatWereExchangedAreRefused(t *testing.T) {
	d := newDocumentsTable(t)
	d.disk(new("one\n"))
	e, w, path := d.workspace(readsAndWrites)
	e.text = new("one\n")
	_, err := w.ApplyChange(t.Context(), path, ws.Change{Data: []byte("new\n"), IfVersion: ws.AnyVersion, File: path + "b"})
	require.EqualError(t, err, fmt.Sprintf("workspace: write %q: has changed", path))
	require.ErrorIs(t, err, ws.ErrChanged)
	require.Empty(t, e.asked)
	_, err = w.ApplyChange(t.Context(), "/etc/passwd", ws.Change{Data: []byte("new\n"), IfVersion: ws.AnyVersion, File: "/etc/passwd"})
	require.ErrorIs(t, err, ws.ErrOutside)
	require.Empty(t, e.asked)
	version, err := w.Write(t.Context(), path, []byte("new\n"), "other")
	require.ErrorIs(t, err, ws.ErrChanged)
	require.Empty(t, version)
	e.writes = func(path, text string) error {
		e.text = &text
		return os.WriteFile(path, []byte(text), 0o600)
	}
	_, err = w.ApplyChange(t.Context(), path, ws.Change{Data: []byte("new\n"), IfVersion: ws.AnyVersion, File: path})
	require.NoError(t, err)
	require.Equal(t, `"new\n"`, d.onDisk())
	require.False(t, errors.Is(err, ws.ErrChanged))
}

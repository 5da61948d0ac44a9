// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// describe has all that a model knows of a file.
func describe(f *modelled) string {
	typed := "nothing"
	if f.typed != nil {
		typed = fmt.Sprintf("%q", *f.typed)
	}
	return fmt.Sprintf("disk %q %v, typed %s, foreign %v", f.disk, f.disk == nil, typed, f.foreign)
}

// What a model makes of a change: by what is told of it, what was approved, and what is on disk.
func TestWhatFilesBecome(t *testing.T) {
	var p product
	told := []string{"done", "done, not saved", "done, reformatted"}
	written := []workspace.FileWritten{
		{Bytes: 4, Changed: true}, {Bytes: 3, Changed: true}, {Bytes: 4, Changed: true, Reformatted: true}, {Bytes: 4, Changed: true, Unsaved: true},
		{Bytes: 4, Changed: true, Unsaved: true, Reformatted: true},
	}
	p.each(func(i []int) error {
		after := [][]byte{[]byte("two\n"), []byte("two"), nil}[i[2]]
		c := cellWith(answered{}, nil, oneFile{data: &after})
		f := &modelled{name: "a", path: "/root/a", disk: []byte("one\n"), typed: new("typed"), foreign: true}
		if i[3] > 0 {
			c.editor = &Editor{Disk: c.env.Disk, Save: []func(string) string{nil, nil, withNewline}[min(i[3], 2)]}
		}
		if i[3] > 2 {
			c.editor.Type(f.path, "typed")
		}
		s := &session{cell: c, files: map[string]*modelled{"a": f}}
		err := s.became(f, told[i[0]], &written[i[1]], []byte([]string{"two\n", "two"}[i[4]]))
		return fmt.Errorf("%v: %s", err, describe(f))
	}, len(told), len(written), 3, 4, 2)
	p.check(t, "became")
}

// What a model makes of what a tool says: by its outcome, and by what is known of the file.
func TestWhatChangesCome(t *testing.T) {
	var p product
	metas := []string{`{"bytes":4,"changed":true}`, `{"bytes":4}`, `{"bytes":4,"changed":true,"reformatted":true}`, `{"bytes":4,"changed":true,"unsaved":true}`, `[]`}
	p.each(func(i []int) error {
		disk := [][]byte{[]byte("one\n"), nil, []byte("\xff\xfeo\x00")}[i[2]]
		f := &modelled{name: "a", path: "/root/a", disk: disk}
		if i[3] == 1 {
			f.typed = new("typed")
		}
		after := []byte("two\n")
		c := cellWith(answered{told: "done, reformatted, not saved", meta: metas[i[0]], outcome: i[1]}, nil, oneFile{data: &after})
		if i[4] > 0 {
			c.editor = &Editor{Disk: c.env.Disk, Show: []func([]byte) (string, error){nil, nil, lineFeeds, ofEmacs}[i[4]]}
		}
		s := &session{cell: c, files: map[string]*modelled{"a": f}}
		from := "nothing"
		err := s.changes(f, workspace.ToolWriteFile, args{}, func(now []byte) []byte {
			from = fmt.Sprintf("%q", now)
			return []byte("two\n")
		})
		return fmt.Errorf("%v, from %s: %s", err, from, describe(f))
	}, len(metas), 4, 3, 2, 4)
	p.check(t, "comes")
}

// What a model says of a read, and what it takes for the text that is there.
func TestWhatModelsRead(t *testing.T) {
	var p product
	told := []string{"one\ntwo\n", "one\r\ntwo\r\n", "one", "typed\r\n, not what is on disk", "typed\n", "typed \ufffd, not what is on disk", ""}
	disks := [][]byte{nil, {}, []byte("one\ntwo\n"), []byte("one\r\ntwo\r\n"), []byte("\x00\x01\xff"), encodedAs([]byte("\xff\xfea\x00"), "one\ntwo\n")}
	typed := []*string{nil, new(""), new("typed\n"), new("typed \xff"), new("one\ntwo\n")}
	p.each(func(i []int) error {
		f := &modelled{name: "a", disk: disks[i[1]], typed: typed[i[2]]}
		c := cellWith(answered{told: told[i[0]], outcome: i[3]}, nil, oneFile{})
		s := &session{cell: c}
		text, unsaved, ok := s.now(f)
		return fmt.Errorf("%v: now %q, unsaved %v, %v", s.reads(f), text, unsaved, ok)
	}, len(told), len(disks), len(typed), 4)
	p.check(t, "model_reads")
}

// What a model says of an undo of a file: by what was done, and what was there before.
func TestWhatUndosLeave(t *testing.T) {
	var p product
	texts := []string{"", "u00001;", "w00001; u00002; g00003;", ";u0001; u00002;", "u00003; x; u00004;", "w00001;;x u00009;"}
	afters := [][]byte{nil, {}, []byte("u00001; u00002; u00003;"), []byte("u00004;")}
	p.each(func(i []int) error {
		after := afters[i[1]]
		f := &modelled{name: "a", path: "/root/a", disk: []byte("before"), typed: new("typed"), foreign: i[3] == 1}
		c := cellWith(answered{}, nil, oneFile{data: &after})
		if i[4] > 0 {
			c.editor = &Editor{Disk: c.env.Disk, Lazy: i[4] > 1}
		}
		if i[4] > 2 {
			c.editor.Type(f.path, "in the editor")
		}
		s := &session{cell: c, files: map[string]*modelled{"a": f}, then: map[string][]byte{}}
		if then := [][]byte{nil, []byte("u00004;")}[i[2]]; then != nil {
			s.then["a"] = then
		}
		u := &checkpoint.FileUndo{Done: i[5] == 0}
		if i[5] == 2 {
			u.Err = errBroken
		}
		return fmt.Errorf("%v: %s", s.undone(f, u, texts[i[0]]), describe(f))
	}, len(texts), len(afters), 2, 2, 4, 3)
	p.check(t, "undone")
}

// What a model says of what is there: it must be what the model has.
func TestWhatModelsAgreeWith(t *testing.T) {
	var p product
	states := [][]byte{nil, {}, []byte("one\n"), []byte("two\n")}
	typed := []*string{nil, new("typed"), new("other")}
	p.each(func(i []int) error {
		now := states[i[0]]
		c := cellWith(answered{}, nil, oneFile{data: &now})
		same := func(name string) *modelled { return &modelled{name: name, path: "/root/" + name, disk: now} }
		s := &session{cell: c, files: map[string]*modelled{"a": same("a"), "b": same("b"), "c": same("c")}}
		last := s.files[[]string{"a", "b", "c"}[i[4]]]
		last.disk, last.typed = states[i[1]], typed[i[2]]
		if i[3] > 0 {
			c.editor = &Editor{Disk: c.env.Disk}
		}
		if i[3] > 1 {
			c.editor.Type(last.path, "typed")
		}
		return s.agrees()
	}, len(states), len(states), len(typed), 3, 3)
	p.check(t, "agrees")
}

// draws is a source of which the draws are known: each has n sides and shows a value.
type draws struct{ all [][2]uint64 }

func (d *draws) Uint64() uint64 {
	if len(d.all) == 0 {
		return 1 << 32 // 0 of all numbers
	}
	n, v := d.all[0][0], d.all[0][1]
	d.all = d.all[1:]
	return (v<<32/n+1)<<32 | v // a draw takes the low bits if n is a power of two, and scales the high ones otherwise
}

// noted is a disk that notes what is written and removed.
type noted struct {
	workspacetest.Disk
	log *[]string
}

func (d noted) WriteFile(path string, data []byte, mode fs.FileMode) error {
	*d.log = append(*d.log, fmt.Sprintf("write %s %q %v", path, data, mode))
	return d.Disk.WriteFile(path, data, mode)
}

func (d noted) Remove(path string) error {
	*d.log = append(*d.log, "remove "+path)
	return d.Disk.Remove(path)
}

// What a user and other programs do in a session, for each of their choices.
func TestWhatOthersDo(t *testing.T) {
	var p product
	disks := [][]byte{nil, {}, []byte("one\ntwo"), encodedAs([]byte("\xff\xfea\x00"), "one\n"), []byte("\x00\x01\xff")}
	p.each(func(i []int) error {
		w, err := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, err)
		var log []string
		disk := noted{w.Disk(), &log}
		c := cellWith(answered{}, nil, oneFile{})
		c.env.Disk = disk
		f := &modelled{name: "a", path: "/project/a", disk: disks[i[1]]}
		g := &modelled{name: "b", path: "/project/b", disk: []byte("b"), typed: new("of b")}
		if f.disk != nil {
			require.NoError(t, w.Disk().WriteFile(f.path, f.disk, 0o600))
		}
		if i[2] > 0 {
			c.editor = &Editor{Disk: disk, Show: []func([]byte) (string, error){nil, nil, strict, nil}[i[2]], Save: []func(string) string{nil, nil, withNewline, nil}[i[2]], Blank: i[2] == 3}
			c.editor.Type(g.path, "of b")
		}
		s := &session{
			cell: c, files: map[string]*modelled{"a": f, "b": g}, next: 41,
			r: rand.New(&draws{[][2]uint64{{6, uint64(i[0])}, {3, uint64(i[3])}, {2, uint64(i[4])}}}),
		}
		if text := string(f.disk); strings.Count(text, "\n") != 1 {
			s.r = rand.New(&draws{[][2]uint64{{6, uint64(i[0])}, {uint64(strings.Count(text, "\n") + 1), 0}, {2, uint64(i[4])}}})
		} else {
			s.r = rand.New(&draws{[][2]uint64{{6, uint64(i[0])}, {2, uint64(i[3])}, {2, uint64(i[4])}}})
		}
		what, err := s.other(f)
		return fmt.Errorf("%s, %v: a %s; b %s\n%s", what, err, describe(f), describe(g), strings.Join(log, "\n"))
	}, 6, len(disks), 4, 2, 2)
	p.check(t, "others")
}

// What an agent edits and writes: the token that is replaced, by what, and what the model makes of the same change.
func TestWhatAgentsEdit(t *testing.T) {
	var p product
	disks := [][]byte{nil, []byte("w0001;"), []byte("w00001;"), []byte("w00001; w00002;\nw00003;w00004; w00001;"), encodedAs([]byte("\xff\xfea\x00"), "a w00001;w00002;")}
	p.each(func(i []int) error {
		f := &modelled{name: "a", path: "/root/a", disk: disks[i[0]]}
		var log []string
		c := cellWith(answered{told: "no", outcome: 1}, nil, oneFile{data: &f.disk})
		for name, tool := range c.user.tools {
			tool.Decode = func(raw []byte) (any, error) {
				log = append(log, name+" "+string(raw))
				return nil, nil
			}
		}
		s := &session{cell: c, r: rand.New(&draws{[][2]uint64{{8, uint64(i[1])}, {3, uint64(i[2])}, {4, uint64(i[3])}, {5, 1}}}), next: 99}
		if i[2] > 0 {
			s.r = rand.New(&draws{[][2]uint64{{8, uint64(i[1])}, {3, uint64(i[2])}, {5, uint64(i[3])}}})
		}
		var err error
		if i[1] == 7 {
			s.r = rand.New(&draws{[][2]uint64{{5, uint64(i[3])}}})
			err = s.writes(f)
		} else {
			err = s.edits(f)
		}
		return fmt.Errorf("%v, meanwhile %v, %d: %s", err, s.kind.during != nil, s.next, strings.Join(log, "\n"))
	}, len(disks), 8, 3, 4)
	p.check(t, "agents_edit")
}

// The files that a session begins with, by the draws of each.
func TestWhatSessionsBeginWith(t *testing.T) {
	var p product
	p.each(func(i []int) error {
		w, err := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, err)
		c := cellWith(answered{}, nil, oneFile{})
		c.env.Disk = w.Disk()
		c.recorder = checkpoint.New(w, checkpoint.Options{})
		one := [][2]uint64{{12, uint64(i[1])}, {10, uint64(i[0])}}
		s := &session{cell: c, r: rand.New(&draws{append(append(append([][2]uint64{}, one...), one...), one...)}), files: map[string]*modelled{}, root: "/project"}
		err = s.begin()
		var b strings.Builder
		for _, name := range []string{"a", "b", "c"} {
			data, there := w.Disk().ReadFile("/project/" + name)
			require.Equal(t, s.files[name].disk, data)
			require.Equal(t, s.files[name].disk == nil, there != nil)
			fmt.Fprintf(&b, "%s %s at %s\n", s.files[name].name, describe(s.files[name]), s.files[name].path)
		}
		return fmt.Errorf("%v, mark %d, %d then\n%s", err, s.mark, len(s.then), b.String())
	}, 10, 2)
	c := cellWith(answered{}, nil, oneFile{})
	c.env.Disk = refusing{}
	s := &session{cell: c, r: rand.New(&draws{}), files: map[string]*modelled{}, root: "/project"}
	require.EqualError(t, s.begin(), "no space")
	p.check(t, "begins")
}

type refusing struct{ workspacetest.Disk }

func (refusing) WriteFile(string, []byte, fs.FileMode) error { return errors.New("no space") }

// What text becomes in the encoding of other contents.
func TestEncodings(t *testing.T) {
	var p product
	was := [][]byte{nil, []byte("a"), []byte("\xff\xfea\x00"), []byte("\xfe\xff\x00a"), []byte(latin1), []byte(shiftJIS), []byte("\x00\x01\xff")}
	texts := []string{"", "one\n", "\ufeffone\n", "é", "上", "\xff"}
	p.each(func(i []int) error {
		before := bytes.Clone(was[i[0]])
		as, more := encodedAs(was[i[0]], texts[i[1]]), appended(was[i[0]], texts[i[1]])
		require.Equal(t, before, was[i[0]])
		return fmt.Errorf("%q %q %q", as, more, kept(was[i[0]], texts[i[1]]))
	}, len(was), len(texts))
	p.check(t, "encodings")
}

// A step of a session, by its draw.
func TestStepsOfSessions(t *testing.T) {
	var p product
	p.each(func(i []int) error {
		w, err := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, err)
		c := cellWith(answered{told: "no", outcome: 1}, nil, oneFile{})
		c.ctx = context.Background()
		c.env.Disk = w.Disk()
		c.recorder = checkpoint.New(w, checkpoint.Options{})
		s := &session{cell: c, r: rand.New(&draws{[][2]uint64{{3, uint64(i[1])}, {20, uint64(i[0])}}}), files: map[string]*modelled{}}
		for _, name := range []string{"a", "b", "c"} {
			s.files[name] = &modelled{name: name, path: "/project/" + name, typed: new("x")}
		}
		what, err := s.step()
		return fmt.Errorf("%s %v, mark %d", what, err, s.mark)
	}, 20, 3)
	p.check(t, "steps")
}

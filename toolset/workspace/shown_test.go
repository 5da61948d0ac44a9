// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// The question about a change says what people cannot see in its difference.
func TestFactsOfChanges(t *testing.T) {
	w, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	o := options{scope: DefaultScope}
	c := &call{ws: w, options: &o, tool: ToolWriteFile, Session: NewSession(w)}
	disk, typed := &Side{Exists: true, Data: []byte("old\n")}, &Side{Exists: true, Data: []byte("typed\n")}
	text := &Text{Data: []byte("old\n"), Encoding: UTF8}
	for i, p := range []struct {
		change func(*plan)
		title  string
		notes  []string
	}{
		{func(p *plan) {}, "Edit a", nil},
		{func(p *plan) { p.exists, p.doc = false, &Document{Disk: &Side{}} }, "Create a", nil},
		{func(p *plan) { p.exists, p.blind, p.doc = false, true, nil }, "Write a", []string{"What the file holds now cannot be read here. If it exists, it is replaced."}},
		{func(p *plan) { p.hidden = true }, "Replace a", []string{"The file must not be read, so it is not shown what is replaced."}},
		{func(p *plan) { p.exists, p.hidden, p.doc = false, true, &Document{Disk: &Side{}} }, "Create a", nil},
		{func(p *plan) { p.doc.Uncertain = true }, "Write a", []string{"The file is empty or does not exist: the editor does not say which."}},
		{func(p *plan) { p.doc.Bypass = "it is a pipe" }, "Edit a", []string{"This is written to disk, not through the editor: it is a pipe."}},
		{func(p *plan) { p.text = nil }, "Edit a", []string{"The file as it is now is not text (4 bytes)."}},
		{func(p *plan) { p.text, p.doc.Disk, p.doc.Buffer = nil, nil, typed }, "Edit a", []string{"What the editor shows of the file now is not text."}},
		{func(p *plan) { p.doc.Buffer, p.doc.Unsaved = typed, true }, "Edit a", []string{"The editor has text that is not on disk. It is saved with this change:\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+typed"}},
		{func(p *plan) { p.doc.Disk, p.doc.Buffer, p.doc.Unsaved = &Side{}, typed, true }, "Edit a", []string{"The editor has text that is not on disk. It is saved with this change:\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+typed"}},
		{func(p *plan) { p.file = "/project/b" }, "Edit a (a link to b)", nil},
		{func(p *plan) { p.notes = []string{"And this."} }, "Edit a", []string{"And this."}},
	} {
		made := &plan{path: "/project/a", file: "/project/a", name: "a", short: "a", exists: true, doc: &Document{Disk: disk}, old: disk.Data, text: text, new: []byte("new\n")}
		p.change(made)
		a := c.planApproval(t.Context(), made)
		require.Equal(t, p.title, a.Title, i)
		var notes []string
		for _, shown := range a.Preview[1:] {
			notes = append(notes, shown.Text)
		}
		require.Equal(t, p.notes, notes, i)
		require.Equal(t, "new\n", *a.Preview[0].Diff.New)
		require.Equal(t, p.title[:4] == "Edit", a.Preview[0].Diff.Old != nil, i)
		require.Equal(t, made.blind, a.Basis == "", i)
		effects := []model.Effect{{Kind: model.EffectWrite, Path: "/project/a"}}
		if made.file != made.path {
			effects = append(effects, model.Effect{Kind: model.EffectWrite, Path: "/project/b"})
		}
		require.Equal(t, effects, a.Effects, i)
	}
	c.tool = ToolEditFile
	pieces := &plan{path: "/project/a", file: "/project/b", name: "a", pieces: []Edit{{OldText: "x", NewText: "y"}, {OldText: "z", ReplaceAll: true}}}
	a := c.planApproval(t.Context(), pieces)
	require.Equal(t, "Edit a (a link to b)", a.Title)
	require.Equal(t, "pieces of /project/b", a.Basis)
	require.Len(t, a.Preview, 3)
	require.Equal(t, "x y", *a.Preview[0].Diff.Old+" "+*a.Preview[0].Diff.New)
	require.Equal(t, "z", *a.Preview[1].Diff.Old)
	require.Equal(t, "This is done wherever the text occurs in the file.", a.Preview[2].Text)
	require.Equal(t, []model.Effect{
		{Kind: model.EffectWrite, Path: "/project/a"}, {Kind: model.EffectWrite, Path: "/project/b"}, {Kind: model.EffectRead, Path: "/project/a"}, {Kind: model.EffectRead, Path: "/project/b"},
	}, a.Effects, "the result of an edit shows lines of the file")
	require.Equal(t, "new", (&plan{doc: &Document{Disk: &Side{}}}).basis())
	content := &plan{exists: true, doc: &Document{Disk: disk}}
	require.Equal(t, "content "+content.doc.digest(), content.basis())
	digests := map[string]bool{}
	for _, d := range []*Document{{Disk: disk}, {Disk: typed}, {Disk: &Side{}}, {Disk: disk, Buffer: typed, Unsaved: true}, {Disk: &Side{}, Buffer: typed, Unsaved: true}, {Disk: disk, Bypass: "x"}} {
		digests[d.digest()] = true
	}
	require.Len(t, digests, 6)
	require.Equal(t, (&Document{Disk: disk}).digest(), (&Document{Disk: disk, Buffer: typed, Version: "9"}).digest())
}

// The result of a change says what the editor has made of it.
func TestResultsOfChanges(t *testing.T) {
	side := func(text string) *Side { return &Side{Exists: true, Data: []byte(text)} }
	for i, c := range []struct {
		new, where, notes string
		doc               Document
	}{
		{"a\n", "", "", Document{Disk: side("a\n")}},
		{"a\n", " in the editor", "", Document{Buffer: side("a\n")}},
		{"a\n", " sent to the editor", "", Document{Buffer: side("a\n"), Unchecked: true}},
		{"a\n", "", "\n[The editor has the change and has not saved it: the file on disk is another one.]", Document{Disk: side("x"), Buffer: side("a\n"), Unsaved: true}},
		{"a\n", "", "\n[The file was not found after it was written.]", Document{Disk: &Side{}}},
		{"a\nb\nc\n", "", "\n[The editor reformatted line 2 while saving.]", Document{Disk: side("a\nB\nc\n")}},
		{"a\nb\nc\n", " in the editor", "\n[The editor reformatted line 2.]", Document{Buffer: side("a\nB\nc\n")}},
		{"a\nb\nc\n", "", "\n[The editor reformatted lines 1-2 while saving.]", Document{Disk: side("A\nB\nc\n")}},
		{"a\nb\nc\n", "", "\n[The editor reformatted what followed line 1 while saving.]", Document{Disk: side("a\nc\n")}},
		{"a", "", "\n[The editor reformatted line 1 while saving.]", Document{Disk: side("a\n")}},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "", "\n[The editor reformatted line 1, line 3, line 5, line 7, line 9 while saving.]", Document{Disk: side("a\n2\nb\n4\nc\n6\nd\n8\ne\n")}},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n0\nx\n", "", "\n[The editor reformatted line 1, line 3, line 5, line 7, line 9 and more while saving.]", Document{Disk: side("a\n2\nb\n4\nc\n6\nd\n8\ne\n0\ny\n")}},
		{"a\x00\xff", "", "\n[The editor reformatted the file while saving.]", Document{Disk: side("a\x00\xfe")}},
	} {
		p := &plan{new: []byte(c.new), old: []byte("old"), exists: true, doc: &c.doc}
		w := p.written(&c.doc)
		require.Equal(t, c.where, w.where(), i)
		require.Equal(t, c.notes, w.notes(), i)
		meta := w.meta()
		now := c.doc.Current()
		require.Equal(t, FileWritten{Bytes: len(now.Data), Changed: true, Reformatted: string(now.Data) != c.new, Unsaved: c.doc.Unsaved}, meta, i)
		p.exists = false
		require.Equal(t, now.Exists, w.meta().Created, i)
		p.blind = true
		require.False(t, w.meta().Created)
	}
	for _, c := range []struct{ before, after, want string }{
		{"a\n", "", "The file is now empty."}, {"", "a\n", "Lines 1 to 1 are now:\n     1\ta"}, {"1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nx\n5\n6\n7\n", "Lines 2 to 6 are now:\n     2\t2\n     3\t3\n     4\tx\n     5\t5\n     6\t6"}, {"1\n2\n", "x\n2\n", "Lines 1 to 2 are now:\n     1\tx\n     2\t2"}, {"1\n2", "1\n2\n3", "Lines 1 to 3 are now:\n     1\t1\n     2\t2\n     3\t3"},
		{"1\n2\n3\n4\n", "1\n4\n", "Lines 1 to 2 are now:\n     1\t1\n     2\t4"}, {"1\r\n2\r\n", "1\r\nx\r\n", "Lines 1 to 2 are now:\n     1\t1\n     2\tx"}, {"1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nx\n", "Lines 4 to 6 are now:\n     4\t4\n     5\t5\n     6\tx"}, {"ab\n", "abc\n", "Lines 1 to 1 are now:\n     1\tabc"},
	} {
		require.Equal(t, c.want, ChangedLines([]byte(c.before), []byte(c.after)), "%q %q", c.before, c.after)
	}
	for n, more := range map[int]string{12: "", 13: "", 14: "\n[2 more lines]", 20: "\n[8 more lines]"} {
		want := fmt.Sprintf("Lines 1 to %d are now:", n)
		for i := range n {
			if i < 12 || more == "" {
				want += fmt.Sprintf("\n%6d\tx", i+1)
			}
		}
		require.Equal(t, want+more, ChangedLines(nil, []byte(strings.Repeat("x\n", n))), n)
	}
	const mark = "The byte order mark at the beginning of the file is removed."
	for _, c := range []struct {
		old, new, encoding string
		want               []string
	}{
		{"a\n", "b\n", UTF8, nil}, {"\ufeffa", "b", UTF8, []string{mark}}, {"\ufeffa", "\ufeffb", UTF8, nil}, {"\ufeffa", "b", "UTF-16LE", nil}, {"a\r\n", "b\n", UTF8, []string{"The lines of the file end in CRLF now, and will end in LF."}}, {"a\nb\r\n", "b\r\n", UTF8, []string{"The lines of the file end in CRLF and LF now, and will end in CRLF."}}, {"a", "b\n", UTF8, nil}, {"a\n", "b", UTF8, nil}, {"a\r\n", "b\r\n", UTF8, nil},
	} {
		require.Equal(t, c.want, unseen([]byte(c.old), []byte(c.new), c.encoding), "%+v", c)
	}
}

// What is special about a file that was read is said below it, on lines of its own.
func TestNotesOfFilesThatAreRead(t *testing.T) {
	const unsaved = "[This is the text in the editor. It is not what is on disk: it has unsaved changes, or the file was changed on disk.]"
	const encoded, doubt, uncertain = "[The file is encoded in X. Edits keep that.]", "[U+FFFD may stand for bytes that the editor cannot show.]", "[The file is empty or does not exist: the editor does not say which.]"
	for i, c := range []struct {
		read FileRead
		file File
		want string
	}{
		{FileRead{}, File{Data: []byte("a")}, ""}, {FileRead{Unsaved: true}, File{Data: []byte("a\n")}, "\n" + unsaved}, {FileRead{Unsaved: true}, File{Data: []byte("a")}, "\n\n[No newline at the end.]\n" + unsaved}, {FileRead{Unsaved: true}, File{Data: []byte("a"), More: true}, "\n" + unsaved}, {FileRead{Unsaved: true}, File{}, unsaved}, {FileRead{Unsaved: true}, File{Info: Info{Size: 5}}, "\n" + unsaved},
		{FileRead{Encoding: "X"}, File{Data: []byte("a\n")}, "\n" + encoded}, {FileRead{Unsaved: true, Encoding: "X"}, File{Data: []byte("a\n"), Doubtful: true, Uncertain: true}, "\n" + doubt + "\n" + uncertain + "\n" + unsaved + "\n" + encoded}, {FileRead{}, File{Uncertain: true, Info: Info{Size: 5}}, uncertain},
	} {
		require.Equal(t, c.want, c.read.notes(&c.file), i)
	}
	for i, c := range []struct {
		file  File
		first int
		want  string
	}{
		{File{}, 1, ""}, {File{Info: Info{Size: 5}}, 3, "[The file ends before line 3.]"}, {File{Uncertain: true, Info: Info{Size: 5}}, 3, ""}, {File{Info: Info{Size: 1}, Data: []byte("a\n")}, 1, "a\n"}, {File{Info: Info{Size: 5}}, 1, ""},
	} {
		require.Equal(t, c.want, showFile(&c.file, c.first, 10), i)
	}
}

// What a sandbox has probably denied is said, with what the model can ask for.
func TestDenialsOfASandboxAreNamed(t *testing.T) {
	const why = "; the command ran in the sandbox, which may be why: "
	const files, network, sockets = "it can write only in the working directories and its own /tmp, not to protected files, and cannot see keys", "it has no network", "it cannot use sockets of other programs"
	ask := func(s string) string {
		return `. If it needs that, run it again with sandbox "` + s + `", which asks the user`
	}
	for _, c := range []struct {
		exit            *Exit
		output, sandbox string
		leave           bool
		want            string
	}{
		{nil, "permission denied", "", true, ""}, {&Exit{}, "permission denied", "", true, ""}, {&Exit{Code: 1}, "all good", "", true, ""}, {&Exit{Code: 1}, "Permission Denied", "", false, why + files}, {&Exit{Code: 1}, "EROFS", "", true, why + files + ask("none")}, {&Exit{Signal: "KILL"}, "erofs", "", false, why + files},
		{&Exit{Code: 1}, "no such host", "", true, why + network + ask("network")}, {&Exit{Code: 1}, "no such host", "network", true, ""}, {&Exit{Code: 1}, "the docker daemon", "", true, why + sockets + ask("none")}, {&Exit{Code: 1}, "permission denied by the docker daemon: no such host", "network", true, why + sockets + ask("none")},
	} {
		require.Equal(t, c.want, deniedNote(c.exit, c.output, c.leave, c.sandbox), "%+v", c)
	}
}

// Four plans are kept, the last of each call.
func TestPlansAreKept(t *testing.T) {
	var p planCache
	key := func(i int) [sha256.Size]byte { return [sha256.Size]byte{byte(i)} }
	made := make([]*plan, 5)
	for i := range made {
		made[i] = &plan{}
		p.put(key(i), made[i])
	}
	require.Nil(t, p.get(key(0)))
	for i := 1; i < 5; i++ {
		require.Same(t, made[i], p.get(key(i)), i)
	}
	again := &plan{}
	p.put(key(2), again)
	require.Same(t, again, p.get(key(2)))
	require.Same(t, made[1], p.get(key(1)))
	p.clear()
	require.Nil(t, p.get(key(2)))
}

// A search in blocks finds what a search of the whole text finds, with the lines around it, each
// once.
func TestSearchInBlocksFindsWhatIsThere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var b strings.Builder
		for range rng.IntN(40) {
			b.WriteString([]string{"hit", "Hit it", "miss", "", "a long line that misses", "x hit"}[rng.IntN(6)])
			b.WriteString([]string{"\n", "\n", "\r\n"}[rng.IntN(3)])
		}
		if rng.IntN(2) == 0 {
			b.WriteString("hit")
		}
		text := b.String()
		w, err := NewMemory(MemoryConfig{Files: map[string]string{"a": text}})
		require.NoError(t, err)
		around, limit := rng.IntN(4), 1+rng.IntN(12)
		pattern, fold, re := "hit", rng.IntN(2) == 0, rng.IntN(2) == 0
		if re {
			pattern = []string{"^hit$", "hi[t]", "(?:hit)$"}[rng.IntN(3)]
		}
		m, err := newMatcher(pattern, !re, fold)
		require.NoError(t, err)
		s := &fileSearch{ws: w, matcher: m, context: around, limit: limit, buf: make([]byte, 30*(around+1)+rng.IntN(100))}
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		var hits []int
		for i, line := range lines {
			line = strings.TrimRight(line, "\r\n")
			if fold && !re {
				line = strings.ToLower(line)
			}
			if m.match([]byte(line)) >= 0 && len(hits) < limit {
				hits = append(hits, i)
			}
		}
		var want []string
		for i, line := range lines {
			near := func(h int) bool { return h >= i-around && h <= i+around }
			after := len(hits) == limit && i > hits[limit-1]
			if !slices.ContainsFunc(hits, near) || after {
				continue
			}
			want = append(want, fmt.Sprintf("%d %t %s", i+1, !slices.Contains(hits, i), strings.TrimRight(line, "\r\n")))
		}
		for range 2 { // a second file is searched like the first
			found := s.file(t.Context(), "a")
			require.NoError(t, found.err)
			require.Equal(t, len(hits), found.matches, "%q in %q", pattern, text)
			var got []string
			for _, line := range found.lines {
				got = append(got, fmt.Sprintf("%d %t %s", line.number, line.context, line.text))
			}
			require.Equal(t, want, got, "%q in %q, %d around, %d at most", pattern, text, around, limit)
		}
	}
	for _, c := range []struct {
		before, after int
		want          string
	}{
		{0, 397, "hit" + strings.Repeat("y", 397)}, {0, 398, "hit" + strings.Repeat("y", 397) + "…"}, {100, 400, strings.Repeat("x", 100) + "hit" + strings.Repeat("y", 297) + "…"}, {101, 400, "…" + strings.Repeat("x", 100) + "hit" + strings.Repeat("y", 297) + "…"}, {400, 0, "…" + strings.Repeat("x", 397) + "hit"}, {200, 298, "…" + strings.Repeat("x", 100) + "hit" + strings.Repeat("y", 297) + "…"}, {200, 297, "…" + strings.Repeat("x", 100) + "hit" + strings.Repeat("y", 297)},
	} {
		require.Equal(t, c.want, cutAround([]byte(strings.Repeat("x", c.before)+"hit"+strings.Repeat("y", c.after)), c.before), "%+v", c)
	}
	require.Equal(t, "a\ufffdb", cutAround([]byte("a\xffb"), 0))
	for line, want := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\r": "a", "a\n\n": "a\n", "a\r\r\n": "a\r"} {
		require.Equal(t, want, string(trimEnding([]byte(line))), "%q", line)
	}
}

// Of the output of a command the end is kept. A position is from the beginning, or from the end.
func TestOutputIsReadByPosition(t *testing.T) {
	p := &process{ref: "term_1", keep: 10, ended: make(chan struct{})}
	p.write([]byte("0123456789"))
	read := func(from int64, limit int) string {
		c, err := p.Output(context.Background(), from, limit)
		require.NoError(t, err)
		return fmt.Sprintf("%s %d %d %t %t", c.Data, c.From, c.End, c.Lost, c.Exit != nil)
	}
	for _, c := range []struct {
		from  int64
		limit int
		want  string
	}{{0, 0, "0123456789 0 10 false false"}, {0, 3, "012 0 10 false false"}, {4, 0, "456789 4 10 false false"}, {10, 0, " 10 10 false false"}, {99, 5, " 10 10 false false"}, {-3, 0, "789 7 10 false false"}, {-3, 1, "7 7 10 false false"}, {-99, 0, "0123456789 0 10 false false"}, {0, 99, "0123456789 0 10 false false"}} {
		require.Equal(t, c.want, read(c.from, c.limit))
	}
	p.write([]byte("ab"))
	require.Equal(t, "23456789ab 2 12 true false", read(0, 0))
	require.Equal(t, "23456789ab 2 12 true false", read(1, 0))
	require.Equal(t, "23456789ab 2 12 false false", read(2, 0))
	p.end(context.Background(), 3)
	require.Equal(t, 3, p.exit.Code)
	p.write([]byte("late"))
	require.Equal(t, "b 11 12 false true", read(-1, 0), "nothing is added after the end")
	exit, err := p.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, Exit{Code: 3}, exit)
	ended, cancel := context.WithCancelCause(context.Background())
	because := errors.New("because")
	cancel(because)
	_, err = p.Output(ended, 0, 0)
	require.Equal(t, because, err)
	_, err = (&process{ended: make(chan struct{})}).Wait(ended)
	require.Equal(t, because, err)
	killed := &process{ended: make(chan struct{}), kill: func() {}}
	killed.end(ended, 0)
	require.Equal(t, Exit{Code: -1, Signal: "killed"}, *killed.exit)
	require.NoError(t, killed.Close(context.Background()))
	_, err = killed.Output(context.Background(), 0, 0)
	require.ErrorIs(t, err, ErrClosed)
	for _, keep := range []int{10, 2 << 20} {
		p := &process{keep: keep, ended: make(chan struct{})}
		for range 3 * keep / 1000 * 1000 / max(keep/10, 1) {
			p.write(bytes.Repeat([]byte("x"), max(keep/10, 1)))
		}
		require.LessOrEqual(t, cap(p.kept), 4*keep, "much more is not kept")
	}
	sh := &MemoryShell{Command: Command{Env: []string{"A=1", "AB=2", "A=3", "C"}}}
	require.Equal(t, "3 2  ", sh.Getenv("A")+" "+sh.Getenv("AB")+" "+sh.Getenv("C")+" "+sh.Getenv("D"))
}

// Mistakes in the configuration of a workspace in memory are named, and so are those of its disk.
func TestMistakesOfAWorkspaceInMemory(t *testing.T) {
	for want, c := range map[string]MemoryConfig{
		"workspace: OutputLimit must not be negative": {OutputLimit: -1}, `workspace: root "a": it is not absolute`: {Roots: []string{"a"}}, `workspace: root "": the path is empty`: {Roots: []string{""}}, `workspace: file "": the path is empty`: {Files: map[string]string{"": "x"}}, `workspace: file "a/b": workspace: write "/project/a/b": is not a directory`: {Files: map[string]string{"a": "x", "a/b": "y"}},
	} {
		if len(c.Files) == 2 {
			_, err := NewMemory(c) // in any order
			require.Error(t, err)
			continue
		}
		_, err := NewMemory(c)
		require.EqualError(t, err, want)
	}
	w, err := NewMemory(MemoryConfig{Roots: []string{"/p/../project"}, Files: map[string]string{"a": "x", "/b": "y"}})
	require.NoError(t, err)
	require.Equal(t, []string{"/project"}, w.Roots())
	d := w.Disk()
	require.NoError(t, d.Mkdir("/project/d"))
	require.NoError(t, d.Symlink("../b", "/project/out"))
	require.NoError(t, d.Symlink("loop", "/project/loop"))
	require.NoError(t, d.Pipe("/project/pipe"))
	ctx := context.Background()
	_, read := d.ReadFile("/project/none")
	_, mode := d.Mode("/project/none")
	_, start := w.Start(ctx, Command{Line: "ls"})
	for want, err := range map[string]error{
		`workspace: read "/project/none": file does not exist`: read, `workspace: stat "/project/none": file does not exist`: mode, `workspace: symlink "/project/a": file already exists`: d.Symlink("b", "/project/a"), `workspace: pipe "/project/a": file already exists`: d.Pipe("/project/a"), `workspace: remove "/project/none": file does not exist`: d.Remove("/project/none"),
		`workspace: mkdir "/project/a/b": is not a directory`: d.Mkdir("/project/a/b"), `workspace: write "/project/d": is a directory`: d.WriteFile("/project/d", nil, 0), `workspace: write "/project/pipe": is not a regular file`: d.WriteFile("/project/pipe", nil, 0), "workspace: start: unsupported operation": start,
		`workspace: remove "d": is a directory`: w.Remove(ctx, "d", AnyVersion), `workspace: remove "none": file does not exist`: w.Remove(ctx, "none", AnyVersion), `workspace: remove "none" : x`: nil, `workspace: remove "a": has changed`: w.Remove(ctx, "a", "old"),
	} {
		if err != nil {
			require.EqualError(t, err, want)
		}
	}
	require.ErrorIs(t, w.Remove(ctx, "none", "v1"), ErrChanged)
	_, err = w.Stat(ctx, "out")
	require.ErrorIs(t, err, ErrOutside)
	_, err = w.Stat(ctx, "loop")
	require.Error(t, err)
	require.NoError(t, w.Remove(ctx, "out", AnyVersion), "a link itself is removed")
	require.NoError(t, d.Remove("/project/loop"))
	info, err := w.Stat(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, w.Remove(ctx, "a", info.Version))
	_, err = d.ReadFile("/project/a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	for links, ok := range map[int]bool{40: true, 41: false} {
		for i := range links {
			require.NoError(t, d.Symlink(fmt.Sprintf("l%d-%d", links, i+1), fmt.Sprintf("/project/l%d-%d", links, i)))
		}
		require.NoError(t, d.WriteFile(fmt.Sprintf("/project/l%d-%d", links, links), []byte("end"), 0o600))
		_, err := w.Stat(ctx, fmt.Sprintf("l%d-0", links))
		require.Equal(t, ok, err == nil, links)
	}
}

// Defaults of the tools, and what options make of them.
func TestOptionsOfTools(t *testing.T) {
	get := func(opts ...ToolsOption) options {
		return Tools(func(s *Session) *Session { return s }, opts...).(*tools[*Session]).options
	}
	o := get()
	require.Equal(t, []any{256 << 10, 32 << 10, 10 * time.Minute, false, false}, []any{o.readLimit, o.outputLimit, o.commandTimeout, o.parallelCommands, o.noTerminals})
	o = get(WithReadLimit(7), WithOutputLimit(8), WithCommandTimeout(-1), WithParallelCommands(), WithoutTerminals(), WithScope(nil))
	require.Equal(t, []any{7, 8, time.Duration(-1), true, true}, []any{o.readLimit, o.outputLimit, o.commandTimeout, o.parallelCommands, o.noTerminals})
	require.NotNil(t, o.scope)
	o = get(WithReadLimit(0), WithOutputLimit(-5))
	require.Equal(t, []int{1, 1}, []int{o.readLimit, o.outputLimit})
	for want, timeout := range map[string]time.Duration{"(default no limit).": 0, "(default 1m0s).": time.Minute, "(default no limit)": -1} {
		text := runCommandDescription(&options{commandTimeout: timeout, noTerminals: true})
		require.True(t, strings.HasSuffix(strings.TrimSuffix(text, "."), strings.TrimSuffix(want, ".")), text)
	}
	for i, f := range []Features{{}, {Read: true}, {Write: true}, {Walk: true}, {Commands: true}, {Unsandboxed: true}, {Commands: true, Unsandboxed: true}, {Unsaved: true}, {Saved: true}} {
		want := []abilities{0, canRead | canReadSaved, canWrite, canWalk, canCommand, 0, canCommand | canLeave, canUnsaved, canReadSaved}[i]
		require.Equal(t, want, abilitiesOf(f), "%+v", f)
	}
	one, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	require.Equal(t, "The working directory is /project; relative paths start there.", instructions(one))
	three, err := NewMemory(MemoryConfig{Roots: []string{"/a", "/b", "/c"}})
	require.NoError(t, err)
	require.Equal(t, "The working directory is /a; relative paths start there. Files in these directories can be used too: /b, /c.", instructions(three))
	s := NewSession(one)
	require.Equal(t, "terminal-3", s.terminalID(3))
	s.ContinueAfter(17)
	require.Equal(t, "terminal-17-3", s.terminalID(3))
}

// Of the commands that have ended, eight are kept, the last ones; of all, thirty-two.
func TestCommandsThatAreKept(t *testing.T) {
	running := func(ctx context.Context, _ *MemoryShell) int { <-ctx.Done(); return 0 }
	w, err := NewMemory(MemoryConfig{Commands: map[string]MemoryScript{"true": MemoryPrint("", 0), "serve": running}})
	require.NoError(t, err)
	s := NewSession(w)
	ctx := context.Background()
	start := func(line string, keep bool) *Terminal {
		term, err := s.start(ctx, Command{Line: line}, "/project", line)
		require.NoError(t, err)
		if line == "true" {
			_, err = term.Process.Wait(ctx)
			require.NoError(t, err)
		}
		if keep {
			s.keep(term)
		}
		return term
	}
	ids := func() (all []string) {
		for _, term := range s.Terminals() {
			all = append(all, strings.TrimPrefix(term.ID, "terminal-"))
		}
		return all
	}
	for range 8 {
		start("true", true)
	}
	require.Len(t, ids(), 8)
	start("true", true)
	require.Equal(t, []string{"2", "3", "4", "5", "6", "7", "8", "9"}, ids())
	for range 24 {
		start("serve", true)
	}
	require.Len(t, ids(), 24+7)
	start("serve", true)
	require.Len(t, ids(), 32)
	start("serve", true)
	require.Len(t, ids(), 32, "one that has ended gives way")
	for range 6 {
		start("serve", true)
	}
	_, err = s.start(ctx, Command{Line: "serve"}, "/project", "serve")
	require.ErrorIs(t, err, errTooMany)
	found, all := s.kept("terminal-20")
	require.Equal(t, "terminal-20", found.ID)
	require.Len(t, all, 32)
	found, _ = s.kept("terminal-1")
	require.Nil(t, found)
	require.NoError(t, s.release(ctx, s.terminals[0]))
	waited := start("serve", false)
	_, all = s.kept(waited.ID)
	require.Len(t, all, 31, "those that a call waits for are not the model's")
	require.NoError(t, s.release(ctx, waited))
	require.NoError(t, s.release(ctx, waited), "once")
	require.NoError(t, s.Close(ctx))
	require.NoError(t, s.Close(ctx))
	require.Empty(t, ids())
	_, err = s.start(ctx, Command{Line: "true"}, "/project", "true")
	require.EqualError(t, err, "workspace: start: session: closed")
}

// Of the words that may be directories two hundred are looked at, and a thousand names are followed:
// beyond that a command may read or write anything.
func TestNamesThatAreLookedAtAreBounded(t *testing.T) {
	w, err := NewMemory(MemoryConfig{Files: map[string]string{"d/x": "", "d2/x": ""}})
	require.NoError(t, err)
	require.NoError(t, w.Disk().Mkdir("/project/empty"))
	require.NoError(t, w.Disk().Symlink("d", "/project/link"))
	c := &call{ws: w}
	names := func(n int, last ...string) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("n%d", i))
		}
		return append(all, last...)
	}
	read := func(path string) model.Effect { return model.Effect{Kind: model.EffectRead, Path: path} }
	unknown := func(words []string) []model.Effect {
		return []model.Effect{{Kind: model.EffectUnknown, Argv: words, Dir: "/project"}}
	}
	require.Equal(t, []model.Effect{read("/project/d/"), read("/project/d2/")}, c.directories(t.Context(), append(unknown([]string{"d", ".", "empty", "d/x", "none", "d", "/etc"}), read("/project/d2"), read("/project/d2/"))))
	require.Equal(t, []model.Effect{read("/project/d/")}, c.directories(t.Context(), unknown(names(199, "d"))))
	require.Equal(t, []model.Effect{read("/"), read("/project/d/")}, c.directories(t.Context(), unknown(names(200, "d"))))
	require.Equal(t, []model.Effect{read("/")}, c.directories(t.Context(), unknown(names(201, "d"))))
	for _, e := range []struct {
		effects, want []model.Effect
	}{
		{unknown([]string{"a", "link/x", "link"}), []model.Effect{{Kind: model.EffectUnknown, Argv: []string{"/project/d/x", "/project/d"}, Dir: "/project"}}}, {unknown([]string{"a"}), nil}, {[]model.Effect{read("/project/link"), read("/project/d")}, []model.Effect{read("/project/d")}}, {[]model.Effect{read("/project/link/")}, []model.Effect{read("/project/d/")}},
		{[]model.Effect{{Kind: model.EffectRun, Argv: []string{"link"}, Dir: "/project"}}, nil}, {unknown(names(999)), nil}, {unknown(names(1000)), []model.Effect{read("/"), {Kind: model.EffectWrite, Path: "/"}}},
	} {
		require.Equal(t, e.want, c.behindLinks(t.Context(), e.effects))
	}
	require.Empty(t, basisOf(nil))
	require.NotEqual(t, basisOf([]model.Effect{read("/a")}), basisOf([]model.Effect{read("/b")}))
	require.Len(t, basisOf([]model.Effect{read("/a")}), len(" through ")+32)
}

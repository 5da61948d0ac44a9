// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// RunSession plays a random coding session: an agent reads, writes and edits files, takes changes
// back and runs commands, while a user types, saves, formats and deletes, and other programs
// write. A model of the files agrees after every step: each byte that changes is the user's, a
// command's, or in a difference that was approved. editor is nil for backends without one. The
// error says which step broke the law.
func RunSession(ctx context.Context, seed uint64, editor *Editor, newEnv func(*Editor) (*workspacetest.Env, error)) error {
	env, err := newEnv(editor)
	if err != nil {
		return err
	}
	if env.Close != nil {
		defer env.Close()
	}
	c := &cell{ctx: ctx, kind: &kind{}, env: env, editor: editor}
	if c.user, err = c.newUser(); err != nil {
		return err
	}
	defer c.user.session.Close(ctx)
	s := &session{cell: c, r: rand.New(rand.NewPCG(seed, 25)), files: map[string]*modelled{}, root: env.Workspace.Roots()[0]}
	if err := s.begin(); err != nil {
		return err
	}
	for n := range 8 + s.r.IntN(16) {
		what, err := s.step()
		if err == nil {
			err = s.agrees()
		}
		if err != nil {
			return fmt.Errorf("seed %d, step %d, %s: %w", seed, n, what, err)
		}
	}
	return nil
}

// modelled is a file as the test knows it.
type modelled struct {
	name, path string
	disk       []byte  // nil for no file
	typed      *string // what the editor has and has not saved
	foreign    bool    // somebody else has changed it since the mark
}

// session is a random coding session.
type session struct {
	*cell
	r     *rand.Rand
	root  string
	next  int
	files map[string]*modelled
	mark  int
	then  map[string][]byte // the files at the mark
}

func (s *session) token(who string) string {
	s.next++
	return fmt.Sprintf("%s%05d;", who, s.next)
}

// begin makes files of several kinds.
func (s *session) begin() error {
	for _, name := range []string{"a", "b", "c"} {
		f := &modelled{name: name, path: workspace.StyleOf(s.root).Join(s.root, name)}
		s.files[name] = f
		var lines []string
		for range 3 + s.r.IntN(12) {
			lines = append(lines, "line "+s.token("w"))
		}
		end := "\n"
		text := strings.Join(lines, end)
		switch s.r.IntN(10) {
		case 0:
			text = strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
		case 1:
			text = "d\xe9j\xe0 vu, caf\xe9 cr\xe8me, \xe9t\xe9\n" + text + "\nfran\xe7ais\n"
		case 2:
			text = "\ufeff" + text + "\n"
		case 3: // without a newline at the end
		case 4:
			text = strings.ReplaceAll(text, ";\n", ";  \n") + "\t\n"
		case 5:
			continue
		case 6:
			text = string(encodedAs([]byte("\xff\xfea\x00"), "\ufeff上上\n"+text+"\n"))
		case 7:
			text = shiftJIS + text + "\n"
		default:
			text += "\n"
		}
		f.disk = []byte(text)
		if err := s.env.Disk.WriteFile(f.path, f.disk, 0o644); err != nil {
			return err
		}
	}
	s.marks()
	return nil
}

func (s *session) marks() {
	s.mark = s.recorder.Mark("turn").ID
	s.then = map[string][]byte{}
	for name, f := range s.files {
		s.then[name], f.foreign = f.disk, f.typed != nil
	}
}

func (s *session) any() *modelled {
	return s.files[[]string{"a", "b", "c"}[s.r.IntN(3)]]
}

func (s *session) step() (what string, err error) {
	f := s.any()
	switch n := s.r.IntN(20); {
	case n < 2:
		return "read " + f.name, s.reads(f)
	case n < 8:
		return "edit " + f.name, s.edits(f)
	case n < 10:
		return "write " + f.name, s.writes(f)
	case n < 13:
		return "undo", s.undoes()
	case n < 15:
		s.marks()
		return "turn", nil
	case n == 15:
		return "command on " + f.name, s.runs(f)
	}
	return s.other(f)
}

// other has the user or another program do something.
func (s *session) other(f *modelled) (string, error) {
	f.foreign = true
	n := s.r.IntN(6)
	switch {
	case n == 0:
		f.disk = nil
		_ = s.env.Disk.Remove(f.path)
		return "delete " + f.name, nil
	case n < 3 || s.editor == nil:
		f.disk = appended(f.disk, "program "+s.token("u")+"\n")
		return "program on " + f.name, s.env.Disk.WriteFile(f.path, f.disk, 0o644)
	case n == 3:
		return "save", s.saves()
	}
	text, err := s.editor.Read(f.path)
	if err != nil {
		return "type nothing", nil // the editor does not show the file
	}
	lines := strings.SplitAfter(text, "\n")
	at := s.r.IntN(len(lines))
	if n == 4 && at > 0 {
		lines[at-1] = strings.TrimRight(lines[at-1], "\n") + " " + s.token("u") + "\n"
	} else {
		lines = append(lines[:at:at], append([]string{"typed " + s.token("u") + "\n"}, lines[at:]...)...)
	}
	f.typed = new(strings.Join(lines, ""))
	s.editor.Type(f.path, *f.typed)
	if s.r.IntN(2) == 0 {
		return "type and save " + f.name, s.saves()
	}
	return "type in " + f.name, nil
}

// saves has the user save everything.
func (s *session) saves() error {
	for _, f := range s.files {
		if f.typed != nil {
			f.disk, f.typed, f.foreign = []byte(s.saved(f, *f.typed)), nil, true
		}
	}
	return s.editor.SaveAll()
}

// saved returns what the editor makes of text when it saves it in place of what is on disk.
func (s *session) saved(f *modelled, text string) string {
	if s.editor == nil {
		return text
	}
	return s.editor.savedOver(f.disk, f.disk != nil, text)
}

// runs has the agent run a command that writes.
func (s *session) runs(f *modelled) error {
	if !s.env.Workspace.Features().Commands {
		return nil
	}
	if text, _ := workspace.DecodeText(f.disk); strings.HasPrefix(text.Encoding, "UTF-16") {
		return nil // what it prints would be no text
	}
	line := "command " + s.token("u")
	p, err := s.recorder.Start(s.ctx, workspace.Command{Line: "printf '%s\\n' '" + line + "' >> " + f.name})
	if err != nil {
		return err
	}
	if _, err := p.Wait(s.ctx); err != nil {
		return err
	}
	f.disk, f.foreign = append(append([]byte{}, f.disk...), line+"\n"...), true
	return p.Close(s.ctx)
}

// now returns what an agent works on: what is typed before what is on disk.
func (s *session) now(f *modelled) (text []byte, unsaved, ok bool) {
	if f.typed != nil && (f.disk == nil && *f.typed != "" || f.disk != nil && !workspace.IsLossyView(f.disk, []byte(*f.typed))) {
		return []byte(string([]rune(*f.typed))), true, true // editors send UTF-8 only
	}
	t, ok := workspace.DecodeText(f.disk)
	return t.Data, false, ok && f.disk != nil
}

func (s *session) reads(f *modelled) error {
	s.asked = nil
	told, refused, err := outcome(s.call(workspace.ToolReadFile, args{"path": f.name}))
	text, unsaved, ok := s.now(f)
	switch {
	case err != nil:
		return err
	case refused && ok && !unsaved:
		return fmt.Errorf("the text was not read: %s", told)
	case !refused && !strings.HasPrefix(strings.ReplaceAll(told, "\r\n", "\n"), strings.ReplaceAll(string(text), "\r\n", "\n")):
		return fmt.Errorf("the model was told %q of %q", short(told), short(string(text)))
	case !refused && unsaved != strings.Contains(told, "not what is on disk"):
		return fmt.Errorf("unsaved: %v, and the model was told %q", unsaved, short(told))
	}
	return nil
}

// asks has something happen to the file while the first question is open, at times.
func (s *session) asks(f *modelled) {
	s.asked, s.kind.during = nil, nil
	if s.r.IntN(5) == 0 {
		s.kind.during = func(*cell) { _, _ = s.other(f) }
	}
}

// edits has the agent replace a token of the text that is there.
func (s *session) edits(f *modelled) error {
	text, _, _ := s.now(f)
	i := bytes.IndexByte(text, ';')
	for range s.r.IntN(8) {
		if more := bytes.IndexByte(text[i+1:], ';'); more >= 0 {
			i += 1 + more
		}
	}
	if i < 6 {
		return nil
	}
	old, replacement := string(text[i-6:i+1]), s.token("g")
	if s.r.IntN(3) == 0 {
		replacement += []string{"é", "上", "Ã©", "→"}[s.r.IntN(4)]
	}
	s.asks(f)
	return s.changes(f, workspace.ToolEditFile, args{"path": f.name, "edits": []args{{"old_text": old, "new_text": replacement}}},
		func(now []byte) []byte {
			was, _ := workspace.DecodeText(now)
			return encodedAs(now, strings.Replace(string(was.Data), old, replacement, 1))
		})
}

// writes has the agent write a whole file.
func (s *session) writes(f *modelled) error {
	content := "agent 上 " + s.token("g") + "\nagent  " + s.token("g") + "  \n"
	s.asks(f)
	return s.changes(f, workspace.ToolWriteFile, args{"path": f.name, "content": content},
		func(now []byte) []byte { return encodedAs(now, content) })
}

// changes makes a call and checks the file afterwards. made makes the same change in the model.
func (s *session) changes(f *modelled, tool string, a args, made func([]byte) []byte) error {
	res, err := s.call(tool, a)
	told, refused, err := outcome(res, err)
	if err != nil || refused {
		return err // and nothing has changed, which the model knows
	}
	var w workspace.FileWritten
	if err := json.Unmarshal(res.Meta, &w); err != nil {
		return err
	}
	if !w.Changed {
		return nil
	}
	from := f.disk
	if _, unsaved, _ := s.now(f); unsaved {
		from = []byte(*f.typed)
	} else if w.Reformatted && f.disk != nil && s.editor != nil && !s.editor.shows(f.disk, string(f.disk)) {
		return fmt.Errorf("it went through an editor that loses bytes of it: %s", told)
	}
	return s.became(f, told, &w, made(from))
}

// became checks that a file holds the approved contents, or those with the formatting that was
// told.
func (s *session) became(f *modelled, told string, w *workspace.FileWritten, want []byte) error {
	after := s.cell.diskOf(f.path)
	switch {
	case w.Unsaved:
		f.typed = new(string(want))
		if !strings.Contains(told, "not saved") {
			return fmt.Errorf("not saved, and the model was told %q", told)
		}
		return nil
	case w.Reformatted && (s.saved(f, string(want)) != string(after) || !strings.Contains(told, "reformatted")):
		return fmt.Errorf("%q was saved of %q, and the model was told %q",
			short(string(after)), short(string(want)), told)
	case !w.Reformatted && !bytes.Equal(after, want):
		return fmt.Errorf("on disk is %q, and approved was %q",
			short(string(after)), short(string(want)))
	case w.Bytes != len(after):
		return fmt.Errorf("%d bytes are on disk, and %d are told", len(after), w.Bytes)
	}
	s.holds(f, after)
	return nil
}

// holds notes the contents on disk after a change. Unsaved text stays if the change did not go
// through the editor.
func (s *session) holds(f *modelled, after []byte) {
	if f.disk = after; s.editor == nil || !s.editor.Unsaved(f.path) {
		f.typed = nil
	}
}

// diskOf returns the contents on disk, nil if the file is missing.
func (c *cell) diskOf(path string) []byte {
	data, err := c.env.Disk.ReadFile(path)
	if err != nil {
		return nil
	}
	return append([]byte{}, data...)
}

// agrees compares the model with what is there.
func (s *session) agrees() error {
	for _, name := range []string{"a", "b", "c"} {
		f := s.files[name]
		if now := s.cell.diskOf(f.path); !bytes.Equal(now, f.disk) || (now == nil) != (f.disk == nil) {
			return fmt.Errorf("%s holds %q, and the model %q",
				name, short(string(now)), short(string(f.disk)))
		}
		if s.editor == nil || !s.editor.Unsaved(f.path) {
			if f.typed != nil {
				return fmt.Errorf("%s: what was typed is gone: %q", name, short(*f.typed))
			}
			continue
		}
		if now, err := s.editor.Read(f.path); err != nil || f.typed == nil || now != *f.typed {
			return fmt.Errorf("%s: the editor has %q, and not what was typed: %v",
				name, short(now), err)
		}
	}
	return nil
}

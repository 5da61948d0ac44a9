// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// RunTruths checks the law of files: what the model is told, what the person approves and what is on disk are the same bytes, or the change is
// refused and nothing has changed. Files of 20 kinds are read, written, edited and taken back. newEnv is called once for each subtest; it
// sets editor.Disk. Backends without a fake of an editor pass a nil editor.
func RunTruths(t *testing.T, editor func() *Editor, newEnv func(*Editor) (*Env, error)) {
	t.Helper()
	all := kinds()
	if editor == nil && !testing.Short() {
		all = append(all, kind{name: "5 MB", data: strings.Repeat(strings.Repeat("x", 107)+"\n", 48_500) + plainText})
	}
	for _, k := range all {
		for _, what := range []string{"read", "write", "edit", "undo"} {
			t.Run(k.name+"/"+what, func(t *testing.T) {
				var e *Editor
				if editor != nil {
					e = editor()
				}
				if err := k.run(t.Context(), e, newEnv, what); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// kind is a kind of file.
type kind struct {
	name string
	data string
	mode fs.FileMode
	// missing files do not exist before.
	missing bool
	// created files are made by the agent.
	created bool
	// typed is unsaved text of the user.
	typed string
	// link makes the file a link to another one.
	link bool
	// during happens while the question is open.
	during func(c *cell)
}

const (
	// needle is the text that edits replace, on the second line of every text.
	needle    = "needle"
	plainText = "one\ntwo needle\nthree\n"
)

func kinds() []kind {
	body := plainText
	utf16 := "\xff\xfe"
	for _, b := range []byte(body) {
		utf16 += string(b) + "\x00"
	}
	return []kind{
		{name: "plain", data: body},
		{name: "CRLF", data: strings.ReplaceAll(body, "\n", "\r\n")},
		{name: "mixed line endings", data: "one\r\ntwo needle\nthree\rfour\r\n"},
		{name: "byte order mark", data: "\ufeff" + body},
		{name: "Latin-1", data: "caf\xe9 au lait\ntwo needle\nd\xe9j\xe0 vu\n"},
		{name: "UTF-16", data: utf16},
		{name: "Shift_JIS", data: "\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B\ntwo needle\n"},
		{name: "no final newline", data: "one\ntwo needle\nthree"},
		{name: "binary", data: "GIF89a\x01\x00\x02needle\n\xff\xfe\x80\x00\xf0"},
		{name: "encoded in two ways", data: "h\xc3\xa9\nneedle\nw\xe9\n"},
		{name: "empty", data: ""},
		{name: "missing", missing: true},
		{name: "created by the agent", data: body, missing: true, created: true},
		{name: "large", data: strings.Repeat(strings.Repeat("x", 107)+"\n", 2000) + body},
		{name: "long lines", data: strings.Repeat("x", 20_000) + "\ntwo needle\n"},
		{name: "blanks and tabs", data: "\tone  \n\ttwo needle\t\n  three \n"},
		{name: "emoji", data: "👩‍👩‍👧 e\u0301\ntwo needle\n"},
		{name: "read-only", data: body, mode: 0o444},
		{name: "link", data: body, link: true},
		{name: "changed on disk", data: body, during: func(c *cell) { c.disk([]byte("zero\n" + body)) }},
		{name: "unsaved in the editor", data: body, typed: "typed\n" + body},
		{name: "typed while the question is open", data: body, during: func(c *cell) { c.typed("typed\n" + body) }},
		{name: "deleted while the question is open", data: body, during: func(c *cell) { _ = c.env.Disk.Remove(c.path) }},
	}
}

// cell is one kind of file in one editor.
type cell struct {
	ctx      context.Context
	kind     *kind
	env      *Env
	editor   *Editor
	path     string
	recorder *checkpoint.Recorder
	user     *user
	// asked are the approvals that were given, the last one last.
	asked  []*toolset.Approval
	before []byte // on disk; nil for no file
	// created is the checkpoint before the file was created; 0 if the agent has not created it.
	created int
}

func (k *kind) run(ctx context.Context, e *Editor, newEnv func(*Editor) (*Env, error), what string) error {
	env, err := newEnv(e)
	if err != nil {
		return err
	}
	if env.Close != nil {
		defer env.Close()
	}
	c := &cell{ctx: ctx, kind: new(*k), env: env, editor: e}
	if err := c.prepare(); err != nil {
		return err
	}
	if c.user, err = c.newUser(); err != nil {
		return err
	}
	defer c.user.session.Close(ctx)
	if k.created {
		if err := c.create(); err != nil {
			return err
		}
	}
	switch what {
	case "read":
		return c.read()
	case "write":
		return c.change(workspace.ToolWriteFile, args{"path": "file", "content": "new\ntext  \n"})
	case "edit":
		return c.change(workspace.ToolEditFile, args{"path": "file", "edits": []args{{"old_text": needle, "new_text": "pin"}}})
	}
	return c.undo()
}

func (c *cell) prepare() error {
	root := c.env.Workspace.Roots()[0]
	style := workspace.StyleOf(root)
	c.path = style.Join(root, "file")
	if !c.kind.missing {
		mode := c.kind.mode
		if mode == 0 {
			mode = 0o644
		}
		path := c.path
		if c.kind.link {
			path = style.Join(root, "target")
			if err := c.env.Disk.Symlink("target", c.path); err != nil {
				return err
			}
		}
		if err := c.env.Disk.WriteFile(path, []byte(c.kind.data), mode); err != nil {
			return err
		}
	}
	if c.kind.typed != "" {
		c.typed(c.kind.typed)
	}
	c.before = c.now()
	return nil
}

// create has the agent create the file.
func (c *cell) create() error {
	c.created = c.recorder.Mark("create").ID
	told, refused, err := outcome(c.call(workspace.ToolWriteFile, args{"path": "file", "content": c.kind.data}))
	if err != nil || refused {
		return fmt.Errorf("create the file: %s: %w", told, err)
	}
	c.asked, c.before = nil, c.now()
	if c.editor != nil && c.editor.Unsaved(c.path) {
		c.kind.typed = c.kind.data
	}
	return nil
}

func (c *cell) newUser() (*user, error) {
	c.recorder = checkpoint.New(c.env.Workspace, checkpoint.Options{})
	p := &probe{Env: c.env, ctx: c.ctx, ws: c.recorder}
	u := p.user(nil)
	return u, errors.Join(p.errs...)
}

// now returns the contents on disk, nil if the file is missing.
func (c *cell) now() []byte {
	data, err := c.env.Disk.ReadFile(c.path)
	if err != nil {
		return nil
	}
	return append([]byte{}, data...)
}

func (c *cell) disk(data []byte) { _ = c.env.Disk.WriteFile(c.path, data, 0o644) }

func (c *cell) typed(text string) {
	if c.editor != nil {
		c.editor.Type(c.path, text)
	}
}

// call makes a call, and approves it as often as it asks.
func (c *cell) call(tool string, a args) (toolset.Result, error) {
	t := c.user.tools[tool]
	raw, err := json.Marshal(a)
	if err != nil {
		return toolset.Result{}, err
	}
	decoded, err := t.Decode(raw)
	if err != nil {
		return toolset.Result{}, err
	}
	run := *c.user.run
	var approval *toolset.Approval
	if t.Approval != nil {
		if approval, err = t.Approval(c.ctx, &run, decoded); err != nil {
			return toolset.Result{}, err
		}
	}
	for range 5 {
		if approval != nil {
			c.asked = append(c.asked, approval)
			if len(c.asked) == 1 && c.kind.during != nil {
				c.kind.during(c)
				c.before = c.now()
			}
			if err := c.ask(tool, raw, approval); err != nil {
				return toolset.Result{}, err
			}
			run.Call.Approved, run.Call.Approval = true, approval
		}
		res, err := t.Call(c.ctx, &run, decoded)
		required, ok := errors.AsType[*toolset.ApprovalRequiredError](err)
		if !ok {
			return res, err
		}
		approval = &required.Approval
	}
	return toolset.Result{}, errors.New("it asks for ever")
}

// ask puts a question to the person, if there is one.
func (c *cell) ask(tool string, raw json.RawMessage, a *toolset.Approval) error {
	if c.env.Asker == nil {
		return nil
	}
	d, err := c.env.Asker.Approve(c.ctx, toolset.ApprovalRequest{
		Origin: toolset.Origin{Path: []string{"call"}, RunID: "run", Step: len(c.asked), Tool: tool, Kind: toolset.KindEdit}, Args: raw, Approval: *a,
	})
	if err == nil && d.Verdict != toolset.VerdictAllow {
		err = fmt.Errorf("the question was answered with %s: %s", d.Verdict, d.Reason)
	}
	return err
}

// outcome separates what a call did from how it was refused.
func outcome(res toolset.Result, err error) (told string, refused bool, bad error) {
	if failed, ok := errors.AsType[*toolset.FailedError](err); ok {
		return failed.Message, true, nil
	}
	return res.Text, res.Outcome != "", err
}

// read checks what the model is told of a file.
func (c *cell) read() error {
	told, refused, err := outcome(c.call(workspace.ToolReadFile, args{"path": "file"}))
	if err != nil {
		return err
	}
	if !bytes.Equal(c.now(), c.before) {
		return errors.New("a read has changed the file")
	}
	text, isText := workspace.DecodeText(c.before)
	unsaved := c.editor != nil && c.kind.typed != ""
	switch {
	case refused && isText && c.before != nil && !unsaved:
		return fmt.Errorf("the text was not read: %s", told)
	case refused:
		return nil
	case unsaved:
		if !strings.HasPrefix(told, c.kind.typed) || !strings.Contains(told, "not what is on disk") {
			return fmt.Errorf("the model was told %q of unsaved text", short(told))
		}
		return nil
	case c.before == nil:
		return fmt.Errorf("the model was told %q of a missing file", short(told))
	case !isText:
		return fmt.Errorf("the model was told %q of a binary file", short(told))
	}
	if c.kind.name != "long lines" && !strings.HasPrefix(told, string(text.Data)) {
		if !strings.Contains(told, "[Cut here") {
			return fmt.Errorf("the model was told %q, and on disk is %q", short(told), short(string(text.Data)))
		}
	}
	return nil
}

// change makes a change, and checks that the three truths agree.
func (c *cell) change(tool string, a args) error {
	res, err := c.call(tool, a)
	told, refused, err := outcome(res, err)
	if err != nil {
		return err
	}
	after := c.now()
	if refused {
		if !bytes.Equal(after, c.before) || (after == nil) != (c.before == nil) {
			return fmt.Errorf("refused (%s), and the disk changed from %q to %q", told, short(string(c.before)), short(string(after)))
		}
		return c.refusal(tool, told)
	}
	if len(c.asked) == 0 {
		return fmt.Errorf("nobody was asked: %s", told)
	}
	return c.agree(tool, told, res.Meta, after)
}

// refusal checks that a change which was refused could not have been made.
func (c *cell) refusal(tool, told string) error {
	good := false
	switch c.kind.name {
	case "binary", "encoded in two ways":
		good = tool == workspace.ToolEditFile || strings.Contains(told, "cannot show this file")
	case "missing", "empty", "deleted while the question is open":
		good = tool == workspace.ToolEditFile
	case "Latin-1", "UTF-16", "Shift_JIS":
		good = strings.Contains(told, "cannot show this file")
	case "unsaved in the editor", "typed while the question is open":
		good = c.editor != nil && strings.Contains(told, "unsaved changes")
	}
	if !good {
		return fmt.Errorf("refused: %s", told)
	}
	return nil
}

// agree compares the approved diff, what the model was told and what is on disk.
func (c *cell) agree(tool, told string, meta json.RawMessage, after []byte) error {
	var written workspace.FileWritten
	if err := json.Unmarshal(meta, &written); err != nil {
		return err
	}
	if written.Unsaved {
		if !bytes.Equal(after, c.before) || !strings.Contains(told, "not saved") {
			return fmt.Errorf("not saved, and the model was told %q", told)
		}
		return nil
	}
	if written.Bytes != len(after) {
		return fmt.Errorf("%d bytes are on disk, and %d are told", len(after), written.Bytes)
	}
	last := c.asked[len(c.asked)-1]
	diff := last.Preview[0].Diff
	if text, _ := workspace.DecodeText(after); *diff.New != string(text.Data) && !written.Reformatted {
		return fmt.Errorf("approved was %q, and on disk is %q", short(*diff.New), short(string(after)))
	}
	if written.Reformatted != strings.Contains(told, "reformatted") {
		return fmt.Errorf("reformatted: %v, and the model was told %q", written.Reformatted, told)
	}
	if shown := c.shownBefore(last); tool == workspace.ToolEditFile && !written.Reformatted {
		want := bytes.Replace(shown, c.encoded(needle), c.encoded("pin"), 1)
		if !bytes.Equal(after, want) {
			return fmt.Errorf("the edit made %q of %q", short(string(after)), short(string(shown)))
		}
	}
	return c.explained(last)
}

// shownBefore returns the contents that the approved change was made from.
func (c *cell) shownBefore(a *toolset.Approval) []byte {
	if c.editor != nil && c.before != nil && strings.Contains(shownText(a), "not on disk") {
		return []byte(*a.Preview[0].Diff.Old)
	}
	return c.before
}

// explained checks that the question had what was on disk before: in the diff, or beside it.
func (c *cell) explained(a *toolset.Approval) error {
	old := a.Preview[0].Diff.Old
	text, isText := workspace.DecodeText(c.before)
	switch {
	case c.before == nil || !isText || old != nil && *old == string(text.Data):
		return nil
	case strings.Contains(shownText(a), "not on disk"):
		return nil
	}
	return fmt.Errorf("the question showed %v, and on disk was %q", old, short(string(c.before)))
}

// shownText returns the text of a question besides the diff.
func shownText(a *toolset.Approval) string {
	var b strings.Builder
	for _, p := range a.Preview {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// encoded returns ASCII in the encoding of the file.
func (c *cell) encoded(text string) []byte {
	if !strings.HasPrefix(string(c.before), "\xff\xfe") {
		return []byte(text)
	}
	var out []byte
	for _, b := range []byte(text) {
		out = append(out, b, 0)
	}
	return out
}

// undo makes a change and takes it back: the disk is as it was, or what is not is told.
func (c *cell) undo() error {
	tool, a := workspace.ToolEditFile, args{"path": "file", "edits": []args{{"old_text": needle, "new_text": "pin"}}}
	if !bytes.Contains(c.before, c.encoded(needle)) {
		tool, a = workspace.ToolWriteFile, args{"path": "file", "content": "new\ntext  \n"}
	}
	mark := c.recorder.Mark("turn")
	_, refused, err := outcome(c.call(tool, a))
	if err != nil {
		return err
	}
	changed := c.now()
	if refused {
		return nil
	}
	if c.editor != nil && c.editor.Unsaved(c.path) {
		return c.undoUnsaved(mark.ID, changed)
	}
	undone := checkpoint.Only(mark.ID)
	if c.created != 0 {
		undone = checkpoint.Since(c.created)
	}
	res, err := c.recorder.Undo(c.ctx, undone)
	if err != nil {
		if now := c.now(); !bytes.Equal(now, changed) && !bytes.Equal(now, c.before) {
			return fmt.Errorf("the undo failed (%w) and left %q", err, short(string(now)))
		}
		if c.env.Workspace.Features().Remove {
			return err
		}
		return nil
	}
	if len(res.Files) == 0 {
		return errors.New("the undo knows of no file")
	}
	want := c.before
	if c.created != 0 {
		want = nil
	}
	if c.kind.typed != "" && c.editor != nil {
		want = []byte(c.kind.typed) // which the change has saved
	}
	for _, a := range c.asked {
		if old := a.Preview[0].Diff.Old; old != nil && strings.HasPrefix(*old, "typed") {
			want = []byte(*old)
		}
	}
	if now := c.now(); !bytes.Equal(now, want) || (now == nil) != (want == nil) {
		return fmt.Errorf("after the undo %q is on disk, and before it was %q", short(string(now)), short(string(want)))
	}
	return nil
}

// undoUnsaved takes back a change that the editor has not saved.
func (c *cell) undoUnsaved(id int, changed []byte) error {
	_, err := c.recorder.Undo(c.ctx, checkpoint.Only(id))
	if now := c.now(); !bytes.Equal(now, changed) {
		return fmt.Errorf("the undo (%v) changed the disk, where nothing was saved, to %q", err, short(string(now)))
	}
	return nil
}

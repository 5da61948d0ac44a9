// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// RunTruths checks the law of files: what the model is told, what the person approves and what is
// on disk are the same bytes, or the change is refused and nothing has changed. Where the workspace
// does not see the disk ([workspacetest.Env.Elsewhere]), the truth is the text in the editor, and nothing else
// is claimed. Files of 20 kinds are read, written, edited and taken back. newEnv is called once
// more than there are subtests; it sets editor.Disk. Backends without a fake of an editor pass a
// nil editor.
func RunTruths(t *testing.T, editor func() *Editor, newEnv func(*Editor) (*workspacetest.Env, error)) {
	t.Helper()
	env, err := newEnv(newEditor(editor))
	if err != nil {
		t.Fatal(err)
	}
	if env.Close != nil {
		env.Close()
	}
	all := slices.DeleteFunc(kinds(), func(k kind) bool {
		return k.denied && env.Deny == nil || k.mode == 0 && k.dir == 0 && env.Deny != nil
	})
	if env.Deny == nil && editor == nil && !testing.Short() {
		all = append(all, kind{name: "5 MB", data: strings.Repeat(strings.Repeat("x", 107)+"\n", 48_500) + plainText})
	}
	for _, k := range all {
		for _, what := range []string{"read", "write", "edit", "undo"} {
			t.Run(k.name+"/"+what, func(t *testing.T) {
				switch err := k.run(t.Context(), newEditor(editor), newEnv, what); {
				case errors.Is(err, errNotHere):
					t.Skip(err)
				case err != nil:
					t.Error(err)
				}
			})
		}
	}
}

func newEditor(editor func() *Editor) *Editor {
	if editor == nil {
		return nil
	}
	return editor()
}

// cell is one kind of file in one editor.
type cell struct {
	ctx      context.Context
	kind     *kind
	env      *workspacetest.Env
	editor   *Editor
	path     string
	recorder *checkpoint.Recorder
	user     *user
	// asked are the approvals that were given, the last one last.
	asked  []*toolset.Approval
	before []byte // on disk; nil for no file
	// shown is the editor's view when the last question was asked.
	shown view
	// denying is set while permissions are taken away.
	denying bool
	// created is the checkpoint before the file was created; 0 if the agent has not created it.
	created int
}

func (k *kind) run(ctx context.Context, e *Editor, newEnv func(*Editor) (*workspacetest.Env, error), what string) error {
	env, err := newEnv(e)
	if err != nil {
		return err
	}
	if env.Close != nil {
		defer env.Close()
	}
	if k.created && !env.Workspace.Features().Write {
		return errNotHere
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
	l := law{c.read, c.change, c.undo}
	switch {
	case env.Elsewhere:
		l = law{c.readElsewhere, c.changeElsewhere, c.undoElsewhere}
	case env.Deny != nil && (k.mode != 0 || k.dir != 0):
		l = law{c.readDenied, c.changeDenied, c.undoDenied}
	}
	return l.check(what)
}

// law has the checks of a file: it is read, changed, and the change is undone.
type law struct {
	read   func() error
	change func(tool string, a args) error
	undo   func() error
}

func (l *law) check(what string) error {
	switch what {
	case "read":
		return l.read()
	case "write":
		return l.change(replacement())
	case "edit":
		return l.change(edit())
	}
	return l.undo()
}

// replacement is a call that writes a whole file, and edit one that changes the second line.
func replacement() (string, args) {
	return workspace.ToolWriteFile, args{"path": "file", "content": "new\ntext  \n"}
}

func edit() (string, args) {
	return workspace.ToolEditFile, args{"path": "file", "edits": []args{{"old_text": needle, "new_text": "pin"}}}
}

// errNotHere means that the agent cannot create the file.
var errNotHere = errors.New("the agent cannot create files here")

func (c *cell) prepare() error {
	root := c.env.Workspace.Roots()[0]
	style := workspace.StyleOf(root)
	c.path = style.Join(root, "file")
	if !c.kind.missing {
		mode := c.kind.mode
		if mode == 0 || c.env.Deny != nil {
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
		return errors.Join(errors.New("create the file: "+told), err)
	}
	c.asked, c.before = nil, c.now()
	if c.editor != nil && c.editor.Unsaved(c.path) {
		c.kind.typed = c.kind.data
	}
	return nil
}

// user has the tools of a session.
type user struct {
	session *workspace.Session
	run     *toolset.RunContext[*workspace.Session]
	tools   map[string]*toolset.Tool[*workspace.Session]
}

func (c *cell) newUser() (*user, error) {
	c.recorder = checkpoint.New(c.env.Workspace, checkpoint.Options{})
	u := &user{session: workspace.NewSession(c.recorder), tools: map[string]*toolset.Tool[*workspace.Session]{}}
	u.run = &toolset.RunContext[*workspace.Session]{Deps: u.session}
	in, err := workspace.Tools(func(s *workspace.Session) *workspace.Session { return s }).Open(c.ctx, u.run)
	if err != nil {
		return nil, err
	}
	listing, err := in.Tools(c.ctx, u.run)
	for _, t := range listing.Tools {
		u.tools[t.Def.Name] = t
	}
	return u, err
}

type args = map[string]any

func short(s string) string {
	if len(s) > 300 {
		return s[:150] + "…" + s[len(s)-150:]
	}
	return s
}

// now returns the contents on disk, nil if the file is missing.
func (c *cell) now() []byte {
	defer c.lift()()
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
	if t == nil {
		return toolset.Result{}, toolset.Failed("%s", notOffered)
	}
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
			c.shown = c.view()
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

const notOffered = "The tool is not offered."

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

// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// deny takes away the permissions that the kind lacks.
func (c *cell) deny() error {
	c.denying = true
	root := c.env.Workspace.Roots()[0]
	var errs []error
	if c.kind.mode != 0 && !c.kind.missing {
		errs = append(errs, c.env.Deny(c.path, c.kind.mode))
	}
	if c.kind.dir != 0 {
		errs = append(errs, c.env.Deny(root, c.kind.dir))
	}
	return errors.Join(errs...)
}

// lift gives the permissions back until again is called.
func (c *cell) lift() (again func()) {
	if !c.denying {
		return func() {}
	}
	_ = c.env.Deny(c.env.Workspace.Roots()[0], 0o755)
	if mode, err := c.env.Disk.Mode(c.path); err == nil && mode.IsRegular() {
		_ = c.env.Deny(c.path, 0o644)
	}
	c.denying = false
	return func() { _ = c.deny() }
}

// readDenied checks what the model is told of a file that may not be accessible.
func (c *cell) readDenied() error {
	if err := c.deny(); err != nil {
		return err
	}
	defer func() { c.lift() }()
	told, refused, err := outcome(c.call(workspace.ToolReadFile, args{"path": "file"}))
	text, _ := workspace.DecodeText([]byte(c.kind.data))
	switch readable := c.kind.mode&0o400 != 0 || c.kind.mode == 0 && c.kind.dir&0o100 != 0; {
	case err != nil:
		return err
	case c.kind.missing:
		if !refused {
			return fmt.Errorf("the model was told %q of a missing file", told)
		}
	case readable && !strings.HasPrefix(told, string(text.Data)):
		return fmt.Errorf("the model was told %q, and on disk is %q", told, c.kind.data)
	case !readable && (!refused || !denied(told)):
		return fmt.Errorf("the model was told %q of a file that cannot be read", told)
	}
	return nil
}

// denied reports whether a text mentions a missing permission.
func denied(told string) bool { return strings.Contains(told, "permission denied") }

// notShown reports whether a change was refused because the editor does not show the file.
func notShown(told string) bool { return strings.Contains(told, "cannot show this file") }

// changeDenied makes a change of a file that may not be written: the truths agree, or it is refused
// because of the permission. A read-only file is never written.
func (c *cell) changeDenied(tool string, a args) error {
	if err := c.deny(); err != nil {
		return err
	}
	defer func() { c.lift() }()
	res, err := c.call(tool, a)
	told, refused, err := outcome(res, err)
	after := c.now()
	switch {
	case err != nil:
		return err
	case refused && (!bytes.Equal(after, c.before) || (after == nil) != (c.before == nil)):
		return fmt.Errorf("refused (%s), and the disk changed from %q to %q", told, c.before, after)
	case refused && c.kind.missing && tool == workspace.ToolEditFile:
		return nil
	case refused && !denied(told) && !notShown(told):
		return fmt.Errorf("refused: %s", told)
	case refused && c.editor != nil && c.editor.Unsaved(c.path) != strings.Contains(told, "has not saved it"):
		return fmt.Errorf("unsaved text in the editor: %v, and the model was told %s", c.editor.Unsaved(c.path), told)
	case refused:
		return nil
	case c.kind.mode != 0:
		return fmt.Errorf("a file of mode %v was changed: %s", c.kind.mode, told)
	}
	return c.agree(tool, told, res.Meta, after)
}

// undoDenied takes back an edit, the creation and the removal of a file that may no longer be
// changed: nothing changes, and the reason is told. Once it may be changed, the same undo takes it
// back.
func (c *cell) undoDenied() error {
	for _, what := range []string{"edit", "create", "remove"} {
		if err := c.undoDeniedOf(what); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func (c *cell) undoDeniedOf(what string) error {
	if what == "remove" && !c.env.Workspace.Features().Remove {
		return nil
	}
	_ = c.env.Disk.Remove(c.path)
	before := []byte(c.kind.data)
	if c.kind.missing {
		before = []byte(plainText)
	}
	if what == "create" {
		before = nil
	} else if err := c.env.Disk.WriteFile(c.path, before, 0o644); err != nil {
		return err
	}
	mark := c.recorder.Mark(what).ID
	if what == "remove" {
		if err := c.recorder.Remove(c.ctx, "file", workspace.AnyVersion); err != nil {
			return err
		}
	} else {
		call := replacement
		if what == "edit" {
			call = edit
		}
		c.asked = nil
		told, refused, err := outcome(c.call(call()))
		if refused && notShown(told) {
			return nil
		}
		if err != nil || refused {
			return errors.Join(errors.New(told), err)
		}
	}
	changed := c.now()
	c.kind.missing = what == "remove"
	if err := c.deny(); err != nil {
		return err
	}
	res, err := c.recorder.Undo(c.ctx, checkpoint.Only(mark))
	now := c.now()
	c.lift()
	switch incomplete, ok := errors.AsType[*checkpoint.IncompleteError](err); {
	case err == nil && (!bytes.Equal(now, before) || (now == nil) != (before == nil)):
		return fmt.Errorf("after the undo %q is on disk, and before it was %q", now, before)
	case err == nil:
		return nil
	case !ok || len(res.Files) != 1 || res.Files[0].Done || !denied(incomplete.Error()):
		return fmt.Errorf("the undo does not say what stays, and why: %w", err)
	case c.editor == nil && strings.Contains(incomplete.Error(), c.env.Workspace.Roots()[0]), strings.Contains(incomplete.Error(), ".tmp"):
		return fmt.Errorf("the undo names other files: %w", err)
	case !bytes.Equal(now, changed) || (now == nil) != (changed == nil):
		return fmt.Errorf("the undo failed (%w), and %q is on disk", err, now)
	}
	if c.editor != nil && c.editor.Unsaved(c.path) {
		return nil
	}
	_, err = c.recorder.Undo(c.ctx, checkpoint.Only(mark))
	if now := c.now(); err == nil && (!bytes.Equal(now, before) || (now == nil) != (before == nil)) {
		return fmt.Errorf("after the second undo %q is on disk, and before it was %q", now, before)
	}
	return err
}

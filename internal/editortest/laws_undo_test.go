// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// undoing is a workspace in memory in which an undo may go wrong.
type undoing struct {
	*workspace.Memory
	can   workspace.Features
	begun bool // the undo
	how   int
}

func (u *undoing) Features() workspace.Features { return u.can }

// spoils does what is wrong in place of a change, and reports whether the change is to be made then.
func (u *undoing) spoils(path string) (data []byte, make bool, err error) {
	if !u.begun {
		return nil, true, nil
	}
	switch u.how {
	case 1: // nothing is done
		return nil, false, nil
	case 2: // it fails
		return nil, false, errors.New("no undo")
	case 3: // it fails, and something is done
		_ = u.Memory.Disk().WriteFile("/project/"+path, []byte("else"), 0o644)
		return nil, false, errors.New("no undo")
	case 4: // something else is done
		return []byte("else"), true, nil
	}
	return nil, true, nil
}

func (u *undoing) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	other, do, err := u.spoils("file")
	if !do {
		return "v", err
	}
	if other != nil {
		data = other
	}
	return u.Memory.Write(ctx, path, data, v)
}

func (u *undoing) Remove(ctx context.Context, path string, v workspace.Version) error {
	if _, do, err := u.spoils("file"); !do {
		return err
	}
	return u.Memory.Remove(ctx, path, v)
}

// What is said of an undo: by what was there and what the change did, and by what the undo does.
func TestLawOfUndos(t *testing.T) {
	var p product
	befores := [][]byte{nil, {}, []byte(plainText), []byte("nothing to find\n"), []byte(latin1)}
	p.each(func(i []int) error {
		w, err := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, err)
		ws := &undoing{Memory: w, how: i[2], can: w.Features()}
		ws.can.Remove = i[3] == 0
		before := befores[i[0]]
		c := cellWith(answered{outcome: i[1], told: "no"}, before, oneFile{})
		c.path, c.env.Workspace, c.env.Disk = "/project/file", ws, w.Disk()
		c.recorder = checkpoint.New(ws, checkpoint.Options{})
		if i[4] == 1 && before != nil { // by the agent
			c.created = c.recorder.Mark("create").ID
			_, err := c.recorder.Write(c.ctx, "file", before, "")
			require.NoError(t, err)
		} else if before != nil {
			require.NoError(t, w.Disk().WriteFile(c.path, before, 0o644))
		}
		var called string
		for name, tool := range c.user.tools {
			call := tool.Call
			tool.Call = func(ctx context.Context, run *toolset.RunContext[*workspace.Session], a any) (toolset.Result, error) {
				called = name
				if i[1] == 0 && i[5] != 2 {
					_, err := c.recorder.Write(ctx, "file", []byte("changed\n"), workspace.AnyVersion)
					require.NoError(t, err)
				}
				ws.begun = true
				return call(ctx, run, a)
			}
		}
		switch i[5] {
		case 1, 2:
			c.editor = &Editor{Disk: w.Disk()}
			if i[5] == 2 {
				c.editor.Type(c.path, "unsaved")
			}
		}
		if i[6] > 0 {
			c.kind.typed = "typed before"
		}
		if i[6] > 1 {
			c.asked = []*toolset.Approval{{Preview: []toolset.Preview{{Diff: &model.Diff{Old: new("typed later")}}}}, {Preview: []toolset.Preview{{Diff: &model.Diff{}}}}}
		}
		err = c.undo()
		if err == nil {
			return errors.New("nothing is said of a change by " + called)
		}
		return err
	}, len(befores), 4, 5, 2, 2, 3, 3)
	p.check(t, "undos")
}

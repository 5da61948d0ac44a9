// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// A product calls a function with each combination of choices, and keeps which of them had which outcome.
type product struct {
	order []string
	of    map[string][]string
}

func (p *product) each(f func(pick []int) error, sizes ...int) {
	pick := make([]int, len(sizes))
	for {
		outcome := fmt.Sprint(f(pick))
		if p.of == nil {
			p.of = map[string][]string{}
		}
		if p.of[outcome] == nil {
			p.order = append(p.order, outcome)
		}
		p.of[outcome] = append(p.of[outcome], strings.Trim(strings.ReplaceAll(fmt.Sprint(pick), " ", ""), "[]"))
		i := len(sizes) - 1
		for ; i >= 0; i-- {
			if pick[i]++; pick[i] < sizes[i] {
				break
			}
			pick[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// check compares all outcomes with a file in testdata. The digits of a combination are the choices.
func (p *product) check(t *testing.T, name string) {
	t.Helper()
	var b strings.Builder
	for _, outcome := range p.order {
		fmt.Fprintf(&b, "%q\n", outcome)
		for all := p.of[outcome]; len(all) > 0; {
			n := min(len(all), 20)
			fmt.Fprintf(&b, "  %s\n", strings.Join(all[:n], " "))
			all = all[n:]
		}
	}
	path := filepath.Join("testdata", "law_"+name+".txt")
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"), "run with -update if it should be so")
}

// oneFile is a disk with one file.
type oneFile struct {
	workspacetest.Disk
	data *[]byte // nil for none
	err  error
}

func (d oneFile) ReadFile(string) ([]byte, error) {
	switch {
	case d.err != nil:
		return nil, d.err
	case *d.data == nil:
		return nil, fs.ErrNotExist
	}
	return *d.data, nil
}

func (d oneFile) Mode(string) (fs.FileMode, error) {
	if *d.data == nil {
		return 0, fs.ErrNotExist
	}
	return 0o644, nil
}

// abilities is a workspace that can do some things, and does nothing.
type abilities struct {
	workspace.Workspace
	can workspace.Features
}

func (a abilities) Features() workspace.Features { return a.can }
func (a abilities) Roots() []string              { return []string{"/root"} }

// answered is what a tool does.
type answered struct {
	told    string
	outcome int // it is done, it fails, it has another outcome, or it breaks
	meta    string
	does    func()
}

var errBroken = errors.New("the tool is broken")

func (a answered) tool() *toolset.Tool[*workspace.Session] {
	return &toolset.Tool[*workspace.Session]{
		Decode: func(args []byte) (any, error) { return string(args), nil },
		Call: func(context.Context, *toolset.RunContext[*workspace.Session], any) (toolset.Result, error) {
			if a.does != nil {
				a.does()
			}
			switch a.outcome {
			case 1:
				return toolset.Result{}, toolset.Failed("%s", a.told)
			case 2:
				return toolset.Result{Text: a.told, Outcome: model.OutcomeFailed}, nil
			case 3:
				return toolset.Result{}, errBroken
			}
			return toolset.Result{Text: a.told, Meta: json.RawMessage(a.meta)}, nil
		},
	}
}

// cellWith returns a cell whose tools do what is said, with a file on disk.
func cellWith(a answered, before []byte, disk oneFile) *cell {
	c := &cell{
		ctx: context.Background(), kind: &kind{}, path: "/root/file", before: before,
		env:  &workspacetest.Env{Workspace: abilities{can: workspace.Features{Read: true, Write: true}}, Disk: disk},
		user: &user{run: &toolset.RunContext[*workspace.Session]{}, tools: map[string]*toolset.Tool[*workspace.Session]{}},
	}
	for _, name := range []string{workspace.ToolReadFile, workspace.ToolWriteFile, workspace.ToolEditFile} {
		c.user.tools[name] = a.tool()
	}
	return c
}

var contentsOf = [][]byte{nil, {}, []byte("one\n"), []byte("\x00\x01\xff")}

// What is said of a read: by what is on disk, what the model is told, and what was typed.
func TestLawOfReads(t *testing.T) {
	var p product
	told := []string{"", "one\n", "one\n, and not what is on disk", "two", "[Cut here", "typed", "typed, not what is on disk"}
	p.each(func(i []int) error {
		before := contentsOf[i[0]]
		c := cellWith(answered{told: told[i[1]], outcome: i[2]}, before, oneFile{data: &before})
		if i[3] > 0 {
			c.kind.typed = "typed"
		}
		if i[3] > 1 {
			c.editor = &Editor{}
		}
		if i[4] == 1 {
			c.kind.name = "long lines"
		}
		return c.read()
	}, len(contentsOf), len(told), 4, 3, 2)
	for _, after := range contentsOf {
		c := cellWith(answered{told: "one\n"}, []byte("one\n"), oneFile{data: &after})
		p.each(func([]int) error { return c.read() }, 1)
	}
	p.check(t, "reads")
}

// What is said of a read by an editor elsewhere: by what it shows, and what the model is told.
func TestLawOfReadsElsewhere(t *testing.T) {
	var p product
	told := []string{"", "one\n", "one\n on disk", "one\n to disk", "one\n is saved", "on\ufffd", "on\ufffd has U+FFFD", "it is empty or does not exist", "[Cut here", "two", notOffered}
	shown := [][]byte{nil, {}, []byte("one\n"), []byte("on\ufffd"), []byte("\x00\x01")}
	p.each(func(i []int) error {
		before := shown[i[0]]
		c := cellWith(answered{told: told[i[1]], outcome: i[2]}, before, oneFile{data: &before})
		c.editor = &Editor{Disk: c.env.Disk}
		if i[3] == 1 {
			c.editor.Show = func([]byte) (string, error) { return "one\n", ErrNotUTF8 }
		}
		if i[4] == 1 {
			c.env.Workspace = abilities{}
		}
		if i[5] == 1 {
			c.kind.name = "long lines"
		}
		return c.readElsewhere()
	}, len(shown), len(told), 4, 2, 2, 2)
	after := []byte("other")
	c := cellWith(answered{told: "one\n"}, []byte("one\n"), oneFile{data: &after})
	p.each(func([]int) error { return c.readElsewhere() }, 1)
	p.check(t, "reads_elsewhere")
}

// What is said of a read that is not permitted: by the permissions, and by what the model is told.
func TestLawOfReadsThatAreDenied(t *testing.T) {
	var p product
	told := []string{"one\ntwo\n", "one\n", "permission denied"}
	p.each(func(i []int) error {
		before := []byte("one\n")
		c := cellWith(answered{told: told[i[0]], outcome: i[1]}, before, oneFile{data: &before})
		c.kind = &kind{data: "one\n", mode: []fs.FileMode{0, 0o400, 0o200, 0o444}[i[2]], dir: []fs.FileMode{0, 0o100, 0o200, 0o555}[i[3]], missing: i[4] == 1}
		var denied []string
		c.env.Deny = func(path string, mode fs.FileMode) error {
			denied = append(denied, fmt.Sprint(path, " ", mode))
			if i[5] == 1 {
				return errors.New("no " + path)
			}
			return nil
		}
		err := c.readDenied()
		if i[0]+i[1] > 0 {
			return err
		}
		return fmt.Errorf("%w, permissions %q, denying %v", err, denied, c.denying)
	}, len(told), 4, 4, 4, 2, 2)
	p.check(t, "reads_denied")
}

// What is said of a change that was refused: by the kind of file, the tool, and why.
func TestLawOfRefusals(t *testing.T) {
	var p product
	told := []string{"no", "it cannot show this file", "there are unsaved changes", notOffered}
	names := []string{
		"plain", "binary", "encoded in two ways", "missing", "empty", "deleted while the question is open", "Latin-1", "UTF-16", "Shift_JIS",
		"unsaved in the editor", "typed while the question is open",
	}
	tools := []string{workspace.ToolWriteFile, workspace.ToolEditFile}
	p.each(func(i []int) error {
		before := []byte("one\n")
		c := cellWith(answered{told: told[i[1]], outcome: 1 + i[4]}, before, oneFile{data: &before})
		c.kind.name = names[i[0]]
		if i[2] == 1 {
			c.editor = &Editor{}
		}
		return c.change(tools[i[3]], args{})
	}, len(names), len(told), 2, 2, 3)
	p.each(func(i []int) error {
		after := contentsOf[i[1]]
		c := cellWith(answered{told: notOffered, outcome: i[2]}, contentsOf[i[0]], oneFile{data: &after})
		return c.change(workspace.ToolWriteFile, args{})
	}, len(contentsOf), len(contentsOf), 2)
	p.check(t, "refusals")
}

// asked returns an approval of a change.
func askedOf(before, after *string, text string) []*toolset.Approval {
	return []*toolset.Approval{{}, {Preview: []toolset.Preview{{Text: text, Diff: &model.Diff{Old: before, New: after}}}}}
}

// What is said of a change that was made: by what was on disk and is now, what the question showed, and what is told.
func TestLawOfChanges(t *testing.T) {
	var p product
	utf16 := string(encodedAs([]byte("\xff\xfea\x00"), "\ufeffneedle"))
	before := []string{"needle, needle", "\x00\x01\xff", utf16}
	after := []string{"pin, needle", "pin, pin", "other", "\xff\xfep\x00i\x00n\x00"}
	told := []string{"done", "done, not saved", "done, reformatted"}
	metas := []string{`{"bytes":%d}`, `{"bytes":1%d}`, `{"bytes":%d,"reformatted":true}`, `{"bytes":%d,"unsaved":true}`, `[%d]`}
	olds := []*string{nil, new("needle, needle"), new("typed needle")}
	p.each(func(i []int) error {
		now := []byte(after[i[1]])
		meta := fmt.Sprintf(metas[i[3]], len(now))
		was := []byte(before[i[0]])
		if i[3] == 3 && i[6] == 1 {
			now = was
		}
		c := cellWith(answered{told: told[i[2]], meta: meta}, was, oneFile{data: &now})
		text, _ := workspace.DecodeText(now)
		shown := []string{string(text.Data), "pin, needle"}[i[5]]
		if i[6] == 1 {
			c.editor = &Editor{}
		}
		c.asked = askedOf(olds[i[4]], &shown, []string{"a change", "what is typed is not on disk"}[i[7]])
		return c.change([]string{workspace.ToolWriteFile, workspace.ToolEditFile}[i[8]], args{})
	}, len(before), len(after), len(told), len(metas), len(olds), 2, 2, 2, 2)
	p.each(func(i []int) error { // nobody was asked, or there was no file
		now := []byte("new")
		c := cellWith(answered{told: "done", meta: `{"bytes":3}`}, nil, oneFile{data: &now})
		if i[0] == 1 {
			c.asked = askedOf(nil, new("new"), "")
		}
		return c.change(workspace.ToolWriteFile, args{})
	}, 2)
	p.check(t, "changes")
}

// What is said of a change that is not permitted: by the kind of file, and by what is told and done.
func TestLawOfChangesThatAreDenied(t *testing.T) {
	var p product
	told := []string{"no", "permission denied", "it cannot show this file", "permission denied, and the editor has not saved it"}
	p.each(func(i []int) error {
		now := []byte("one\n")
		before := now
		after := [][]byte{before, nil, {}, []byte("two\n")}[i[5]]
		a := answered{told: told[i[0]], outcome: i[1], meta: `{"bytes":4}`, does: func() { now = after }}
		c := cellWith(a, before, oneFile{data: &now})
		c.env.Deny = func(string, fs.FileMode) error { return nil }
		c.kind = &kind{data: "one\n", missing: i[2] == 1, mode: []fs.FileMode{0, 0o444}[i[3]], dir: 0o555}
		if i[4] > 0 {
			c.editor = &Editor{Disk: c.env.Disk}
		}
		if i[4] > 1 {
			c.editor.Type(c.path, "typed")
		}
		c.asked = askedOf(new("one\n"), new("two\n"), "")
		return c.changeDenied([]string{workspace.ToolWriteFile, workspace.ToolEditFile}[i[6]], args{})
	}, len(told), 4, 2, 2, 3, 4, 2)
	c := cellWith(answered{}, nil, oneFile{})
	c.kind.dir = 0o555
	c.env.Deny = func(string, fs.FileMode) error { return errBroken }
	p.each(func([]int) error { return c.changeDenied("", nil) }, 1)
	p.check(t, "changes_denied")
}

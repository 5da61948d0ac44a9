// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

var bothTools = []string{workspace.ToolWriteFile, workspace.ToolEditFile}

// What is said of a refusal by an editor elsewhere: by what it can do and shows, and why.
func TestLawOfRefusalsElsewhere(t *testing.T) {
	var p product
	told := []string{"no", notOffered, "stream did not contain valid UTF-8", "it has U+FFFD"}
	views := []view{{}, {text: "one\n"}, {text: "\x00\x01"}, {text: "on\ufffd"}, {text: "one\n", err: ErrNotUTF8}, {err: fs.ErrNotExist}}
	p.each(func(i []int) error {
		before := []byte("one\n")
		now := [][]byte{before, nil, []byte("two")}[i[5]]
		c := cellWith(answered{told: told[i[0]], outcome: 1}, before, oneFile{data: &now})
		c.env.Workspace = abilities{can: workspace.Features{Read: i[3] == 1, Write: i[4] == 1}}
		c.editor = &Editor{Show: func([]byte) (string, error) { return views[i[1]].text, views[i[1]].err }, Disk: oneFile{data: &before}}
		return c.changeElsewhere(bothTools[i[2]], args{})
	}, len(told), len(views), 2, 2, 2, 3)
	nothing := []byte(nil)
	p.each(func(i []int) error { // no file before
		now := [][]byte{nil, {}}[i[0]]
		c := cellWith(answered{told: notOffered, outcome: 1 + i[1]}, nothing, oneFile{data: &now})
		c.env.Workspace = abilities{}
		return c.changeElsewhere(workspace.ToolEditFile, args{})
	}, 2, 3)
	p.check(t, "refusals_elsewhere")
}

// What is said of a question about a file of an editor elsewhere: by what it showed, and what it had to show.
func TestLawOfQuestionsElsewhere(t *testing.T) {
	var p product
	news := "new\ntext  \n"
	shown := []string{"", "needle, needle, needle", "on\ufffd"}
	previews := [][]toolset.Preview{
		{},
		{{Text: "it is replaced"}},
		{{Text: "it is replaced", Diff: &model.Diff{New: &news}}},
		{{Text: "it is saved", Diff: &model.Diff{New: &news}}},
		{{Diff: &model.Diff{Old: new("needle, needle, needle"), New: &news}}},
		{{Diff: &model.Diff{Old: new("needle"), New: new("pin")}}},
		{{Diff: &model.Diff{Old: new("needle"), New: new("pin")}}, {Text: "to disk"}},
		{{Diff: &model.Diff{Old: new("needle"), New: new("pin")}}, {Diff: &model.Diff{Old: new("needle"), New: new("pin")}}},
		{{Diff: &model.Diff{Old: new("nothing of it"), New: new("pin")}}},
		{{Diff: &model.Diff{Old: new(""), New: &news}}, {Text: "it is replaced"}},
	}
	p.each(func(i []int) error {
		c := cellWith(answered{}, nil, oneFile{})
		c.env.Workspace = abilities{can: workspace.Features{Read: i[3] == 1}}
		c.shown.text = shown[i[0]]
		c.asked = []*toolset.Approval{{}, {Preview: previews[i[1]]}}
		return c.approvedElsewhere(bothTools[i[2]])
	}, len(shown), len(previews), 2, 2)
	p.each(func([]int) error { return cellWith(answered{}, nil, oneFile{}).approvedElsewhere("") }, 1)
	p.check(t, "questions_elsewhere")
}

// What is said of a change by an editor elsewhere: by what it has and has saved, and what is told.
func TestLawOfChangesElsewhere(t *testing.T) {
	var p product
	const want = "new\ntext  \n"
	told := []string{"done", "the editor has it", "the editor reformatted it", "the editor reformatted it while saving", "the editor has it on disk"}
	metas := []string{`{"bytes":%d}`, `{"bytes":1%d}`, `{"bytes":%d,"reformatted":true}`, `{"bytes":%d,"unsaved":true}`, `[%d]`}
	has := []string{want, "other"}
	shown := []string{"one", "on\ufffd"}
	p.each(func(i []int) error {
		now := []byte(has[i[2]])
		before := []byte("one")
		c := cellWith(answered{}, before, oneFile{data: &now})
		c.editor = &Editor{Disk: c.env.Disk}
		if i[6] > 0 {
			c.editor.Lazy = true
			c.editor.Type(c.path, has[i[2]])
			now = []byte("one")
		}
		if i[6] > 1 {
			now = []byte("one more")
		}
		c.env.Workspace = abilities{can: workspace.Features{Read: i[4] == 1}}
		c.shown.text = shown[i[3]]
		return c.agreeElsewhere(bothTools[i[5]], told[i[0]], fmt.Appendf(nil, metas[i[1]], len(has[i[2]])))
	}, len(told), len(metas), len(has), len(shown), 2, 2, 3)
	p.check(t, "changes_elsewhere")
}

// A call is approved as often as it asks, five times at most, and what is to happen meanwhile happens once.
func TestCallsAskAndAreApproved(t *testing.T) {
	var p product
	p.each(func(i []int) error {
		var log []string
		now := []byte("one\n")
		c := cellWith(answered{}, now, oneFile{data: &now})
		tool := c.user.tools[workspace.ToolReadFile]
		switch i[1] {
		case 1:
			tool.Approval = func(_ context.Context, run *toolset.RunContext[*workspace.Session], a any) (*toolset.Approval, error) {
				log = append(log, fmt.Sprint("approval of ", a, run.Call.Approved))
				return &toolset.Approval{Title: "first"}, nil
			}
		case 2:
			tool.Approval = func(context.Context, *toolset.RunContext[*workspace.Session], any) (*toolset.Approval, error) {
				return nil, errBroken
			}
		}
		calls := 0
		tool.Call = func(_ context.Context, run *toolset.RunContext[*workspace.Session], a any) (toolset.Result, error) {
			title := ""
			if run.Call.Approval != nil {
				title = run.Call.Approval.Title
			}
			log = append(log, fmt.Sprintf("call %s %v %s", a, run.Call.Approved, title))
			if calls++; calls <= i[0] {
				return toolset.Result{}, &toolset.ApprovalRequiredError{Approval: toolset.Approval{Title: fmt.Sprint("again ", calls)}}
			}
			return toolset.Result{Text: "done"}, nil
		}
		if i[3] == 1 {
			tool.Decode = func([]byte) (any, error) { return nil, errBroken }
		}
		c.kind.during = func(c *cell) {
			log = append(log, "meanwhile")
			now = []byte("two\n")
		}
		if i[2] > 0 {
			c.env.Asker = asker(func(r toolset.ApprovalRequest) (toolset.Decision, error) {
				log = append(log, fmt.Sprintf("%v %s %s %+v %s", r.Origin, r.Args, r.Approval.Title, r.Origin.Kind, c.before))
				switch {
				case i[2] == 2:
					return toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "no"}, nil
				case i[2] == 3:
					return toolset.Decision{}, errBroken
				}
				return toolset.Decision{Verdict: toolset.VerdictAllow}, nil
			})
		}
		res, err := c.call(workspace.ToolReadFile, args{"path": "file"})
		return fmt.Errorf("%w: %q, asked %d, before %q, shown %v\n%s", err, res.Text, len(c.asked), c.before, c.shown, strings.Join(log, "\n"))
	}, 7, 3, 4, 2)
	c := cellWith(answered{}, nil, oneFile{})
	delete(c.user.tools, workspace.ToolEditFile)
	_, err := c.call(workspace.ToolEditFile, nil)
	require.EqualError(t, err, "failed: The tool is not offered.")
	_, err = c.call(workspace.ToolReadFile, args{"x": func() {}})
	require.ErrorContains(t, err, "unsupported type")
	p.check(t, "calls")
}

// asker is a person.
type asker func(r toolset.ApprovalRequest) (toolset.Decision, error)

func (a asker) Approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	return a(r)
}
func (a asker) Answer(context.Context, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, errors.New("nobody")
}

// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

type deps struct {
	recorder *checkpoint.Recorder
	session  *workspace.Session
}

// person answers questions and keeps them.
type person struct {
	asked  []toolset.ApprovalRequest
	answer func(n int) toolset.Decision
}

func (p *person) Approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	p.asked = append(p.asked, r)
	if p.answer != nil {
		return p.answer(len(p.asked)), nil
	}
	return toolset.Allow(), nil
}

func (p *person) Answer(context.Context, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, toolset.ErrNobody
}

// turn runs an agent that makes the calls, "tool {json}" each, and returns what it was told.
func (b *bench) turn(p *person, calls ...string) []model.Part {
	b.t.Helper()
	b.Mark("turn")
	var script []modeltest.Step
	for i, c := range calls {
		tool, raw, _ := strings.Cut(c, " ")
		script = append(script, modeltest.Say(model.ToolCall(fmt.Sprint("c", i), tool, raw)))
	}
	session := workspace.NewSession(b.Recorder)
	defer session.Close(b.t.Context())
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(append(script, modeltest.SayText("done"))...),
		Toolsets: []toolset.Toolset[deps]{
			workspace.Tools(func(d deps) *workspace.Session { return d.session }), checkpoint.Tools(func(d deps) *checkpoint.Recorder { return d.recorder }),
		},
		ToolRetries: new(100),
	}))
	res, err := a.Run(b.t.Context(), deps{b.Recorder, session}, "go", agent.WithAsker(p))
	require.NoError(b.t, err)
	var told []model.Part
	for _, m := range res.Messages {
		for _, part := range m.Parts {
			if part.Kind == model.PartToolReturn || part.Kind == model.PartRetry {
				told = append(told, part)
			}
		}
	}
	require.Len(b.t, told, len(calls))
	return told
}

func TestModelUndoesAndRedoes(t *testing.T) {
	b := newBench(t, files{"a": "1\n2\n3\n4\n5\n"}, checkpoint.Options{})
	p := &person{}
	b.turn(p, `edit_file {"path":"a","edits":[{"old_text":"1\n","new_text":"one\n"}]}`, `write_file {"path":"b","content":"new\n"}`, `run_command {"command":"make"}`)
	b.user("a", "one\n2\n3\n4\nuser\n")
	p.asked = nil
	told := b.turn(p, `list_changes {}`, `list_changes {"checkpoint":1}`, `list_changes {"checkpoint":1,"path":"b"}`, `undo_changes {}`, `list_changes {}`, `undo_changes {}`)
	require.Equal(t, "Checkpoint 1 (turn):\n  changed a (+1 -1)\n  created b (+1 -0)\n  [commands ran; what they changed is not recorded: make]", told[0].Text)
	require.Contains(t, told[1].Text, "--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n-1\n+one\n")
	require.Equal(t, "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+new", told[2].Text)
	require.Equal(t, "Restored a.\nRemoved b.\nTo redo, call undo_changes with checkpoint 3.", told[3].Text)
	require.Contains(t, told[4].Text, "Checkpoint 1 (turn), undone:\n")
	require.Equal(t, "There is nothing to undo.", told[5].Text)
	require.Equal(t, model.OutcomeFailed, told[5].Outcome)
	b.holds("a", "1\n2\n3\n4\nuser\n")
	b.holds("b", "-")

	require.Len(t, p.asked, 1)
	a := p.asked[0].Approval
	require.Equal(t, "Undo the changes of 2 files", a.Title)
	require.Equal(t, []toolset.Preview{
		{Diff: &toolset.Diff{Path: "/project/a", Old: new("one\n2\n3\n4\nuser\n"), New: new("1\n2\n3\n4\nuser\n")}},
		{Diff: &toolset.Diff{Path: "/project/b", Old: new("new\n")}},
	}, a.Preview, "the diff that is applied")
	require.Equal(t, []string{"/project/a", "/project/b"}, a.Parts)

	told = b.turn(p, `undo_changes {"checkpoint":3}`, `undo_changes {"checkpoint":30}`)
	require.Equal(t, "Restored a.\nBrought back b.\nTo redo, call undo_changes with checkpoint 6.", told[0].Text)
	require.Equal(t, "Unknown checkpoint 30. Call list_changes to list checkpoints.", told[1].Text)
	b.holds("a", "one\n2\n3\n4\nuser\n")
	b.holds("b", "new\n")
}

func TestModelIsToldOfConflicts(t *testing.T) {
	b := newBench(t, files{"a": "1\n2\n3\n", "b": "1\n"}, checkpoint.Options{})
	p := &person{}
	b.turn(p, `edit_file {"path":"a","edits":[{"old_text":"2\n","new_text":"two\n"}]}`, `write_file {"path":"b","content":"2\n"}`)
	b.user("a", "1\nzwei\n3\n")
	p.asked = nil
	told := b.turn(p, `undo_changes {}`)
	conflict := "a: someone else has changed the same or adjacent lines since.\nLine 2, now:\n  zwei\nThe undo would make that:\n  2"
	require.Equal(t, "Restored b.\nNot undone:\n"+conflict+"\nTo redo, call undo_changes with checkpoint 3.", told[0].Text)
	require.Equal(t, "Not changed:\n"+conflict+"\n", p.asked[0].Approval.Preview[1].Text, "the person sees what stays, too")
	require.Equal(t, "Undo the changes of b", p.asked[0].Approval.Title)

	p.asked = nil
	told = b.turn(p, `undo_changes {"checkpoint":1}`)
	require.Equal(t, "Nothing was undone. b already has its earlier contents.\nNot undone:\n"+conflict, told[0].Text)
	require.Empty(t, p.asked, "what changes nothing needs no approval")
	b.holds("a", "1\nzwei\n3\n")
}

func TestUndoIsShownAgainIfAFileChanges(t *testing.T) {
	b := newBench(t, files{"a": "1\n2\n3\n"}, checkpoint.Options{})
	p := &person{}
	b.turn(p, `edit_file {"path":"a","edits":[{"old_text":"1\n","new_text":"one\n"}]}`)
	p.asked = nil
	p.answer = func(n int) toolset.Decision {
		if n == 1 {
			b.user("a", "one\n2\n3\nuser\n")
		}
		return toolset.Allow()
	}
	told := b.turn(p, `undo_changes {}`)
	require.Contains(t, told[0].Text, "Restored a.")
	require.Len(t, p.asked, 2)
	require.Equal(t, "1\n2\n3\nuser\n", *p.asked[1].Approval.Preview[0].Diff.New)
	b.holds("a", "1\n2\n3\nuser\n")
}

func TestDeniedUndoChangesNothing(t *testing.T) {
	b := newBench(t, files{"a": "1\n"}, checkpoint.Options{})
	b.agent("a", "2\n")
	told := b.turn(&person{answer: func(int) toolset.Decision { return toolset.Deny("keep it") }}, `undo_changes {}`)
	require.Equal(t, model.OutcomeDenied, told[0].Outcome)
	b.holds("a", "2\n")

	run := &toolset.RunContext[deps]{Deps: deps{recorder: b.Recorder}}
	in, err := checkpoint.Tools(func(d deps) *checkpoint.Recorder { return d.recorder }).Open(t.Context(), run)
	require.NoError(t, err)
	l, err := in.Tools(t.Context(), run)
	require.NoError(t, err)
	decoded, err := l.Tools[1].Decode([]byte(`{}`))
	require.NoError(t, err)
	var needs *toolset.ApprovalRequiredError
	_, err = l.Tools[1].Call(t.Context(), run, decoded)
	require.ErrorAs(t, err, &needs, "a call that nobody approved does nothing")
	run.Call.Approved, run.Call.Approval = true, &toolset.Approval{Basis: "of something else"}
	_, err = l.Tools[1].Call(t.Context(), run, decoded)
	require.ErrorAs(t, err, &needs)
	b.holds("a", "2\n")
}

func TestDiffsForModelsAreBounded(t *testing.T) {
	b := newBench(t, nil, checkpoint.Options{})
	b.agent("a", strings.Repeat("line\n", 10_000))
	b.agent("b", "b\n")
	for i := range 60 {
		b.agent(fmt.Sprintf("more/%02d", i), "")
	}
	told := b.turn(&person{}, `list_changes {}`, `list_changes {"checkpoint":1}`, `list_changes {"checkpoint":1,"path":"../x"}`, `list_changes {"checkpoint":1,"path":"x"}`)
	require.Contains(t, told[0].Text, "[12 more files]")
	require.Less(t, len(told[1].Text), 40_000)
	require.Contains(t, told[1].Text, "[Cut here: ")
	require.Contains(t, told[1].Text, "[61 more files. Call list_changes with checkpoint 1 and path to see one, such as b.]")
	require.Equal(t, `The path "../x" is malformed or lies outside of the working directory.`, told[2].Text)
	require.Equal(t, "No changes were recorded there.", told[3].Text)
}

func TestToolsFollowFeatures(t *testing.T) {
	list := func(r *checkpoint.Recorder) (names []string) {
		run := &toolset.RunContext[*checkpoint.Recorder]{Deps: r}
		in, err := checkpoint.Tools(func(r *checkpoint.Recorder) *checkpoint.Recorder { return r }).Open(t.Context(), run)
		require.NoError(t, err)
		l, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
		for _, tool := range l.Tools {
			names = append(names, tool.Def.Name)
		}
		return names
	}
	b := newBench(t, nil, checkpoint.Options{})
	require.Equal(t, []string{"list_changes", "undo_changes"}, list(b.Recorder))
	require.Equal(t, []string{"list_changes"}, list(checkpoint.New(limited{b.ws, workspace.Features{Write: true}}, checkpoint.Options{})))
	require.Empty(t, list(nil))
	_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Toolsets: []toolset.Toolset[deps]{checkpoint.Tools[deps](nil)}})
	require.ErrorContains(t, err, "checkpoint: Tools: the function is nil")
}

func TestToolsConform(t *testing.T) {
	b := newBench(t, nil, checkpoint.Options{})
	toolsettest.Conformance(t, func() toolset.Toolset[*checkpoint.Recorder] {
		return checkpoint.Tools(func(r *checkpoint.Recorder) *checkpoint.Recorder { return r })
	}, b.Recorder)
}

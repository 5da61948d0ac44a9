// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// A tool that says what its command does is believed: its preview of the command adds nothing. Other effects that it states say nothing
// about the command.
func TestStatedCommandsStandForTheirPreviews(t *testing.T) {
	line := model.CommandLine{Line: "rm x && curl https://example.org", Dir: "/d"}
	shown := command.Effects(line, command.Place{})
	require.NotEmpty(t, shown)
	for kind, believed := range map[model.EffectKind]bool{
		model.EffectRun: true, model.EffectUnknown: true, model.EffectRead: false, model.EffectWrite: false, model.EffectHost: false, model.EffectServer: false,
	} {
		stated := []model.Effect{{Kind: kind, Path: "/p"}}
		want := stated
		if !believed {
			want = append(stated[:1:1], shown...)
		}
		a := toolset.Approval{Effects: stated, Preview: []toolset.Preview{{Text: "x"}, {Command: &line}}}
		require.Equal(t, want, approval.EffectsOf(requested(toolset.KindExecute, a)), kind)
		approval.Describe(&a, "/elsewhere")
		require.Equal(t, want, a.Effects, kind)
	}
}

// Commands and changed files of previews are about the directory of the session, unless they have one.
func TestEffectsOfPreviewsAreInTheirDirectory(t *testing.T) {
	for dir, want := range map[string]string{"": "/home", "sub": "/home/sub", "../up": "/up", "/abs": "/abs"} {
		line := model.CommandLine{Line: "rm x", Dir: dir}
		a := toolset.Approval{Preview: []toolset.Preview{{Command: &line}}}
		approval.Describe(&a, "/home")
		require.Equal(t, command.Effects(model.CommandLine{Line: "rm x", Dir: want}, command.Place{}), a.Effects, dir)
		require.Equal(t, dir, line.Dir, "what is shown stays as it is")
	}
	for name, want := range map[string]string{"a": "/home/a", "./a": "/home/a", "../a": "/a", "/abs/a": "/abs/a"} {
		a := toolset.Approval{Preview: []toolset.Preview{{Diff: &model.Diff{Path: name}}}}
		approval.Describe(&a, "/home")
		require.Equal(t, wrote(want).Effects, a.Effects, name)
	}
	for name, want := range map[string]string{"a": "a", "./a": "a", "/abs/a": "/abs/a"} {
		a := toolset.Approval{Preview: []toolset.Preview{{Diff: &model.Diff{Path: name}}}}
		require.Equal(t, wrote(want).Effects, approval.EffectsOf(requested(toolset.KindEdit, a)), name)
	}
}

func TestChangedFilesThatAreStatedAreNotAddedAgain(t *testing.T) {
	diff := func(name string) toolset.Preview { return toolset.Preview{Diff: &model.Diff{Path: name}} }
	for _, c := range []struct {
		stated, want []model.Effect
	}{
		{wrote("/home/a").Effects, wrote("/home/a", "/home/b").Effects},
		{wrote("/home/b", "/home/a").Effects, wrote("/home/b", "/home/a").Effects},
		{[]model.Effect{{Kind: model.EffectRead, Path: "/home/a"}}, append([]model.Effect{{Kind: model.EffectRead, Path: "/home/a"}}, wrote("/home/a", "/home/b").Effects...)},
		{nil, wrote("/home/a", "/home/b").Effects},
	} {
		room := append(make([]model.Effect, 0, 9), c.stated...)
		a := toolset.Approval{Effects: room, Preview: []toolset.Preview{diff("a"), diff("b"), diff("a")}}
		got := approval.EffectsOf(requested(toolset.KindEdit, toolset.Approval{Effects: c.stated, Preview: []toolset.Preview{diff("/home/a"), diff("/home/b")}}))
		require.Equal(t, c.want, got)
		approval.Describe(&a, "/home")
		require.Equal(t, c.want, a.Effects)
		require.Empty(t, room[:9][len(c.stated)].Kind, "the memory of the tool is not written to")
		require.False(t, a.Once, fmt.Sprint(a.Effects))
	}
}

// Protected files make a person be asked each time, and what had to be asked each time stays so.
func TestDescribedApprovalsOfProtectedFilesAreForOnce(t *testing.T) {
	for name, once := range map[string]bool{".git/config": true, "a": false} {
		for _, before := range []bool{false, true} {
			a := toolset.Approval{Once: before, Preview: []toolset.Preview{{Diff: &model.Diff{Path: name}}}}
			approval.Describe(&a, "/home")
			require.Equal(t, once || before, a.Once, name)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/failing"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func newAgent(o memory.Options, steps ...modeltest.Step) *agent.Agent[deps, string] {
	return agent.Must(agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(append(steps, modeltest.SayText("done"))...), Capabilities: []agent.Capability[deps]{memory.New(store, o)},
	}))
}

// A store that cannot be read or written to ends the run, whichever operation notices it: the model must not go on as if there were no
// notes, or as if one had been saved.
func TestLostStoreEndsTheRun(t *testing.T) {
	for name, step := range map[string]modeltest.Step{
		"save": save("tea", "new"), "change": save("a", "new"), "remove": remove("a"), "search": search("a"),
	} {
		for _, o := range []memory.Options{{}, {Unasked: true}} {
			t.Run(fmt.Sprint(name, o.Unasked), func(t *testing.T) {
				for n := range failing.Operations {
					ws := newDisk(t, map[string]string{"n/a.md": "a", "n/b.md": "b", "n/long.md": strings.Repeat("x", memory.MaxRead+1)})
					plan := failing.At(n, workspace.ErrLost)
					s := memory.Files(failing.Workspace{Workspace: ws, Plan: plan}, "n")
					_, err := newAgent(o, step).Run(t.Context(), deps{s}, "go", agent.WithAsker(person(yes)))
					if !plan.Failed() {
						require.NoError(t, err)
						require.Greater(t, n, 4)
						break
					}
					require.ErrorIs(t, err, workspace.ErrLost, plan.Operation())
				}
			})
		}
	}
}

func TestCommandTellsThatTheStoreIsLost(t *testing.T) {
	ws := newDisk(t, map[string]string{"n/a.md": "a"})
	for n := range failing.Operations {
		plan := failing.At(n, workspace.ErrLost)
		_, _, err := newAgent(memory.Options{}).Command(t.Context(), deps{memory.Files(failing.Workspace{Workspace: ws, Plan: plan}, "n")}, "/memory", nil)
		if !plan.Failed() {
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, workspace.ErrLost, plan.Operation())
	}
}

// A note whose version is not known is left out: it could not be changed without overwriting what somebody else has written.
func TestNoteWithoutAVersionIsLeftOut(t *testing.T) {
	long := strings.Repeat("x", memory.MaxRead+1)
	for n := range failing.Operations {
		ws := newDisk(t, map[string]string{"n/long.md": long})
		plan := failing.At(n, errors.New("boom"))
		all, err := memory.Files(failing.Workspace{Workspace: ws, Plan: plan}, "n").All(t.Context())
		switch {
		case !plan.Failed():
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.NotEmpty(t, all[0].Version)
			return
		case strings.HasPrefix(plan.Operation(), "walk"):
			require.ErrorContains(t, err, `memory: list "n"`)
		default:
			require.NoError(t, err)
			require.Empty(t, all)
		}
	}
}

func TestInvalidNamesAreToldToTheModel(t *testing.T) {
	_, told := run(t, memory.Options{Unasked: true}, new(memory.Map), nil, save("../x", "y"), save("x", strings.Repeat("y", memory.MaxNote)), save("x.", "y"))
	require.Contains(t, told[0], "name: a name has 1 to 64 letters")
	require.Equal(t, "Saved the note x.", told[1], "the longest note that is allowed")
	require.Contains(t, told[2], "name: a name has 1 to 64 letters")
}

// A path outside of the workspace has no absolute form. The preview shows it as it is.
func TestPreviewNamesAFileOutsideAsItIs(t *testing.T) {
	s := memory.Files(newDisk(t, nil), "../outside").(interface{ Path(name string) string })
	require.Equal(t, "../outside/a.md", s.Path("a"))
	s = memory.Files(newDisk(t, nil), "n").(interface{ Path(name string) string })
	require.Equal(t, "/repo/n/a.md", s.Path("a"))
}

func TestListedNotesAreAtMostMaxNotes(t *testing.T) {
	files := map[string]string{}
	for i := range memory.MaxNotes + 5 {
		files[fmt.Sprintf("n/%03d.md", i)] = "x"
	}
	s := memory.Files(newDisk(t, files), "n")
	all, err := s.All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, memory.MaxNotes)
	require.ErrorIs(t, s.Put(t.Context(), "more", "x", ""), memory.ErrFull)
	require.NoError(t, s.Put(t.Context(), "000", "y", all[0].Version), "a note that exists can be changed")
}

func TestListOfNotesIsCutAtItsBound(t *testing.T) {
	s := new(memory.Map)
	for i := range 10 {
		require.NoError(t, s.Put(t.Context(), fmt.Sprint("n", i), "# \n\n* first line", ""))
	}
	line := len("\n- n0: first line")
	list := func(max int) string {
		requests, _ := run(t, memory.Options{MaxList: max}, s, nil)
		_, text, _ := strings.Cut(requests[0].Instructions, "project's files.")
		return text
	}
	require.Equal(t, 10, strings.Count(list(1+10*line), "first line"), "exactly as much as is allowed")
	short := list(10 * line)
	require.Equal(t, 9, strings.Count(short, "first line"))
	require.True(t, strings.HasSuffix(short, "\n[1 more: search for them.]"))
	require.True(t, strings.HasSuffix(list(1), "\n[10 more: search for them.]"))
}

func TestInvalidOptionsAreErrorsOfOpen(t *testing.T) {
	for want, c := range map[string]agent.Capability[deps]{
		"memory: New: the function is nil": memory.New[deps](nil, memory.Options{}),
		"memory: Options.MaxList is -1":    memory.New(store, memory.Options{MaxList: -1}),
	} {
		_, err := c.Toolsets[0].Open(t.Context(), &toolset.RunContext[deps]{Deps: deps{new(memory.Map)}})
		require.ErrorContains(t, err, want)
	}
}

func TestErrorsOfAStoreEndTheRun(t *testing.T) {
	for _, step := range []modeltest.Step{save("a", "x"), remove("a")} {
		ws := newDisk(t, map[string]string{"n/a.md": "a"})
		s := memory.Files(&unreadable{ws, map[string]error{"write n/a.md": fs.ErrPermission, "remove n/a.md": fs.ErrPermission}}, "n")
		_, err := newAgent(memory.Options{Unasked: true}, step).Run(t.Context(), deps{s}, "go")
		require.ErrorIs(t, err, fs.ErrPermission)
		require.ErrorContains(t, err, "memory: ")
	}
}

// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	disk "github.com/ponte-go/ponte/toolset/workspace"
)

type deps struct{ notes memory.Store }

func store(d deps) memory.Store { return d.notes }

func newDisk(t *testing.T, files map[string]string) *disk.Memory {
	t.Helper()
	ws, err := disk.NewMemory(disk.MemoryConfig{Roots: []string{"/repo"}, Files: files})
	require.NoError(t, err)
	return ws
}

// person allows what asked returns true for.
type person func(r toolset.ApprovalRequest) bool

func (p person) Approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	if p == nil || !p(r) {
		return toolset.Deny("no"), nil
	}
	return toolset.Allow(), nil
}

func (p person) Answer(context.Context, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, toolset.ErrNobody
}

func yes(toolset.ApprovalRequest) bool { return true }

// run returns the requests, and what the model was told of its calls.
func run(t *testing.T, o memory.Options, s memory.Store, p person, steps ...modeltest.Step) (requests []*model.Request, told []string) {
	t.Helper()
	script := modeltest.Script(append(steps, modeltest.SayText("done"))...)
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: script, Capabilities: []agent.Capability[deps]{memory.New(store, o)}}))
	res, err := a.Run(t.Context(), deps{s}, "go", agent.WithAsker(p))
	require.NoError(t, err)
	for _, m := range res.Messages {
		for _, part := range m.Parts {
			if part.Kind == model.PartToolReturn || part.Kind == model.PartRetry {
				told = append(told, part.Text)
			}
		}
	}
	return script.Requests(), told
}

func save(name, text string) modeltest.Step {
	return modeltest.Say(model.ToolCall("1", memory.ToolSaveNote, fmt.Sprintf(`{"name":%q,"text":%q}`, name, text)))
}

func search(query string) modeltest.Step {
	return modeltest.Say(model.ToolCall("1", memory.ToolSearchNotes, fmt.Sprintf(`{"query":%q}`, query)))
}

func remove(name string) modeltest.Step {
	return modeltest.Say(model.ToolCall("1", memory.ToolRemoveNote, fmt.Sprintf(`{"name":%q}`, name)))
}

func TestNotesOutliveASession(t *testing.T) {
	ws := newDisk(t, nil)
	for name, open := range map[string]func() memory.Store{
		"files": func() memory.Store { return memory.Files(ws, ".agents/memory") },
		"map":   func() func() memory.Store { m := new(memory.Map); return func() memory.Store { return m } }(),
	} {
		t.Run(name, func(t *testing.T) {
			requests, told := run(t, memory.Options{}, open(), yes, save("tea", "# Drinks\nAda likes tea."), save("work", "Tests run with make."))
			require.Contains(t, requests[0].Instructions, "There are no notes yet.")
			require.Equal(t, requests[0].Instructions, requests[2].Instructions, "the same throughout a run")
			require.Equal(t, []string{"Saved the note tea.", "Saved the note work."}, told)
			requests, told = run(t, memory.Options{}, open(), yes, search("what does ada drink? TEA"), search("nothing"), save("tea", "Coffee now."), search("tea"), remove("work"), remove("work"))
			require.True(t, strings.HasSuffix(requests[0].Instructions, "\n\n- tea: Drinks\n- work: Tests run with make."))
			require.Equal(t, []string{
				"# Note tea\n# Drinks\nAda likes tea.", "No matching notes. Try a different query.", "Saved the note tea.", "# Note tea\nCoffee now.",
				"Removed the note work.", `Unknown note "work".`,
			}, told)
		})
	}
	text, err := ws.Disk().ReadFile("/repo/.agents/memory/tea.md")
	require.NoError(t, err)
	require.Equal(t, "Coffee now.", string(text))
}

func TestUserEditsNotes(t *testing.T) {
	ws := newDisk(t, map[string]string{
		"notes/My style.md": "\n\nShort lines.\x1b[2J\u202e", "notes/.hidden.md": "no", "notes/a.txt": "no", "notes/dir.md/x.md": "no",
		"notes/bad\nname.md": "no", "notes/bin.md": "a\x00b", "notes/empty.md": "",
	})
	require.NoError(t, ws.Disk().WriteFile("/secret.md", []byte("secret"), 0o644))
	require.NoError(t, ws.Disk().Symlink("/secret.md", "/repo/notes/out.md"))
	s := memory.Files(ws, "notes")
	requests, told := run(t, memory.Options{}, s, yes, search("style"))
	require.True(t, strings.HasSuffix(requests[0].Instructions, "\n\n- My style: Short lines.⟨ESC⟩[2J⟨U+202E⟩\n- empty"), requests[0].Instructions)
	require.Equal(t, "# Note My style\n\n\nShort lines.⟨ESC⟩[2J⟨U+202E⟩", told[0])
	require.NoError(t, ws.Disk().Remove("/repo/notes/My style.md"))
	requests, _ = run(t, memory.Options{}, s, yes)
	require.NotContains(t, requests[0].Instructions, "style")
}

func TestChangesOfNotesAreApproved(t *testing.T) {
	ws := newDisk(t, map[string]string{"notes/tea.md": "old"})
	s := memory.Files(ws, "notes")
	var seen []toolset.Approval
	no := func(r toolset.ApprovalRequest) bool { seen = append(seen, r.Approval); return false }
	_, told := run(t, memory.Options{}, s, no, save("tea", "new"), save("milk", "new"), remove("tea"), search("tea"))
	require.Equal(t, []string{"no", "no", "no", "# Note tea\nold"}, told)
	require.Equal(t, "Change the note tea", seen[0].Title)
	require.Equal(t, &toolset.Diff{Path: "/repo/notes/tea.md", Old: new("old"), New: new("new")}, seen[0].Preview[0].Diff)
	require.Equal(t, "Remember milk", seen[1].Title)
	require.Equal(t, &toolset.Diff{Path: "/repo/notes/milk.md", New: new("new")}, seen[1].Preview[0].Diff)
	require.Equal(t, "Forget tea", seen[2].Title)
	require.Equal(t, &toolset.Diff{Path: "/repo/notes/tea.md", Old: new("old")}, seen[2].Preview[0].Diff)

	_, told = run(t, memory.Options{Unasked: true}, s, nil, save("tea", "new"), remove("tea"))
	require.Equal(t, []string{"Saved the note tea.", "Removed the note tea."}, told)
}

func TestChangeIsShownAgainIfTheNoteChanges(t *testing.T) {
	ws := newDisk(t, map[string]string{"notes/tea.md": "old"})
	var shown []string
	p := func(r toolset.ApprovalRequest) bool {
		shown = append(shown, *r.Approval.Preview[0].Diff.Old)
		if len(shown) == 1 {
			require.NoError(t, ws.Disk().WriteFile("/repo/notes/tea.md", []byte("the user's"), 0o644))
		}
		return len(shown) < 2
	}
	_, told := run(t, memory.Options{}, memory.Files(ws, "notes"), p, save("tea", "new"))
	require.Equal(t, []string{"old", "the user's"}, shown)
	require.Equal(t, []string{"no"}, told)
}

// racing is a store whose notes change before each write.
type racing struct{ memory.Map }

func (r *racing) Put(ctx context.Context, name, text, version string) error {
	_ = r.Map.Put(ctx, name, "somebody else's", version)
	return r.Map.Put(ctx, name, text, version)
}

func TestNotesOfOthersAreNotOverwritten(t *testing.T) {
	_, told := run(t, memory.Options{Unasked: true}, &racing{}, nil, save("tea", "mine"), search("tea"))
	require.Contains(t, told[0], "has changed since it was last read")
	require.Contains(t, told[1], "somebody else's")

	for name, s := range map[string]memory.Store{"map": new(memory.Map), "files": memory.Files(newDisk(t, nil), ".")} {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for i := range 8 {
				wg.Go(func() {
					err := s.Put(context.Background(), "a", fmt.Sprint(i), "")
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					} else if !errors.Is(err, memory.ErrChanged) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			require.Equal(t, 1, won)
			require.ErrorIs(t, s.Remove(t.Context(), "a", "other"), memory.ErrChanged)
			require.ErrorIs(t, s.Remove(t.Context(), "a", ""), memory.ErrChanged)
			require.ErrorIs(t, s.Put(t.Context(), "b", "x", "other"), memory.ErrChanged)
			for _, bad := range []string{"", "../a", "a/b", ".a", "a.", " a", "a\n", "ä", "a\x00", strings.Repeat("a", 65)} {
				require.ErrorContains(t, s.Put(t.Context(), bad, "x", ""), "a name has 1 to 64 letters")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, s.Put(ctx, "c", "x", ""), context.Canceled)
			_, err := s.All(ctx)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestNotesAreBounded(t *testing.T) {
	for name, s := range map[string]memory.Store{"map": new(memory.Map), "files": memory.Files(newDisk(t, nil), "n")} {
		t.Run(name, func(t *testing.T) {
			for i := range memory.MaxNotes {
				require.NoError(t, s.Put(t.Context(), fmt.Sprintf("n%03d", i), strings.Repeat("word ", 1000), ""))
			}
			require.ErrorIs(t, s.Put(t.Context(), "more", "x", ""), memory.ErrFull)
			requests, told := run(t, memory.Options{Unasked: true}, s, nil, save("more", "x"), search("word"), search("n007"), save("x", strings.Repeat("ü", 5000)))
			require.Less(t, len(requests[0].Instructions), 5<<10)
			require.Regexp(t, `\[\d+ more: search for them\.\]$`, requests[0].Instructions)
			require.Contains(t, told[0], "there are 200 notes")
			require.Less(t, len(told[1]), 34<<10)
			require.Contains(t, told[1], "190 more notes fit")
			require.Contains(t, told[2], "# Note n007\n"+strings.Repeat("word ", 1000)[:4990], "a note of that name is shown in full")
			require.Contains(t, told[3], "a note has at most 8192 bytes; this one has 10000")
		})
	}
}

func TestLongNotesOfTheUserAreNotReplaced(t *testing.T) {
	ws := newDisk(t, map[string]string{"long.md": strings.Repeat("ü\n", 50<<10)})
	_, told := run(t, memory.Options{}, memory.Files(ws, "."), yes, save("long", "x"), remove("long"), search("long"))
	require.Contains(t, told[0], "too long to be replaced")
	require.Contains(t, told[1], "too long to be shown before it is removed")
	require.Contains(t, told[2], "[The note is longer.")
}

func TestMemoryCommand(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[deps, string]{Capabilities: []agent.Capability[deps]{memory.New(store, memory.Options{})}}))
	s := new(memory.Map)
	for text, want := range map[string]string{"/memory": "There are no notes.", "/memory tea": "No matching notes. Try a different query."} {
		res, _, err := a.Command(t.Context(), deps{s}, text, nil)
		require.NoError(t, err)
		require.Equal(t, want, res.Notice)
	}
	require.NoError(t, s.Put(t.Context(), "tea", "Ada likes tea.", ""))
	for text, want := range map[string]string{"/memory": "Notes:\n- tea: Ada likes tea.", "/memory tea": "# Note tea\nAda likes tea."} {
		res, _, err := a.Command(t.Context(), deps{s}, text, nil)
		require.NoError(t, err)
		require.Equal(t, want, res.Notice)
	}
	res, _, err := a.Command(t.Context(), deps{}, "/memory", nil)
	require.NoError(t, err)
	require.Equal(t, "No memory is available.", res.Notice)
	requests, _ := run(t, memory.Options{}, nil, nil)
	require.Empty(t, requests[0].Tools)

	_, err = agent.New(agent.Config[deps, string]{Capabilities: []agent.Capability[deps]{memory.New[deps](nil, memory.Options{})}})
	require.ErrorContains(t, err, "memory: New: the function is nil")
	_, err = agent.New(agent.Config[deps, string]{Capabilities: []agent.Capability[deps]{memory.New(store, memory.Options{MaxList: -1})}})
	require.ErrorContains(t, err, "Options.MaxList is -1")
}

func ExampleNew() {
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "save_note", `{"name":"preferences","text":"Ada likes short answers."}`)),
		modeltest.SayText("Noted."),
		modeltest.SayText("Hello."),
	)
	a := agent.Must(agent.New(agent.Config[memory.Store, string]{
		Model:        script,
		Capabilities: []agent.Capability[memory.Store]{memory.New(func(s memory.Store) memory.Store { return s }, memory.Options{})},
		Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			fmt.Println(r.Approval.Title)
			return toolset.Allow(), nil
		}},
	}))
	notes := new(memory.Map)
	for _, prompt := range []string{"Keep your answers short.", "Hi."} {
		if _, err := a.Run(context.Background(), notes, prompt); err != nil {
			fmt.Println(err)
			return
		}
	}
	lines := strings.Split(script.Requests()[2].Instructions, "\n")
	fmt.Println(lines[len(lines)-1])
	// Output:
	// Remember preferences
	// - preferences: Ada likes short answers.
}

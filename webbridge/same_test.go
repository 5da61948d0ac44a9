// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// A client that is shown changes as they come, some at a time, has in the end what a client has that is shown everything at once.
func TestStreamsShowWhatIsLoaded(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, seed))
		var f view.Fold
		ui, agui := webbridge.NewUIFold(&f), webbridge.NewAGUIFold()
		forUI, forAGUI := f.Cursor(nil), f.Cursor(nil)
		agui.Show(forAGUI)
		show := func() {
			if r.IntN(3) == 0 {
				ui.Show(forUI)
			}
			if r.IntN(3) == 0 {
				agui.Show(forAGUI)
			}
		}
		for step := 1; step <= 3; step++ {
			randomStep(t, r, &f, step, show)
		}
		ui.Show(forUI)
		agui.Show(forAGUI)
		loaded, again := webbridge.NewUIFold(&f), webbridge.NewAGUIFold()
		loaded.Show(f.Cursor(nil))
		again.Show(f.Cursor(nil))
		same(t, loaded.Parts(), ui.Parts(), fmt.Sprint("UI message stream, seed ", seed))
		same(t, again.Messages(), agui.Messages(), fmt.Sprint("AG-UI, seed ", seed))
	}
}

// ofSomeKinds are the fields of an entity that a kind without a case of its own is shown without.
var ofSomeKinds = map[string]string{
	"ID": "of the part", "Kind": "of the part", "Parent": "of what is inside something", "Role": "of messages",
	"Locations": "of calls", "Output": "of calls", "Dir": "of commands", "Exit": "of commands",
	"Digest": "of questions and of prompts that wait", "Usage": "of the usage", "Settings": "of the options",
	"Slash": "of the commands", "Updated": "of the session", "Meta": "of ACP",
}

// TestKindsWithoutACaseAreShownWithTheirFields finds fields of entities that a stream leaves out.
func TestKindsWithoutACaseAreShownWithTheirFields(t *testing.T) {
	e := view.Entity{
		ID: "poll:1", Kind: "poll", Title: "in Title", Name: "in Name", Class: "in Class", Status: "in Status",
		Content: []view.Content{{Kind: view.Text, Text: "in Content"}}, Input: json.RawMessage(`"in Input"`),
		Steps: []view.Step{{Text: "in Steps"}}, Choices: []view.Choice{{ID: "in Choices"}}, Value: "in Value",
	}
	var f view.Fold
	put(t, &f, view.Entity{ID: "prompt:r", Kind: view.Message, Role: view.User, Content: []view.Content{{Kind: view.Text, Text: "go"}}})
	put(t, &f, e)
	ui, loaded, agui := webbridge.NewUIAnswer(&f, "prompt:r"), webbridge.LoadedUIAnswer(&f), webbridge.NewAGUIFold()
	ui.Show(f.Cursor(nil))
	agui.Show(f.Cursor(nil))
	same(t, loaded.Parts(), ui.Parts(), "UI message stream")
	of := reflect.TypeFor[view.Entity]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		if ofSomeKinds[name] != "" {
			continue
		}
		require.Contains(t, fmt.Sprint(ui.Parts()), "in "+name, "UIData and uiTable.data")
		require.Contains(t, fmt.Sprint(agui.Messages()), "in "+name, "aguiActivityOf")
	}
	require.Contains(t, fmt.Sprint(ui.Parts()), `"data-poll"`)
	require.Contains(t, fmt.Sprint(agui.Messages()), `"POLL"`)
}

// What belongs to no answer in particular has the same place in an answer that was followed and in one that is loaded.
func TestPlanOfEarlierAnswersHasOnePlace(t *testing.T) {
	var f view.Fold
	prompt := func(id string) {
		put(t, &f, view.Entity{ID: id, Kind: view.Message, Role: view.User, Content: []view.Content{{Kind: view.Text, Text: "go on"}}})
	}
	said := func(id string) {
		put(t, &f, view.Entity{ID: id, Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: "done"}}})
	}
	plan := func(status view.Status) {
		put(t, &f, view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "one", Status: status}}})
	}
	prompt("prompt:one")
	said("message:r/1")
	plan(view.Running)
	prompt("prompt:two")
	followed := webbridge.NewUIAnswer(&f, "prompt:two")
	c := f.Cursor(nil)
	followed.Show(c)
	said("message:s/1")
	followed.Show(c)
	require.Equal(t, webbridge.LoadedUIAnswer(&f).Parts(), followed.Parts())
	plan(view.Completed)
	followed.Show(c)
	parts := followed.Parts()
	require.Equal(t, webbridge.LoadedUIAnswer(&f).Parts(), parts)
	require.Contains(t, parts[0], "data-plan")
}

// same compares without the order: a call that waits is shown when it runs.
func same(t *testing.T, want, got []string, what string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got, what)
}

// randomStep changes a fold as a step of a run does.
func randomStep(t *testing.T, r *rand.Rand, f *view.Fold, step int, show func()) {
	change := func(e view.Entity) {
		put(t, f, e)
		show()
	}
	more := func(id string, c view.Change) {
		c.Op, c.ID = view.Append, id
		require.NoError(t, f.Apply(c))
		show()
	}
	at := fmt.Sprint("r/", step)
	for _, e := range []view.Entity{{ID: "thought:" + at, Kind: view.Thought}, {ID: "message:" + at, Kind: view.Message, Role: view.Assistant}} {
		if r.IntN(4) == 0 {
			continue
		}
		change(e)
		for range 1 + r.IntN(3) {
			more(e.ID, view.Change{Text: "some <words> "})
		}
		if e.Kind == view.Message && r.IntN(3) == 0 {
			more(e.ID, view.Change{Content: []view.Content{{Kind: view.Link, URI: "https://example.com", Name: "Source"}, {Kind: view.Image, MIMEType: "image/png", Data: "AAAA"}}})
			more(e.ID, view.Change{Text: "and more"})
		}
	}
	var calls []view.Entity
	for n := range r.IntN(3) {
		calls = append(calls, view.Entity{
			ID: fmt.Sprint("call:", at, "/c", n), Kind: view.ToolCall, Name: "look", Title: "Look", Input: json.RawMessage(`{"at":"sea"}`), Status: view.Pending,
		})
		change(calls[n])
	}
	for _, c := range calls {
		if r.IntN(3) == 0 {
			q := view.Entity{ID: "question:" + c.ID[len("call:"):], Parent: c.ID, Kind: view.Question, Name: "look", Title: "Look?", Status: view.Pending, Digest: "d" + c.ID, Choices: []view.Choice{{ID: "allow_once"}, {ID: "reject_once"}}}
			change(q)
			q.Status, q.Value = view.Completed, []string{"allow_once", "reject_once"}[r.IntN(2)]
			change(q)
			if r.IntN(2) == 0 {
				c.Input = json.RawMessage(`{"at":"lake"}`)
			}
		}
		c.Status = view.Running
		change(c)
		if r.IntN(3) == 0 {
			inside := view.Entity{ID: "agent:in" + c.ID, Parent: c.ID, Kind: view.SubAgent, Name: "clerk", Status: view.Running}
			change(inside)
			inside.Status = view.Completed
			change(inside)
		}
		c.Status, c.Content = []view.Status{view.Completed, view.Failed}[r.IntN(2)], []view.Content{{Kind: view.Text, Text: "seen"}}
		change(c)
	}
	change(view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: uint64(step)}})
	if r.IntN(3) == 0 {
		change(view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "one", Status: view.Running}}})
		change(view.Entity{ID: "plan", Kind: view.Plan, Steps: []view.Step{{Text: "one", Status: view.Completed}}})
	}
	if r.IntN(4) == 0 {
		change(view.Entity{ID: fmt.Sprint("notice:", at), Kind: view.Notice, Class: "warning", Title: "Mind the gap"})
	}
	if e := f.Get("message:" + at); e != nil && step == 3 && r.IntN(2) == 0 {
		stopped := *e
		stopped.Status = view.Stopped
		change(stopped)
	}
}

// SPDX-License-Identifier: Apache-2.0

package acpview_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// editor is a client that folds what it is sent.
type editor struct {
	acp.UnimplementedClient
	t       testing.TB
	fold    acpclient.Fold
	updates []string
	fails   func() bool
}

func (e *editor) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	if e.fails != nil && e.fails() {
		return errors.New("the queue is full")
	}
	data, err := json.Marshal(n.Update)
	require.NoError(e.t, err)
	e.updates = append(e.updates, string(data))
	var u acp.SessionUpdate
	require.NoError(e.t, json.Unmarshal(data, &u))
	return e.fold.Apply(&u)
}

func (e *editor) take() []string {
	all := e.updates
	e.updates = nil
	return all
}

// calls returns what the editor shows of tool calls, and texts what it shows of messages.
func (e *editor) calls() (all []string) {
	for c := range e.fold.View().Snapshot().Of(view.ToolCall) {
		data, err := json.Marshal(c)
		require.NoError(e.t, err)
		all = append(all, string(data))
	}
	return all
}

func (e *editor) texts() (all []string) {
	for m := range e.fold.View().Snapshot().Of(view.Message) {
		all = append(all, m.Text())
	}
	return all
}

func put(f *view.Fold, e view.Entity) {
	_ = f.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e})
}

func open(t testing.TB, f *view.Fold, o acpview.Options) (*editor, *acpview.Client) {
	e := &editor{t: t}
	return e, acpview.New(e, "s", f, f.Snapshot(), o)
}

func TestWriteIsThreeUpdates(t *testing.T) {
	var f view.Fold
	e, client := open(t, &f, acpview.Options{Late: true})
	call := view.Entity{ID: "call:r/1/a", Kind: view.ToolCall, Name: "write_file", Title: "write_file", Class: "edit", Status: view.Pending, Input: json.RawMessage(`{}`)}
	show := func(change func(c *view.Entity)) {
		change(&call)
		put(&f, call)
		require.NoError(t, client.Show(t.Context()))
	}
	show(func(*view.Entity) {})
	require.Empty(t, e.take(), "there is nothing about it yet but that it will be made")
	show(func(c *view.Entity) {
		c.Title, c.Content = "Edit a", []view.Content{{Kind: view.Diff, Diff: &view.FileChange{Path: "/a", New: "x"}}}
	})
	show(func(c *view.Entity) { c.Status = view.Running })
	show(func(c *view.Entity) { c.Status = view.Running })
	show(func(c *view.Entity) { c.Status, c.Output = view.Completed, json.RawMessage(`{"bytes":1}`) })
	require.Equal(t, []string{
		`{"sessionUpdate":"tool_call","toolCallId":"r/1/a","title":"Edit a","name":"write_file","kind":"edit","status":"pending","content":[{"type":"diff","path":"/a","newText":"x"}],"rawInput":{}}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"r/1/a","status":"in_progress"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"r/1/a","status":"completed","rawOutput":{"bytes":1}}`,
	}, e.take())
}

func TestCallsAreAnnouncedInTheirOrder(t *testing.T) {
	var f view.Fold
	e, client := open(t, &f, acpview.Options{Late: true})
	for _, id := range []string{"a", "b", "c", "d"} {
		put(&f, view.Entity{ID: "call:" + id, Kind: view.ToolCall, Title: id, Status: view.Pending, Input: json.RawMessage(`{}`)})
	}
	require.NoError(t, client.Show(t.Context()))
	require.Empty(t, e.take())
	_ = f.Apply(view.Change{Op: view.Remove, ID: "call:d"})
	put(&f, view.Entity{ID: "call:b", Kind: view.ToolCall, Title: "b", Status: view.Running, Input: json.RawMessage(`{}`)})
	require.NoError(t, client.Show(t.Context()))
	var got []string
	for c := range e.fold.View().Snapshot().Of(view.ToolCall) {
		got = append(got, c.Title+" "+string(c.Status))
	}
	require.Equal(t, []string{"a pending", "b in_progress", "c pending"}, got)
}

func TestQuestionAnnouncesItsCall(t *testing.T) {
	var f view.Fold
	e, client := open(t, &f, acpview.Options{Late: true})
	put(&f, view.Entity{ID: "call:a", Kind: view.ToolCall, Title: "Pay", Status: view.Pending, Input: json.RawMessage(`{}`)})
	put(&f, view.Entity{ID: "call:b", Kind: view.ToolCall, Title: "Look", Status: view.Pending, Input: json.RawMessage(`{}`)})
	put(&f, view.Entity{ID: "question:a", Kind: view.Question, Parent: "call:a", Status: view.Pending})
	require.NoError(t, client.Show(t.Context()))
	require.Len(t, e.take(), 1)
	require.NoError(t, client.ShowAll(t.Context()))
	require.Contains(t, e.take()[0], "Look")
}

func TestClientsAreToldNothingTwice(t *testing.T) {
	var f view.Fold
	e, client := open(t, &f, acpview.Options{})
	put(&f, view.Entity{ID: "call:a", Kind: view.ToolCall, Title: "A", Status: view.Pending})
	put(&f, view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 1}})
	require.NoError(t, client.Show(t.Context()))
	require.Len(t, e.take(), 2)
	put(&f, view.Entity{ID: "call:a", Kind: view.ToolCall, Title: "A", Status: view.Pending, Value: "of no meaning here"})
	put(&f, view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 1}})
	require.NoError(t, client.Show(t.Context()))
	require.Empty(t, e.take())
}

func TestOnlyClientsThatTakeNoticesGetThoseOfTools(t *testing.T) {
	for _, takes := range []bool{true, false} {
		var f view.Fold
		e, client := open(t, &f, acpview.Options{Notices: takes})
		put(&f, view.Entity{ID: "note:r/1", Kind: view.Notice, Title: "from a tool"})
		put(&f, view.Entity{ID: "notice:r/2", Kind: view.Notice, Title: "from the host", Class: "warning"})
		require.NoError(t, client.Show(t.Context()))
		all := strings.Join(e.take(), "\n")
		require.Equal(t, takes, strings.Contains(all, "from a tool"))
		require.Equal(t, takes, strings.Contains(all, `"severity":"warning"`))
		require.Contains(t, all, "from the host")
	}
}

func TestLoadedTerminalIsItsOutput(t *testing.T) {
	var f view.Fold
	call := view.Entity{
		ID: "call:a", Kind: view.ToolCall, Title: "make", Status: view.Running, Content: []view.Content{{Kind: view.Output, Ref: acpview.CommandID("t1")}},
	}
	e, client := open(t, &f, acpview.Options{})
	put(&f, call)
	require.NoError(t, client.Show(t.Context()))
	require.Contains(t, e.take()[0], `{"type":"terminal","terminalId":"t1"}`)
	call.Status, call.Output = view.Completed, json.RawMessage(`{"output":"built `+"```"+` it"}`)
	put(&f, call)
	require.NoError(t, client.Show(t.Context()))
	require.NotContains(t, e.take()[0], "content", "the editor has the terminal")
	late := &editor{t: t}
	loading := acpview.New(late, "s", f.Snapshot().Fold(), nil, acpview.Options{})
	require.NoError(t, loading.Show(t.Context()))
	require.Contains(t, late.take()[0], "````text\\nbuilt ``` it\\n````")
}

// Random sessions, told piece by piece to a client whose queue is full at times, and as a whole to one that loads
// them: both show the same.
func TestWhatIsLoadedIsWhatWasLive(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var f view.Fold
		live, client := open(t, &f, acpview.Options{Late: r.IntN(2) == 0, Prompts: true})
		live.fails = func() bool { return r.IntN(10) == 0 }
		for range 40 {
			random(r, &f)
			if r.IntN(3) == 0 {
				_ = client.Show(t.Context())
			}
		}
		live.fails = nil
		require.NoError(t, client.ShowAll(t.Context()))
		loaded := &editor{t: t}
		require.NoError(t, acpview.New(loaded, "s", f.Snapshot().Fold(), nil, acpview.Options{Prompts: true}).Show(t.Context()))
		require.Equal(t, loaded.calls(), live.calls(), seed)
		require.Equal(t, loaded.texts(), live.texts(), seed)
	}
}

// random changes a session as transcripts do: messages grow, calls go on.
func random(r *rand.Rand, f *view.Fold) {
	id := r.IntN(6)
	if r.IntN(2) == 0 {
		role := []view.Role{view.User, view.Assistant}[id%2]
		id := fmt.Sprint("message:r/", id)
		if f.Get(id) == nil {
			put(f, view.Entity{ID: id, Kind: view.Message, Role: role})
		}
		_ = f.Apply(view.Change{Op: view.Append, ID: id, Text: strings.Repeat("é ", 1+r.IntN(3))})
		return
	}
	e := view.Entity{ID: fmt.Sprint("call:r/1/", id), Kind: view.ToolCall, Title: "call", Status: view.Pending, Input: json.RawMessage(`{}`)}
	if known := f.Get(e.ID); known != nil {
		e = *known
	}
	patch := view.Entity{Status: []view.Status{"", view.Running, view.Completed}[r.IntN(3)], Title: fmt.Sprint("title ", r.IntN(3))}
	if r.IntN(2) == 0 {
		patch.Content = []view.Content{{Kind: view.Text, Text: fmt.Sprint("text ", r.IntN(3))}}
		patch.Locations = []view.Location{{Path: "/a", Line: r.IntN(2)}}
	}
	if !e.Status.Ended() {
		e.Merge(&patch)
	}
	put(f, e)
}

func TestPiecesOfAMessageAreSentOnce(t *testing.T) {
	text := func(s string) view.Content { return view.Content{Kind: view.Text, Text: s} }
	image := view.Content{Kind: view.Image, Data: "AA==", MIMEType: "image/png"}
	for fail := range 4 {
		var f view.Fold
		e, client := open(t, &f, acpview.Options{})
		n := 0
		e.fails = func() bool { n++; return n == fail+1 }
		put(&f, view.Entity{ID: "message:r/1", Kind: view.Message, Role: view.Assistant, Content: []view.Content{text("a"), image, text("b")}})
		_ = client.Show(t.Context())
		_ = f.Apply(view.Change{Op: view.Append, ID: "message:r/1", Text: "c"})
		_ = client.Show(t.Context())
		require.NoError(t, client.Show(t.Context()))
		require.Equal(t, []string{"abc"}, e.texts(), fail)
		require.Len(t, e.fold.View().Snapshot().Last(view.Message).Content, 3)
	}
}

func TestTextGoesOutWithoutAllocations(t *testing.T) {
	var f view.Fold
	put(&f, view.Entity{ID: "message:r/1", Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: "x"}}})
	client := acpview.New(quiet{}, "s", &f, nil, acpview.Options{})
	require.NoError(t, client.Show(t.Context()))
	const n = 10_000
	allocs := testing.AllocsPerRun(5, func() {
		for range n {
			_ = f.Apply(view.Change{Op: view.Append, ID: "message:r/1", Text: "a few more words "})
			_ = client.Show(context.Background())
		}
	})
	require.Less(t, allocs/n, 0.02)
}

type quiet struct{ acp.UnimplementedClient }

func (quiet) SessionUpdate(context.Context, *acp.SessionNotification) error { return nil }

// SPDX-License-Identifier: Apache-2.0

package acpview_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// TestContentOfEditorsIsKept reads blocks of the protocol as content. What is shown of it is the block again.
func TestContentOfEditorsIsKept(t *testing.T) {
	long := strings.Repeat(" ", 16<<10-len(`[{"start":0,"end":1}]`))
	link := func(cites string) string {
		return `{"type":"resource_link","name":"A","uri":"https://a","mimeType":"text/html","_meta":{"ponte-go.dev/cites":` + cites + `}}`
	}
	const plain = `{"kind":"link","mime_type":"text/html","uri":"https://a","name":"A"`
	for block, want := range map[string]string{
		`{"type":"text","text":"a"}`: `{"kind":"text","text":"a"}`,
		`{"type":"image","data":"AA==","mimeType":"image/png","uri":"file:///a"}`:                       `{"kind":"image","mime_type":"image/png","data":"AA==","uri":"file:///a"}`,
		`{"type":"image","data":"AA==","mimeType":"image/png"}`:                                         `{"kind":"image","mime_type":"image/png","data":"AA=="}`,
		`{"type":"audio","data":"AA==","mimeType":"audio/wav"}`:                                         `{"kind":"audio","mime_type":"audio/wav","data":"AA=="}`,
		`{"type":"resource_link","name":"A","uri":"https://a"}`:                                         `{"kind":"link","uri":"https://a","name":"A"}`,
		link(`[{"start":0,"end":1}]`):                                                                   plain + `,"cites":[{"start":0,"end":1}]}`,
		link(`[{"start":0,"end":0}]`):                                                                   plain + `}`,
		link(`[{"start":-1,"end":1}]`):                                                                  plain + `}`,
		link(`[{"start":2,"end":1}]`):                                                                   plain + `}`,
		link(`7`):                                                                                       plain + `}`,
		link(`[{"start":0,"end":1}` + long + `]`):                                                       plain + `,"cites":[{"start":0,"end":1}]}`,
		link(`[{"start":0,"end":1}` + long + ` ]`):                                                      plain + `}`,
		`{"type":"resource","resource":{"uri":"file:///a","text":"a","mimeType":"text/plain"}}`:         `{"kind":"resource","text":"a","mime_type":"text/plain","uri":"file:///a"}`,
		`{"type":"resource","resource":{"uri":"file:///a","blob":"AA==","mimeType":"application/pdf"}}`: `{"kind":"resource","mime_type":"application/pdf","data":"AA==","uri":"file:///a"}`,
		`{"type":"resource","resource":{"uri":"file:///a"}}`:                                            `{"kind":"other","raw":{"uri":"file:///a"}}`,
		`{"type":"hologram","a":1}`:                                                                     `{"kind":"other","raw":{"type":"hologram","a":1}}`,
	} {
		var b acp.ContentBlock
		require.NoError(t, json.Unmarshal([]byte(block), &b), block)
		got := acpview.Contents([]acp.ContentBlock{b})
		require.Len(t, got, 1)
		data, err := json.Marshal(got[0])
		require.NoError(t, err)
		require.JSONEq(t, want, string(data), block)
		if strings.Contains(block, "cites") && !strings.Contains(want, "cites") || got[0].Kind == view.Other {
			continue
		}
		shown, err := json.Marshal(acpview.Block(&got[0]))
		require.NoError(t, err)
		require.JSONEq(t, strings.ReplaceAll(block, long, ""), string(shown))
	}
}

// TestCallsOfEditorsAreKept reads calls of the protocol as entities. What is shown of it is the call again.
func TestCallsOfEditorsAreKept(t *testing.T) {
	const whole = `{"toolCallId":"a","title":"T","name":"n","kind":"edit","status":"in_progress","rawInput":{"a":1},"rawOutput":{"b":2},"_meta":{"m":1},
		"locations":[{"path":"/a"},{"path":"/b","line":3}],"content":[{"type":"content","content":{"type":"text","text":"x"}},
		{"type":"diff","path":"/a","oldText":"o","newText":"n"},{"type":"diff","path":"/b","newText":"n"},{"type":"terminal","terminalId":"t"},{"type":"odd","a":1}]}`
	var call acp.ToolCall
	require.NoError(t, json.Unmarshal([]byte(whole), &call))
	u := acpview.Update(&call)
	e := acpview.CallOf(&u)
	data, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"call:a","kind":"tool_call","title":"T","name":"n","class":"edit","status":"in_progress","input":{"a":1},"output":{"b":2},"meta":{"m":1},
		"locations":[{"path":"/a"},{"path":"/b","line":3}],"content":[{"kind":"text","text":"x"},{"kind":"diff","diff":{"path":"/a","old":"o","new":"n"}},
		{"kind":"diff","diff":{"path":"/b","new":"n"}},{"kind":"command","ref":"command:t"},{"kind":"other","raw":{"type":"odd","a":1}}]}`, string(data))
	data, err = json.Marshal(acpview.Call(e, ""))
	require.NoError(t, err)
	require.JSONEq(t, whole, string(data))
	require.Equal(t, "clerk: T", *acpview.Call(e, "clerk").Title)
	e.Title = "clerk: T"
	require.Equal(t, "clerk: T", *acpview.Call(e, "clerk").Title)

	empty := acpview.CallOf(&acp.ToolCallUpdate{ToolCallID: "a"})
	require.Equal(t, &view.Entity{ID: "call:a", Kind: view.ToolCall}, empty, "what an update does not say is empty")
	cleared := acpview.CallOf(&acp.ToolCallUpdate{ToolCallID: "a", Content: []acp.ToolCallContent{}, Locations: []acp.ToolCallLocation{}, Meta: map[string]json.RawMessage{}})
	require.NotNil(t, cleared.Content)
	require.NotNil(t, cleared.Locations)
	require.Nil(t, cleared.Meta)
	require.Nil(t, acpview.Call(empty, "").Content)
	require.Nil(t, acpview.Call(empty, "").Locations)
	require.NotNil(t, acpview.Call(cleared, "").Content)
}

func TestPlansAndNoticesOfEditorsAreRead(t *testing.T) {
	require.Equal(t, []view.Step{{Text: "a", Status: "pending", Priority: "low"}, {Text: "b", Status: "odd"}}, acpview.StepsOf(&acp.Plan{Entries: []acp.PlanEntry{
		{Content: "a", Status: acp.PlanEntryStatusPending, Priority: acp.PlanEntryPriorityLow}, {Content: "b", Status: "odd"},
	}}))
	require.Equal(t, []view.Step{}, acpview.StepsOf(&acp.Plan{}))
	require.Equal(t, &view.Entity{Kind: view.Notice, Class: "error", Title: "T", Content: []view.Content{{Kind: view.Text, Text: "D"}}},
		acpview.NoticeOf(&acp.Notice{Severity: acp.NoticeSeverityError, Title: "T", Description: new("D")}))
	require.Equal(t, &view.Entity{Kind: view.Notice, Title: "T"}, acpview.NoticeOf(&acp.Notice{Title: "T", Description: new("")}))
}

// TestLargeChangesAreShownInParts has changes of files as large as those that are shown whole, and larger ones.
func TestLargeChangesAreShownInParts(t *testing.T) {
	lines := func(n int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("line %03d\n", i) // 9 bytes
		}
		return all
	}
	joined := func(all []string) string { return strings.Join(all, "") }
	small := lines(455) // 4,095 bytes
	changed := lines(455)
	changed[100] = "line *\n\n"
	before := joined(small)
	require.Len(t, acpview.Diff("/a", &before, joined(changed)), 1)
	fits := joined(changed) + strings.Repeat("x", 8<<10-len(before)-len(joined(changed)))
	got := acpview.Diff("/a", &before, fits)
	require.Equal(t, []acp.ToolCallContent{{Diff: &acp.Diff{Path: "/a", OldText: &before, NewText: fits}}}, got, "8 KiB are shown whole")
	got = acpview.Diff("/a", &before, fits+"x")
	require.Len(t, got, 2, "one byte more is not")

	changed = lines(1000)
	changed[100], changed[900] = "one\n", "two\n"
	before = joined(lines(1000))
	got = acpview.Diff("/a", &before, joined(changed))
	require.Len(t, got, 2)
	all := lines(1000)
	require.Equal(t, joined(all[97:104]), *got[0].Diff.OldText, "three lines around it")
	require.Equal(t, joined(changed[97:104]), got[0].Diff.NewText)
	require.Equal(t, joined(changed[897:904]), got[1].Diff.NewText)
	require.Equal(t, "/a", got[1].Diff.Path)
	last := strings.TrimSuffix(joined(changed), "\n")
	got = acpview.Diff("/a", &before, last)
	require.Equal(t, strings.TrimSuffix(joined(all[996:]), "\n"), got[2].Diff.NewText, "the last line has no end")

	after := strings.ReplaceAll(before, "line", "word")
	require.Len(t, acpview.Diff("/a", &before, after), 1, "what changes everywhere is shown whole")
	require.Equal(t, before, *acpview.Diff("/a", &before, before)[0].Diff.OldText, "as is what does not change")
	require.Nil(t, acpview.Diff("/a", nil, before)[0].Diff.OldText)
}

func TestOutputOfCommandsIsShownInBlocks(t *testing.T) {
	o := acpview.Output{Text: "a\n"}
	require.Equal(t, "```text\na\n", o.Grows("```"))
	require.Equal(t, "```text\na\n```", acpview.Closed(o.Grows("```")))
	o = acpview.Output{Before: 1, Text: "b"}
	require.Equal(t, "````text\n[1 bytes before]\nb", o.Grows("````"))
	require.Equal(t, "````text\n[1 bytes before]\nb\n````", acpview.Closed(o.Grows("````")))
	require.Equal(t, "```text\na\n```", acpview.Fenced("a"))
	require.Equal(t, "````text\n```\n````", acpview.Fenced("```"))
}

// TestLongOutputIsSentNowAndThen has a command write a line at a time. A client that cannot append is sent ends of it, which are never
// longer than 16 KiB nor shorter than 256 bytes, and 1 KiB and a fourth of the output in all, and at the end everything.
func TestLongOutputIsSentNowAndThen(t *testing.T) {
	var f view.Fold
	c := &told{t: t}
	client := acpview.New(c, "s", &f, nil, acpview.Options{})
	call := view.Entity{ID: "call:a", Kind: view.ToolCall, Class: "execute", Title: "T", Status: view.Running}
	put(&f, call)
	require.NoError(t, client.Show(t.Context()))
	o := acpview.Output{}
	sent, times := 0, 0
	shown := func() (text string) {
		defer c.b.Reset()
		for line := range strings.Lines(c.b.String()) {
			var u acp.ToolCallUpdate
			require.NoError(t, json.Unmarshal([]byte(line), &u))
			for _, content := range u.Content {
				text = content.Content.Content.Text.Text
			}
		}
		return text
	}
	shown()
	for i := range 3000 {
		o.Text += strings.Repeat("é", i%5) + fmt.Sprintf("line é %04d\n", i)
		call.Content = []view.Content{{Kind: view.Text, Text: o.Grows("```")}}
		put(&f, call)
		require.NoError(t, client.Show(t.Context()))
		text := shown()
		if text == "" {
			continue
		}
		times++
		sent += len(text)
		require.LessOrEqual(t, sent, 1<<10+len(o.Text)/4+64*times, "a fence and a note are not counted")
		require.LessOrEqual(t, len(text), 16<<10+64)
		require.True(t, strings.HasSuffix(text, fmt.Sprintf("line é %04d\n```", i)), text)
		if len(text) < len(o.Text) {
			require.GreaterOrEqual(t, len(text), 256-64)
			var before int
			_, err := fmt.Sscanf(text, "```text\n[%d bytes before]\n", &before)
			require.NoError(t, err, text)
			_, rest, _ := strings.Cut(text, "before]\n")
			require.Equal(t, o.Text[before:], strings.TrimSuffix(rest, "```"), "the note counts what is not shown")
		}
	}
	require.Greater(t, times, 20)
	call.Status, call.Content = view.Completed, []view.Content{{Kind: view.Text, Text: acpview.Closed(o.Grows("```"))}}
	put(&f, call)
	require.NoError(t, client.Show(t.Context()))
	require.Equal(t, call.Content[0].Text, shown())
}

// TestMuchOutputAtOnceIsCut shows 100,000 bytes: the last 16 KiB, and, to a client that has seen nearly as much as it may, nothing.
func TestMuchOutputAtOnceIsCut(t *testing.T) {
	var f view.Fold
	c := &told{t: t}
	client := acpview.New(c, "s", &f, nil, acpview.Options{})
	call := view.Entity{ID: "call:a", Kind: view.ToolCall, Class: "execute", Title: "T", Status: view.Running}
	show := func(text string) string {
		c.b.Reset()
		o := acpview.Output{Text: text}
		call.Content = []view.Content{{Kind: view.Text, Text: o.Grows("```")}}
		put(&f, call)
		require.NoError(t, client.Show(t.Context()))
		if c.b.Len() == 0 {
			return ""
		}
		var u acp.ToolCallUpdate
		require.NoError(t, json.Unmarshal([]byte(c.b.String()), &u))
		return u.Content[0].Content.Content.Text.Text
	}
	put(&f, call)
	require.NoError(t, client.Show(t.Context()))
	all := strings.Repeat("x", 100_000)
	require.Equal(t, "```text\n[83616 bytes before]\n"+strings.Repeat("x", 16<<10)+"\n```", show(all))

	call.ID = "call:b"
	put(&f, view.Entity{ID: "call:b", Kind: view.ToolCall, Class: "execute", Title: "T", Status: view.Running})
	require.NoError(t, client.Show(t.Context()))
	first := show(all[:4])
	require.Equal(t, "```text\nxxxx\n```", first)
	room := 1<<10 - len(first)
	second := show(all[:room+262]) // a fourth of it is room for more
	require.Equal(t, "```text\n"+all[:room+262]+"\n```", second)
	require.Equal(t, "", show(all[:room+300]), "less than 256 bytes are left")
}

func TestTurnsThatNobodyAskedForAreTold(t *testing.T) {
	for _, turn := range []acpview.Turn{{}, {Ended: true, StopReason: acp.StopReasonEndTurn}, {Ended: true, Code: -32603, Message: "m", Data: json.RawMessage(`{"a":1}`)}} {
		told := acpview.TurnInfo(&turn).SessionInfoUpdate
		require.Equal(t, &turn, acpview.TurnOf(told))
		err := turn.Err()
		require.Equal(t, turn.Code != 0, err != nil)
		var wrong *acp.Error
		if errors.As(err, &wrong) {
			require.Equal(t, acp.Error{Code: turn.Code, Message: turn.Message, Data: turn.Data}, *wrong)
		}
	}
	told := acpview.TurnInfo(&acpview.Turn{Ended: true, Code: 1, Message: "m", Data: json.RawMessage(`{`)}).SessionInfoUpdate
	require.Equal(t, &acpview.Turn{Ended: true, Code: 1, Message: "m"}, acpview.TurnOf(told), "data that is no JSON is left out")
	require.Nil(t, acpview.TurnOf(&acp.SessionInfoUpdate{}))
	require.Nil(t, acpview.TurnOf(&acp.SessionInfoUpdate{Meta: map[string]json.RawMessage{"ponte-go.dev/turn": json.RawMessage(`7`)}}))
	require.JSONEq(t, `{"ponte-go.dev/turn":{}}`, metaOf(t, acpview.TurnInfo(&acpview.Turn{}).SessionInfoUpdate))
}

func metaOf(t *testing.T, u *acp.SessionInfoUpdate) string {
	data, err := json.Marshal(u.Meta)
	require.NoError(t, err)
	return string(data)
}

func TestPromptsThatWaitAreTold(t *testing.T) {
	told := acpview.WaitingInfo([]acpview.Waiting{{ID: "a", Version: 12, Number: "1", Text: "Go."}}).SessionInfoUpdate
	require.JSONEq(t, `{"ponte-go.dev/waiting":[{"id":"a","version":12,"number":"1","text":"Go."}]}`, metaOf(t, told))
	got, ok := acpview.WaitingOf(told)
	require.True(t, ok)
	require.Equal(t, []*view.Entity{{ID: "waiting:a", Kind: view.Waiting, Role: view.User, Title: "1", Digest: "12", Content: []view.Content{{Kind: view.Text, Text: "Go."}}}}, got)
	got, ok = acpview.WaitingOf(acpview.WaitingInfo([]acpview.Waiting{}).SessionInfoUpdate)
	require.True(t, ok)
	require.Empty(t, got)
	for _, meta := range []map[string]json.RawMessage{nil, {"ponte-go.dev/waiting": json.RawMessage(`7`)}} {
		_, ok = acpview.WaitingOf(&acp.SessionInfoUpdate{Meta: meta})
		require.False(t, ok)
	}
}

func TestStatusOfPiecesOfMessages(t *testing.T) {
	for meta, want := range map[string]view.Status{`{}`: "", `{"a":1}`: "", `{"ponte-go.dev/status":"stopped"}`: view.Stopped, `{"ponte-go.dev/status":7}`: ""} {
		var c acp.ContentChunk
		require.NoError(t, json.Unmarshal([]byte(meta), &c.Meta))
		require.Equal(t, want, acpview.StatusOf(&c), meta)
	}
}

// TestOneSendsAtATime has a client that takes its time. Who waits for it goes when their context ends, and says why.
func TestOneSendsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f view.Fold
		slow := &slow{entered: make(chan context.Context, 10), leave: make(chan error)}
		client := acpview.New(slow, "s", &f, nil, acpview.Options{})
		require.True(t, client.Idle())
		put(&f, view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 1}})
		require.False(t, client.Idle(), "there is something to show")
		first := make(chan error, 1)
		go func() { first <- client.Show(t.Context()) }()
		<-slow.entered
		require.False(t, client.Idle(), "it is being shown")
		ctx, cancel := context.WithCancelCause(t.Context())
		others := make(chan error, 2)
		go func() { others <- client.Show(ctx) }()
		go func() { others <- client.ShowAll(ctx) }()
		synctest.Wait()
		gone := errors.New("gone")
		cancel(gone)
		require.Equal(t, gone, <-others)
		require.Equal(t, gone, <-others)
		seen := make(chan struct{})
		go func() { client.Saw("usage"); close(seen) }()
		synctest.Wait()
		slow.leave <- errors.New("no")
		require.EqualError(t, <-first, "no")
		<-seen
		require.NoError(t, client.Show(t.Context()), "what it has seen otherwise is not shown again")
		require.True(t, client.Idle())
		put(&f, view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 2}})
		go func() { first <- client.Show(ctx) }()
		require.Equal(t, ctx, <-slow.entered, "it is sent with the context, although that has ended")
		slow.leave <- nil
		require.NoError(t, <-first)
		require.True(t, client.Idle())
	})
}

type slow struct {
	acp.UnimplementedClient
	entered chan context.Context
	leave   chan error
}

func (s *slow) SessionUpdate(ctx context.Context, _ *acp.SessionNotification) error {
	s.entered <- ctx
	return <-s.leave
}

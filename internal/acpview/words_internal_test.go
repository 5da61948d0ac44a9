// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
)

// What a text shows of an output is read from it, and nothing from other texts.
func TestOutputIsReadFromItsText(t *testing.T) {
	for text, want := range map[string]string{
		"": "no", "text\n": "no", "``text\nx": "no", "```text": "no", "```go\nx\n```": "no", "x```text\nx": "no",
		"```text\n": `0 "" open`, "```text\nx": `0 "x" open`, "```text\nx\n```": `0 "x\n" closed`, "```text\n```": `0 "" closed`, "```text\nx```": `0 "x` + "```" + `" open`,
		"````text\nx\n```": `0 "x\n` + "```" + `" open`, "````text\nx\n````": `0 "x\n" closed`,
		"```text\n[7 bytes before]\nx": `7 "x" open`, "```text\n[7 bytes before]\n```": `7 "" closed`, "```text\n[7 bytes before]": `0 "[7 bytes before]" open`, "```text\n[x bytes before]\nx": `0 "[x bytes before]\nx" open`, "```text\n[7 bytes\nx": `0 "[7 bytes\nx" open`,
		"```text\n[1/7] one\n[2/7] two": `0 "[1/7] one\n[2/7] two" open`, "```text\n[7 bytes before] x\ny": `0 "[7 bytes before] x\ny" open`,
	} {
		o, closed, ok := outputOf(text)
		got := "no"
		if ok {
			got = fmt.Sprintf("%d %q %s", o.Before, o.Text, map[bool]string{true: "closed", false: "open"}[closed])
		}
		require.Equal(t, want, got, "%q", text)
	}
	o := &Output{Before: 10, Text: "abcdéf"}
	require.EqualValues(t, 17, o.end())
	for pos, want := range map[int64]string{-5: "abcdéf", 0: "abcdéf", 10: "abcdéf", 11: "bcdéf", 16: "f", 17: "", 99: ""} {
		require.Equal(t, want, o.since(pos), pos)
	}
	for n, want := range map[int64]string{
		0: "```text\n[17 bytes before]\n```", 1: "```text\n[16 bytes before]\nf\n```", 2: "```text\n[16 bytes before]\nf\n```", 3: "```text\n[14 bytes before]\néf\n```", 6: "```text\n[11 bytes before]\nbcdéf\n```", 7: "```text\n[10 bytes before]\nabcdéf\n```", 99: "```text\n[10 bytes before]\nabcdéf\n```",
	} {
		require.Equal(t, want, o.last(n), n)
	}
	require.Equal(t, "````text\n```\n````", (&Output{Text: "```\n"}).last(9))
	require.Equal(t, "```text\n```", Closed("```text\n"))
	require.Equal(t, "````text\na\n````", Closed("````text\na"))
}

// The output of a command is found in a call, and ends with it.
func TestOutputIsFoundInItsCall(t *testing.T) {
	texts := func(all ...string) (c []view.Content) {
		for _, s := range all {
			c = append(c, view.Content{Kind: view.Text, Text: s})
		}
		return c
	}
	for _, c := range []struct {
		e    view.Entity
		want string
	}{
		{view.Entity{Class: "execute", Content: texts("a", "```text\nx")}, `1 "x" false`}, {view.Entity{Class: "execute", Content: texts("```text\nx\n```", "```text\ny")}, `0 "x\n" true`},
		{view.Entity{Class: "read", Content: texts("```text\nx")}, `-1 "" false`}, {view.Entity{Class: "execute"}, `-1 "" false`}, {view.Entity{Class: "execute", Content: []view.Content{{Kind: view.Diff, Text: "```text\nx"}}}, `-1 "" false`},
	} {
		at, o, closed := command(&c.e)
		require.Equal(t, c.want, fmt.Sprintf("%d %q %v", at, o.Text, closed))
	}
	for _, c := range []struct {
		e    view.Entity
		want string
	}{
		{view.Entity{Class: "execute", Status: view.Completed, Content: texts("```text\nx")}, "```text\nx\n```"}, {view.Entity{Class: "execute", Status: view.Running, Content: texts("```text\nx")}, "```text\nx"},
		{view.Entity{Class: "read", Status: view.Completed, Content: texts("```text\nx")}, "```text\nx"}, {view.Entity{Class: "execute", Status: view.Failed, Content: texts("x")}, "x"}, {view.Entity{Class: "execute", Status: view.Cancelled, Content: texts("```text\nx\n```")}, "```text\nx\n```"},
	} {
		before := c.e.Content[0].Text
		require.Equal(t, c.want, ended(&c.e, &c.e.Content[0]).Text)
		require.Equal(t, before, c.e.Content[0].Text, "the entity is as it was")
		for _, terminal := range []string{"", "terminal_output"} {
			v := &table{options: Options{Terminal: terminal}}
			require.Equal(t, terminal != "" && c.e.Class == "execute" && c.e.Status == view.Running, v.hasTerminal(&c.e))
		}
	}
}

// The agent inside a call, and what it is asked and answers, are told in words.
func TestAgentsInsideCallsAreTold(t *testing.T) {
	for status, want := range map[view.Status]string{
		view.Pending: `{"state":"requires_action"}`, view.Running: `{"state":"running"}`, "": `{"state":"running"}`, view.Completed: `{"state":"idle","stopReason":"end_turn"}`, view.Cancelled: `{"state":"idle","stopReason":"cancelled"}`, view.Failed: `{"state":"idle"}`,
	} {
		data, err := json.Marshal(stateOf(&view.Entity{Status: status}))
		require.NoError(t, err)
		require.JSONEq(t, want, string(data), string(status))
	}
	for input, want := range map[string]string{`{"prompt":"Go."}`: "Go.", `{"Prompt":"Go."}`: "Go.", `{"prompt":""}`: `{"prompt":""}`, `{"a":1}`: `{"a":1}`, `7`: "7", ``: ""} {
		require.Equal(t, want, taskOf(&view.Entity{Input: json.RawMessage(input)}), input)
	}
	require.Empty(t, taskOf(nil))
	call := &view.Entity{Content: []view.Content{{Kind: view.Diff, Text: "no"}, {Kind: view.Text, Text: view.AllowedBy + "you"}, {Kind: view.Text, Text: "first"}, {Kind: view.Text, Text: "second"}}}
	text, ok := answerOf(call)
	require.Equal(t, []any{"first", true}, []any{text, ok})
	text, ok = answerOf(&view.Entity{Content: call.Content[:2]})
	require.Equal(t, []any{"", false}, []any{text, ok})
	for agent, want := range map[string]string{"": "T", "clerk": "clerk: T"} {
		require.Equal(t, want, titleOf(&view.Entity{Title: "T"}, agent))
	}
	require.Equal(t, "clerk: T", titleOf(&view.Entity{Title: "clerk: T"}, "clerk"))
	require.Equal(t, "clerk: clerks", titleOf(&view.Entity{Title: "clerks"}, "clerk"))
}

// Places in a message are taken if they make sense.
func TestPlacesOfSourcesAreChecked(t *testing.T) {
	for data, want := range map[string]int{
		``: 0, `null`: 0, `[]`: 0, `[{"start":0,"end":1}]`: 1, `[{"start":0,"end":0}]`: 0, `[{"start":-1,"end":1}]`: 0, `[{"start":3,"end":2}]`: 0, `[{"start":2,"end":3},{"start":5,"end":5}]`: 0, `[{"start":2,"end":3},{"start":5,"end":6}]`: 2, `{}`: 0, `7`: 0,
	} {
		require.Len(t, citesOf(json.RawMessage(data)), want, data)
	}
	for more, want := range map[int]int{0: 1, 1: 0} {
		data := `[{"start":0,"end":1}]`
		data += strings.Repeat(" ", 16<<10-len(data)+more)
		require.Len(t, citesOf(json.RawMessage(data)), want)
	}
}

// A small file is shown whole, and of a large one what changes, with three lines around it.
func TestChangesAreShownWholeOrInParts(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	file := func(n, more int) string { return strings.Repeat(line, n-1) + strings.Repeat("y", 99+more) + "\n" }
	before := strings.Repeat(line, 20) + "old\n" + strings.Repeat(line, 19)
	for size, want := range map[int]int{8<<10 - len(before): 1, 8<<10 - len(before) + 1: 1} {
		after := strings.Replace(before, "old", "new", 1)
		after = after[:min(len(after), size)]
		require.Len(t, Diff("/a", &before, after), want)
	}
	for more, whole := range map[int]bool{0: true, 1: false} {
		old, now := file(41, 0)[:4096], ""
		now = strings.Replace(old, "x", "z", 1)
		now += strings.Repeat("x", 4096-len(now)+more)
		parts := Diff("/a", &old, now)
		require.Equal(t, whole, parts[0].Diff.NewText == now, "%d", more)
	}
	require.Len(t, Diff("/a", nil, strings.Repeat(line, 200)), 1, "a new file")
	large := strings.Repeat(line, 200)
	require.Equal(t, []acp.ToolCallContent{{Diff: &acp.Diff{Path: "/a", OldText: &large, NewText: large}}}, Diff("/a", &large, large), "nothing changes")
	other := strings.Repeat("z\n", 5000)
	require.Equal(t, other, Diff("/a", &large, other)[0].Diff.NewText, "everything changes")
	var numbers strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&numbers, "line %d\n", i)
	}
	old := numbers.String()
	changed := strings.TrimSuffix(strings.Replace(old, "line 0\n", "a\n", 1), "\n")
	parts := Diff("/a", &old, changed)
	require.Len(t, parts, 2)
	require.Equal(t, "line 0\nline 1\nline 2\nline 3\n", *parts[0].Diff.OldText)
	require.Equal(t, "a\nline 1\nline 2\nline 3\n", parts[0].Diff.NewText)
	require.Equal(t, "line 996\nline 997\nline 998\nline 999\n", *parts[1].Diff.OldText)
	require.Equal(t, "line 996\nline 997\nline 998\nline 999", parts[1].Diff.NewText)
	require.Equal(t, "/a", parts[1].Diff.Path)
}

// Metadata that a call has already stays.
func TestMetadataIsAdded(t *testing.T) {
	all := map[string]json.RawMessage{"a": json.RawMessage("1")}
	got := withMeta(all, "b", map[string]int{"c": 2})
	require.Equal(t, map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage(`{"c":2}`)}, got)
	require.Len(t, all, 1)
	require.Equal(t, json.RawMessage("1"), withMeta(all, "a", 2)["a"])
	require.Equal(t, all, withMeta(all, "b", func() {}))
	require.False(t, differ([]int(nil), []int{}))
	require.True(t, differ([]int{1}, nil))
	require.False(t, differ([]int{1}, []int{1}))
	require.NotNil(t, empty[int](nil))
}

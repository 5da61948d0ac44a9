// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "write the golden files")

func text(s string) []view.Content { return []view.Content{{Kind: view.Text, Text: s}} }

func filed(path string, old *string, now string) view.Content {
	return view.Content{Kind: view.Diff, Diff: &view.FileChange{Path: path, Old: old, New: now}}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// shown are entities as they come, one after the other, by what is special about them.
var shown = map[string][]view.Entity{
	"answer":            {{ID: "m", Kind: view.Message, Content: text("\n\none ")}, {ID: "m", Kind: view.Message, Content: text("\n\none two\n\n")}, {ID: "m", Kind: view.Message, Content: text("\n\none two\n\nthree\n")}},
	"answer, stopped":   {{ID: "m", Kind: view.Message, Content: text("one")}, {ID: "m", Kind: view.Message, Status: view.Stopped, Content: text("one")}},
	"answer, replaced":  {{ID: "m", Kind: view.Message, Content: text("a long one")}, {ID: "m", Kind: view.Message, Content: text("short")}, {ID: "m", Kind: view.Message, Content: text("short and more")}},
	"two answers":       {{ID: "m", Kind: view.Message, Content: text("one")}, {ID: "n", Kind: view.Message, Content: text("two")}, {ID: "m", Kind: view.Message, Content: text("one again")}},
	"user":              {{ID: "m", Kind: view.Message, Role: view.User, Content: text("one")}},
	"nothing but lines": {{ID: "m", Kind: view.Message, Content: text("\n\n")}, {ID: "n", Kind: view.Notice, Title: "x"}},
	"thought":           {{ID: "t", Kind: view.Thought, Content: text("hm\n")}, {ID: "m", Kind: view.Message, Content: text("yes")}, {ID: "t", Kind: view.Thought, Content: text("hm\nmore")}},
	"call":              {{ID: "c", Kind: view.ToolCall, Title: "Read\na"}, {ID: "c", Kind: view.ToolCall, Title: "Read a", Status: view.Running}, {ID: "c", Kind: view.ToolCall, Title: "Read a", Status: view.Completed, Content: text("quiet")}, {ID: "c", Kind: view.ToolCall, Title: "Read a", Status: view.Failed}},
	"call, cancelled":   {{ID: "c", Kind: view.ToolCall, Title: "Read a", Status: view.Cancelled, Content: text("quiet")}},
	"call, failed":      {{ID: "c", Kind: view.ToolCall, Title: "Read a", Status: view.Failed, Content: text("\none\n\ntwo\n")}},
	"call, failed long": {{ID: "c", Kind: view.ToolCall, Title: "Read a", Status: view.Failed, Content: text(numbered(6))}},
	"call, failed mute": {{ID: "c", Kind: view.ToolCall, Title: "Read a", Status: view.Failed}},
	"change": {
		{ID: "c", Kind: view.ToolCall, Title: "Edit", Status: view.Running, Content: []view.Content{filed("/repo/a", new("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")}},
		{ID: "c", Kind: view.ToolCall, Title: "Edit", Status: view.Running, Content: []view.Content{filed("/repo/a", new("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"), filed("/other", nil, "x")}},
		{ID: "c", Kind: view.ToolCall, Title: "Edit", Status: view.Completed, Content: []view.Content{filed("/repo/a", nil, "again\n")}},
	},
	"change that waits":    {{ID: "c", Kind: view.ToolCall, Title: "Edit", Content: []view.Content{filed("/repo/a", nil, "")}}},
	"command":              {{ID: "c", Kind: view.Command, Title: "make", Dir: "/repo", Status: view.Running}, {ID: "c", Kind: view.Command, Title: "make", Dir: "/repo", Content: text("a\nb")}, {ID: "c", Kind: view.Command, Title: "make", Dir: "/repo", Status: view.Completed, Content: text("a\nbc\n"), Exit: &view.Exit{Code: 3}}},
	"command elsewhere":    {{ID: "c", Kind: view.Command, Title: "make\nall", Dir: "/tmp", Status: view.Cancelled}},
	"command killed":       {{ID: "c", Kind: view.Command, Title: "make", Status: view.Failed, Exit: &view.Exit{Signal: "KILL"}}},
	"command that goes on": {{ID: "c", Kind: view.Command, Title: "make", Status: view.Running, Content: text("a\nb")}},
	"output of 30":         {{ID: "c", Kind: view.Command, Title: "seq", Status: view.Completed, Content: text(numbered(30)), Exit: &view.Exit{}}},
	"output of 31":         {{ID: "c", Kind: view.Command, Title: "seq", Status: view.Completed, Content: text(numbered(31)), Exit: &view.Exit{}}},
	"output of 20":         {{ID: "c", Kind: view.Command, Title: "seq", Status: view.Completed, Content: text(numbered(20)), Exit: &view.Exit{}}},
	"output of 21":         {{ID: "c", Kind: view.Command, Title: "seq", Status: view.Completed, Content: text(numbered(21)), Exit: &view.Exit{}}},
	"plan":                 {{ID: "p", Kind: view.Plan, Steps: []view.Step{{Text: "one\ntwo"}, {Text: "b", Status: view.Running}}}, {ID: "p", Kind: view.Plan, Steps: []view.Step{{Text: "one\ntwo", Status: view.Completed}, {Text: "b", Status: view.Running}, {Text: "c"}}}},
	"settings":             {{ID: "o", Kind: view.Options, Settings: []view.Setting{{ID: "mode", Value: "ask"}}}, {ID: "o", Kind: view.Options, Settings: []view.Setting{{ID: "mode", Value: "code"}, {ID: "model", Value: "x"}}}, {ID: "o", Kind: view.Options, Settings: []view.Setting{{ID: "mode", Value: "code"}, {ID: "model", Value: "y\n"}}}},
	"usage":                {{ID: "u", Kind: view.Usage, Usage: &view.Tokens{Used: 1}}, {ID: "u", Kind: view.Usage, Usage: &view.Tokens{Used: 2}}},
	"notice":               {{ID: "n", Kind: view.Notice, Title: "a\nb", Content: text("c\nd")}, {ID: "o", Kind: view.Notice, Title: "alone"}},
	"summary":              {{ID: "s", Kind: view.Compaction}, {ID: "s", Kind: view.Compaction, Status: view.Completed}},
	"other":                {{ID: "x", Kind: view.SubAgent, Title: "agent"}, {ID: "y", Kind: view.Waiting}},
}

// What is printed of everything that can happen, in colour, before a prompt and between texts.
func TestWhatIsPrinted(t *testing.T) {
	var b strings.Builder
	var names []string
	for name := range shown {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "=== %s\n", name)
		for _, around := range []bool{false, true} {
			p := newPaper(t, !around)
			add := func(e view.Entity) {
				p.Update(&view.Update{Changes: []view.Change{{Op: view.Upsert, ID: e.ID, Entity: &e}}})
			}
			if around {
				add(view.Entity{ID: "before", Kind: view.Message, Content: text("before")})
			}
			for _, e := range shown[name] {
				add(e)
				p.WriteString("‖") // what was printed so far
			}
			if around {
				add(view.Entity{ID: "after", Kind: view.Message, Content: text("after")})
			}
			p.EndTurn()
			p.Prompt()
			fmt.Fprintf(&b, "%s⏎\n", strings.ReplaceAll(p.String(), "\x1b", "␛"))
		}
	}
	golden(t, "printed", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got, "%s: go test -update writes it anew", file)
}

// What is printed of a talk: prompts, questions, fields of forms, notes and errors, in this order and in others.
func TestWhatIsAsked(t *testing.T) {
	var b strings.Builder
	options := []acp.PermissionOption{{Name: "Allow\nonce"}, {Name: "Reject"}}
	call := &view.Entity{ID: "c", Kind: view.ToolCall, Title: "Edit", Content: []view.Content{filed("/repo/a", new("a\n"), "b\n")}, Input: json.RawMessage(`{"x": 1}`)}
	changes := 0
	steps := map[byte]func(p *paper){
		'p': func(p *paper) { p.Prompt() },
		'a': func(p *paper) { p.WriteString("typed\n"); p.Answered() },
		'n': func(p *paper) { p.Note("a\nnote") },
		'f': func(p *paper) { p.Fail("an\nerror") },
		's': func(p *paper) {
			p.Update(&view.Update{Changes: []view.Change{{Op: view.Upsert, ID: "m", Entity: &view.Entity{ID: "m", Kind: view.Message, Content: text("said")}}}})
		},
		'q': func(p *paper) { p.Ask(options, "bcdfg") },
		'i': func(p *paper) { p.Field([]string{"City", "(text)"}) },
		'e': func(p *paper) { p.EndTurn() },
		'r': func(p *paper) { p.Printer.Reset() },
		'v': func(p *paper) {
			p.Preview(&acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "Edit", Reason: "why", Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/a", Old: new("a\n"), New: new("b\n")}}}}})
		},
		'w': func(p *paper) {
			p.Asked(&acpclient.PermissionRequest{Call: call, Approval: toolset.Approval{Title: "Edit"}}, "no", "Rejected:\nnobody is here.")
		},
		't': func(p *paper) {
			p.Asked(&acpclient.PermissionRequest{Approval: toolset.Approval{Title: "Do\nit"}}, "", "-yes: Allow")
		},
		'o': func(p *paper) {
			changes++
			p.Update(&view.Update{Changes: []view.Change{{Op: view.Upsert, ID: "o", Entity: &view.Entity{ID: "o", Kind: view.Options, Settings: []view.Setting{{ID: "mode", Value: fmt.Sprint(changes)}}}}, {Op: view.Remove, ID: "x"}}})
		},
		'u': func(p *paper) {
			p.Update(&view.Update{Changes: []view.Change{{Op: view.Upsert, ID: "u", Entity: &view.Entity{ID: "u", Kind: view.Usage, Usage: &view.Tokens{Used: 7}}}}})
		},
		'l': func(p *paper) {
			p.Update(&view.Update{Changes: []view.Change{{Op: view.Upsert, ID: "l", Entity: &view.Entity{ID: "l", Kind: view.Plan, Steps: []view.Step{{Text: "step"}}}}}})
		},
	}
	for _, order := range []string{
		"pa", "pap", "pas", "pasep", "paspa", "pn", "pane", "spa", "sn", "snp", "ns", "ff", "fp", "pf", "vq", "vqas", "vqap", "qas", "qs", "sqa", "svw", "vv", "w", "wv", "ws", "t", "st", "i", "iap", "iaia", "si", "nia", "se", "see", "es",
		"ss", "srs", "sre", "oo", "oroo", "ueu", "uu", "uru", "uee", "ll", "lel", "lrl", "ep", "pe", "a", "ra", "pra", "vrv", "is", "in", "iv", "if", "ie", "qn", "qv",
	} {
		p := newPaper(t, len(order)%2 == 0)
		for _, s := range []byte(order) {
			steps[s](p)
		}
		fmt.Fprintf(&b, "=== %s\n%s⏎\n", order, strings.ReplaceAll(p.String(), "\x1b", "␛"))
	}
	golden(t, "asked", b.String())
}

// Of a line of more than 4 KiB both ends are shown.
func TestLongLinesOfCommands(t *testing.T) {
	for n, want := range map[int]string{
		4090: "  │ " + strings.Repeat("x", 4090),
		4091: "  │ " + strings.Repeat("x", 3066) + " … 1 bytes … " + strings.Repeat("x", 1024),
		9000: "  │ " + strings.Repeat("x", 3066) + " … 4910 bytes … " + strings.Repeat("x", 1024),
	} {
		p := newPaper(t, false)
		p.command("c", strings.Repeat("x", n)+"\n", &view.Exit{})
		require.Equal(t, "  $ make\n"+want+"\n  └ exit code 0\n", p.String(), n)
	}
	p := newPaper(t, false)
	p.command("c", strings.Repeat("漢", 2000)+"\n", &view.Exit{})
	require.Equal(t, "  $ make\n  │ "+strings.Repeat("漢", 1022)+" … 1911 bytes … "+strings.Repeat("漢", 341)+"\n  └ exit code 0\n", p.String())
}

// A word is taken from letters that are told apart, all of them.
func TestCodesHaveAllLetters(t *testing.T) {
	seen := map[rune]bool{}
	for range 500 {
		for _, r := range plain.Code() {
			seen[r] = true
		}
	}
	require.Len(t, seen, len("bcdfghjkmnpqrstvwxz"))
}

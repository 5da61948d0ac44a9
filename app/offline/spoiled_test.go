// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/offline"
)

// sound are requests that are understood, one of each form.
var sound = []string{
	"read main.go and go.mod",
	"show lines 10 to line 20 of main.go",
	"show the first 5 lines of main.go",
	"read main.go from line 3",
	"read a.txt:7-9",
	"list *.go files in internal",
	"list all files and folders under src named *.md",
	"search for all occurrences of TODO in the project",
	"search src/a.go for x y",
	"find where the word foo is used in lib",
	"where is NewServer defined in src",
	"who calls NewServer",
	"rename NewServer to New",
	"what is broken in main.go",
	"replace every foo with the word bar in main.go",
	"replace the first \"one two\" by nothing in that file",
	"in a.txt change one to two",
	"remove the line \"x\" from main.go",
	"create a new file called notes.txt with the following content: hello there",
	"create empty b.txt",
	"write \"a\\n\\\"b\\\"\" to c.txt please",
	"append the line \"more\" to the end of c.txt",
	"add 'x' to it",
	"run go test ./... -run=\"A B\"",
	"run `make check`, thanks",
	"git log --oneline -5 > out.txt",
	"please run all my unit tests",
	"wait 1.5 minutes",
	"wait 20ms and think about life",
	"use list_files with {\"pattern\": \"*.go\"}",
	"call the tool `read_file {\"path\": \"a\"}`",
	"undo the last change",
	"redo that",
	"1. read a.txt 2. list src; then search x, and run ls.",
	"hello! could you please kindly read \"my file.txt\"?",
	"read [a b](file:///project/a%20b.txt) and [c](<file:///project/c d.txt>)",
}

// spoils are what becomes of a request when something is done to the word at i.
var spoils = []struct {
	name string
	do   func(words []string, i int) []string
}{
	{"without", func(w []string, i int) []string { return append(w[:i:i], w[i+1:]...) }},
	{"twice", func(w []string, i int) []string { return append(append(w[:i+1:i+1], w[i]), w[i+1:]...) }},
	{"quoted", func(w []string, i int) []string { return append(append(w[:i:i], "“"+w[i]+"”"), w[i+1:]...) }},
	{"comma", func(w []string, i int) []string { return append(append(w[:i:i], w[i]+","), w[i+1:]...) }},
	{"stop", func(w []string, i int) []string { return append(append(w[:i:i], w[i]+"."), w[i+1:]...) }},
	{"line", func(w []string, i int) []string { return append(append(w[:i:i], w[i]+"\n"), w[i+1:]...) }},
	{"swapped", func(w []string, i int) []string {
		if i+1 == len(w) {
			return w
		}
		return append(append(w[:i:i], w[i+1], w[i]), w[i+2:]...)
	}},
	{"ends", func(w []string, i int) []string { return w[:i+1] }},
	{"begins", func(w []string, i int) []string { return w[i:] }},
	{"the", func(w []string, i int) []string { return append(append(w[:i:i], "the", w[i]), w[i+1:]...) }},
	{"and", func(w []string, i int) []string { return append(append(w[:i:i], "and", w[i]), w[i+1:]...) }},
}

// nothingDone is how the model begins if it does nothing.
const nothingDone = "I am the offline demo model, a few rules and no intelligence, and have done nothing: "

// TestSpoiledRequests has what is understood of requests in which a word is missing, repeated, quoted or out of its
// place: all of it, or nothing.
func TestSpoiledRequests(t *testing.T) { synctest.Test(t, testSpoiledRequests) } // they may ask to wait

func testSpoiledRequests(t *testing.T) {
	var defs []model.ToolDef
	for _, name := range append([]string{"find_definition", "find_references", "rename_symbol", "get_diagnostics"}, everyTool...) {
		defs = append(defs, model.ToolDef{Name: name})
	}
	m := offline.New(offline.Config{})
	understood := func(request string) string {
		answer, err := m.Generate(t.Context(), &model.Request{Tools: defs, Messages: []*model.Message{
			model.UserText("read old.txt"), {Kind: model.KindResponse, Parts: []model.Part{model.Text("read")}}, model.UserText(request),
		}}, nil)
		require.NoError(t, err)
		var b strings.Builder
		for _, p := range answer.Parts {
			switch p.Kind {
			case model.PartThinking:
				b.WriteString("  " + strings.TrimPrefix(p.Text, "Offline demo model, my plan: ") + "\n")
			case model.PartToolCall:
				fmt.Fprintf(&b, "  %s %s\n", p.Tool, p.Args)
			case model.PartText:
				for line := range strings.Lines(p.Text) {
					b.WriteString("  = " + strings.TrimPrefix(strings.TrimRight(line, "\n"), nothingDone) + "\n")
					break
				}
			}
		}
		return b.String()
	}
	var b strings.Builder
	for _, request := range sound {
		asFirst := understood(request)
		fmt.Fprintf(&b, "%s\n%s", request, asFirst)
		words := strings.Split(request, " ")
		last := asFirst
		for _, spoil := range spoils {
			for i := range words {
				got := understood(strings.Join(spoil.do(words, i), " "))
				switch got {
				case asFirst: // as if nothing had happened
					continue
				case last:
					fmt.Fprintf(&b, "%s %d: the same\n", spoil.name, i)
					continue
				}
				last = got
				fmt.Fprintf(&b, "%s %d:\n%s", spoil.name, i, got)
			}
		}
		b.WriteString("\n")
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/spoiled.txt", []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/spoiled.txt")
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"), "run with -update if it should be so")
}

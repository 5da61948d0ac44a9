// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/offline"
)

// heard returns what the model answers to a request first: its plan, its calls, and the first line of what it says.
func heard(t *testing.T, request string) string {
	t.Helper()
	var defs []model.ToolDef
	for _, name := range append([]string{"find_definition", "find_references", "rename_symbol", "get_diagnostics"}, everyTool...) {
		defs = append(defs, model.ToolDef{Name: name})
	}
	answer, err := offline.New(offline.Config{}).Generate(t.Context(), &model.Request{Tools: defs, Messages: []*model.Message{model.UserText(request)}}, nil)
	require.NoError(t, err)
	var b strings.Builder
	for _, p := range answer.Parts {
		switch p.Kind {
		case model.PartThinking:
			b.WriteString("  " + strings.TrimPrefix(p.Text, "Offline demo model, my plan: ") + "\n")
		case model.PartToolCall:
			fmt.Fprintf(&b, "  %s %s\n", p.Tool, p.Args)
		case model.PartText:
			line, _, _ := strings.Cut(p.Text, "\n")
			b.WriteString("  = " + strings.TrimPrefix(line, nothingDone) + "\n")
		}
	}
	return b.String()
}

// compareText compares a text with that of a file, line by line.
func compareText(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(text, "\n"), "run with -update if it should be so")
}

// TestAllSentences has what is understood of all sentences of these tests, and of them without a word, with one twice, and with
// two that have changed places.
func TestAllSentences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		all := append(slices.Collect(maps.Keys(understood)), refused...)
		slices.Sort(all)
		for _, sentence := range all {
			first := heard(t, sentence)
			fmt.Fprintf(&b, "> %s\n%s", strings.ReplaceAll(sentence, "\n", "⏎"), first)
			words, last := strings.Split(sentence, " "), first
			for _, spoil := range spoils {
				if spoil.name != "without" && spoil.name != "swapped" && spoil.name != "twice" {
					continue
				}
				for i := range words {
					if got := heard(t, strings.Join(spoil.do(words, i), " ")); got != first && got != last {
						fmt.Fprintf(&b, "%s %d:\n%s", spoil.name, i, got)
						last = got
					}
				}
			}
		}
		compareText(t, "testdata/sentences.txt", b.String())
	})
}

// frames are sentences with a place for a word.
var frames = []string{
	"_", "_ a.txt", "_ read a.txt", "read _ a.txt", "read a.txt _", "read a.txt _ b.txt", "read a.txt _ run ls", "list _ files", "list files _ docs", "list _", "search _ TODO", "search TODO _ docs", "search TODO _",
	"replace _ foo with bar in a.txt", "replace foo _ bar in a.txt", "replace foo with _ bar in a.txt", "replace foo with bar _ a.txt", "replace foo with bar in a.txt _", "change foo _ bar in a.txt", "remove _ foo from a.txt",
	"create _ a.txt with hello", "create a.txt _ hello", "create a.txt _", "write hello _ a.txt", "append x _ a.txt", "run _", "run _ tests", "run go test _", "use _ list_files {}", "wait _", "wait 2 _", "undo _", "where is x _", "read lines 2 _ 3 of a.txt", "show _ a.txt",
	"find _ x", "git _", "help _", "think _", "rename a to b _ a.go", "in a.txt _ foo with bar", "what _ a.txt say", "_, then read a.txt", "read a.txt. _", "read it _",
}

// vocabulary are words that mean something somewhere in the grammar, and some that do not.
var vocabulary = strings.Fields(`a an the some all every each my this that these both and or then also not never without after please thanks thank you again now too tests test code functions comment everything something file files
	directory folder project it them there here in into to of from for with by on at inside within under across as named called matching containing saying says which who why how if is are does contain line lines first last
	read show cat list find search grep replace change remove delete rename create make write add append save run execute use call wait undo redo revert take back help think ls pwd go npm ./x *.go "x" ` + "`x`" + ` {} 5 1-2 - 1. one two empty new
	new-name seconds ms minutes sleep definition defined uses occurrences text word hello hi okay can could would let's nothing end beginning top suite unit once more carefully`)

// TestWordsInSentences has what is understood of each word in each place.
func TestWordsInSentences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		for _, frame := range frames {
			says := map[string][]string{}
			var order []string
			for _, word := range vocabulary {
				got := heard(t, strings.Replace(frame, "_", word, 1))
				shown := strings.ReplaceAll(got, "`"+word+"`", "`_`") // the same but for the word
				if len(word) > 3 {
					shown = strings.ReplaceAll(shown, word, "_")
				}
				if says[shown] == nil {
					order = append(order, shown)
				}
				says[shown] = append(says[shown], word)
			}
			fmt.Fprintf(&b, "> %s\n", frame)
			for _, got := range order {
				fmt.Fprintf(&b, "%s:\n%s", strings.Join(says[got], " "), got)
			}
		}
		compareText(t, "testdata/words.txt", b.String())
	})
}

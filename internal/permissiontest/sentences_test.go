// SPDX-License-Identifier: Apache-2.0

package permissiontest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cannot finds the sentences about what cannot happen.
var cannot = regexp.MustCompile(`(?i)\b(not|never|no|nothing|nobody|cannot|none|neither|nor)\b`)

var (
	notProse  = regexp.MustCompile("(?s)```.*?```|<!--.*?<!-- end[^>]*-->")
	notText   = regexp.MustCompile(`(?m)^[#|].*$`)
	listItem  = regexp.MustCompile(`(?m)^- `)
	paragraph = regexp.MustCompile(`\n\s*\n`)
	endOf     = regexp.MustCompile("[.:!?] +[A-Z*`\"\\[(]")
)

// sentences returns the sentences of a page, without code and tables.
func sentences(text string) (all []string) {
	text = listItem.ReplaceAllString(notText.ReplaceAllString(notProse.ReplaceAllString(text, ""), ""), "\n\n")
	for _, p := range paragraph.Split(text, -1) {
		p = strings.Join(strings.Fields(p), " ")
		for {
			at := endOf.FindStringIndex(p)
			if at == nil {
				break
			}
			all, p = append(all, p[:at[0]+1]), p[at[1]-1:]
		}
		if p != "" {
			all = append(all, p)
		}
	}
	return all
}

// TestSentencesAboutWhatCannotHappenAreAttacked compares testdata/sentences.txt with the pages: each
// sentence about what cannot happen names the tests that attack it, or says that it is about
// something else ("-"). A new sentence without a test is red, and so is a test that is gone.
func TestSentencesAboutWhatCannotHappenAreAttacked(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{"node_modules", ".git"}, d.Name()) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllSubmatch(data, -1) {
				tests[string(m[1])] = true
			}
		}
		return nil
	}))
	table, err := os.ReadFile("testdata/sentences.txt")
	require.NoError(t, err)
	attacked := map[string]string{}
	for line := range strings.Lines(string(table)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sentence, by, ok := strings.Cut(line, " => ")
		require.True(t, ok, line)
		attacked[sentence] = by
	}
	found, counted := map[string]bool{}, 0
	for _, page := range []string{"approvals.md", "local.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err)
		for _, s := range sentences(string(text)) {
			if !cannot.MatchString(s) {
				continue
			}
			found[s] = true
			by, ok := attacked[s]
			if !ok {
				t.Errorf("%s: no test attacks this sentence; add it to testdata/sentences.txt:\n%s", page, s)
				continue
			}
			if by == "-" {
				continue
			}
			counted++
			for name := range strings.FieldsSeq(strings.ReplaceAll(by, ",", " ")) {
				if !tests[name] {
					t.Errorf("%s: there is no test %s, which attacks:\n%s", page, name, s)
				}
			}
		}
	}
	for s := range attacked {
		if !found[s] {
			t.Errorf("no page has this sentence any more: %s", s)
		}
	}
	t.Logf("%d sentences about what cannot happen are attacked by tests of their names", counted)
}

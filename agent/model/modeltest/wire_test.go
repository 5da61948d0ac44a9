// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// words is the request body of a good model.
func words(req *model.Request) string {
	var b strings.Builder
	b.WriteString(req.Instructions)
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind != model.PartThinking {
				b.WriteString(p.Text + string(p.Args))
			}
		}
	}
	for _, t := range req.Tools {
		b.WriteString(t.Description + string(t.Schema))
	}
	return b.String()
}

func TestRunChecksWhatIsSent(t *testing.T) {
	for name, test := range map[string]struct {
		encode        func(req *model.Request) string
		rule, problem string
	}{
		"all words":        {words, "Nothing is lost", ""},
		"a word too few":   {func(req *model.Request) string { return strings.ReplaceAll(words(req), "ninth", "") }, "Nothing is lost", `"ninth words" was not sent`},
		"a word too often": {func(req *model.Request) string { return words(req) + words(req) }, "Nothing is lost", `was sent twice`},
		"a secret": {func(req *model.Request) string {
			all, _ := json.Marshal(req)
			return words(req) + string(all)
		}, "Nothing is lost", "but is not for this provider"},
	} {
		t.Run(name, func(t *testing.T) {
			var w wires
			found := conform(t, w.watch(modeltest.Harness{
				Provider: true,
				New: func(t testing.TB, s modeltest.Scenario) model.Model {
					if !strings.HasPrefix(s.Rule, test.rule) {
						t.Skip("another rule")
					}
					p := w.new(t, s)
					p.encode = test.encode
					return p
				},
			}))
			all := strings.Join(found.problems, "\n")
			require.Contains(t, all, test.problem)
			for _, problem := range found.problems {
				require.True(t, strings.HasPrefix(problem, test.rule), problem)
			}
		})
	}
}

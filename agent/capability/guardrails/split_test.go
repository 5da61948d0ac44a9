// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// pieces is a model that says a text in the given pieces.
func pieces(text []string) model.Model {
	return model.Func(model.Info{Provider: "p", Name: "m"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if sink != nil {
			for _, s := range text {
				if err := sink(model.Delta{Kind: model.PartText, Text: s}); err != nil {
					return nil, err
				}
			}
		}
		resp := model.Response(model.Text(strings.Join(text, "")))
		resp.Finish = model.FinishStop
		return resp, nil
	})
}

// cuts are the ways to cut a text: at each byte into two, and into pieces of one, three and seven bytes.
func cuts(text string) (all [][]string) {
	for i := range text {
		all = append(all, []string{text[:i], text[i:]})
	}
	for _, n := range []int{1, 3, 7} {
		var some []string
		for i := 0; i < len(text); i += n {
			some = append(some, text[i:min(i+n, len(text))])
		}
		all = append(all, some)
	}
	return all
}

// Whatever pieces a model streams its text in, nobody sees the value that a guard replaces, in no spelling, and what is shown is the output.
func TestNoCutOfAStreamShowsWhatAGuardReplaces(t *testing.T) {
	long := strings.Repeat("Nothing to see here. ", 12)
	card := regexp.MustCompile(`4111-1111`)
	hide := func(stream int) *agent.Policy {
		return guardrails.Policy(fmt.Sprint("cards", stream), guard{Name: "cards", On: guardrails.Output, Stream: stream,
			Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
				return s.Rewrite(func(text string) string { return card.ReplaceAllString(text, "[card]") }, "a card"), nil
			}})
	}
	for _, text := range []string{
		"It is 4111-1111.", "4111-1111", long + "It is 4111-1111. " + long, long + "ä4111-1111ö", "[It is 4111-1111] " + long,
		`{"card":"4111-1111"}`, `{"card":"4111\u002d1111","rest":"` + long + `"}`, `["4111-\u0031111","` + long + `"]`,
		"```json\n" + `{"card": "\u0034111-1111"}` + "\n```", " \n\t" + `{"a":[{"b":"4111-111\u0031"}],}`,
	} {
		for _, policies := range [][]*agent.Policy{{hide(0)}, {hide(20)}, {hide(20), hide(0)}, {hide(12), hide(40)}} {
			for _, cut := range cuts(text) {
				a := agent.Must(agent.New(agent.Config[none, string]{Model: pieces(cut), Policies: policies}))
				var shown strings.Builder
				s := a.Stream(t.Context(), none{}, "go")
				for e := range s.Events() {
					if e.Kind == agent.EventPartDelta || e.Kind == agent.EventPartStart {
						shown.WriteString(e.Text)
					}
				}
				res, err := s.Result()
				require.NoError(t, err, "%q", cut)
				require.Equal(t, 1, strings.Count(res.Output, "[card]"), "%q", cut)
				require.NotContains(t, res.Output, "4111", "%q", cut)
				require.NotContains(t, shown.String(), "4111", "%q", cut)
				require.Equal(t, res.Output, shown.String(), "%q", cut)
			}
		}
	}
}

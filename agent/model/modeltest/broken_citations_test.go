// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// eachCitation changes the citations of a response.
func eachCitation(change func(p *model.Part)) func(*provider) model.Model {
	return eachPart(func(p *model.Part) {
		if p.Kind == model.PartCitation {
			change(p)
		}
	})
}

func withoutCitations(m *model.Message) {
	m.Parts = slices.DeleteFunc(m.Parts, func(p model.Part) bool { return p.Kind == model.PartCitation })
}

func TestRunFindsLostCitations(t *testing.T) {
	const rule = "Sources of a response"
	findsAll(t, map[string]broken{
		"no sources": {rule, "has the sources", answered(withoutCitations)},
		"no sources when streamed": {rule, "differs from the unstreamed one", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if msg != nil && sink != nil {
					withoutCitations(msg)
				}
				return msg, err
			})
		}},
		"no passages": {rule, "has the sources", eachCitation(func(p *model.Part) { p.Data = []byte(`{}`) })},
		"another passage": {rule, "has the sources", eachCitation(func(p *model.Part) {
			p.Data = bytes.Replace(p.Data, []byte(`"start_index":`), []byte(`"start_index":1`), 1)
		})},
		"another source":  {rule, "has the sources", eachCitation(func(p *model.Part) { p.URL += "x" })},
		"no title":        {rule, "has the sources", eachCitation(func(p *model.Part) { p.Name = "" })},
		"another's parts": {rule, `has provider "other"`, eachCitation(func(p *model.Part) { p.Provider = "other" })},
		"text that is lost when sent back": {rule, "which has sources, was not sent", sending(func(req *model.Request) string {
			return strings.ReplaceAll(encode(req), "tea is green.", "")
		})},
		"sources of another provider that are sent": {rule, "a source of another provider was sent", sending(func(req *model.Request) string {
			all, _ := json.Marshal(req)
			return string(all)
		})},
	})
}

func TestRunAsksForCitationsOfThoseWhoClaimThem(t *testing.T) {
	found := conform(t, modeltest.Harness{
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			if strings.HasPrefix(s.Rule, "Sources of") {
				t.Errorf("asked for %s", s.Case)
			}
			t.Skip("another rule")
			return nil
		},
	})
	require.Empty(t, found.problems)
	for _, r := range found.results {
		if strings.HasPrefix(r.Rule, "Sources of") {
			require.Equal(t, "the model does not name sources", r.Reason)
		}
	}
}

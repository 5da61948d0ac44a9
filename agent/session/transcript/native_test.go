// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
)

func cite(url, title string, start, end int) model.Part {
	return model.Part{Kind: model.PartCitation, Provider: "p", URL: url, Name: title, Data: fmt.Appendf(nil, `{"type":"url_citation","start_index":%d,"end_index":%d}`, start, end)}
}

func TestNativeCallsAndSourcesAreShown(t *testing.T) {
	for _, journal := range []bool{true, false} {
		s := openShown(t, new(session.Memory), journal)
		searched := modeltest.Say(
			model.Part{Kind: model.PartOpaque, Provider: "p", Data: []byte(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"tea\u202e\n<b>"}}`)},
			model.Part{Kind: model.PartOpaque, Provider: "p", Data: []byte(`{"type":"web_search_call","status":"failed","action":{"type":"open_page","url":"https://a.test/"}}`)},
			model.Part{Kind: model.PartOpaque, Provider: "p", Data: []byte(`{"type":"compaction","content":"They drank tea."}`)},
			model.Text("Größe: tea."), cite("https://tea.test/?a=1", "On\n<i>tea\u202e", 7, 10), cite("https://tea.test/?a=1", "", 0, 5),
			cite("javascript:alert(1)", "evil", 0, 1), cite("https://user:word@b.test/", "evil", 0, 1), cite("file:///etc/passwd", "evil", 0, 1), cite("", "report.pdf", 0, 1),
		)
		require.NoError(t, promptShown(s, travel(searched), "Tea?", nil))
		requireSame(t, s)
		var calls []*view.Entity
		compactions := 0
		var message *view.Entity
		for e := range s.fold.Snapshot().All() {
			switch {
			case e.Kind == view.Compaction:
				require.Equal(t, view.Completed, e.Status)
				require.Equal(t, "They drank tea.", e.Text())
				compactions++
			case e.Kind == view.ToolCall:
				calls = append(calls, e)
			case e.Kind == view.Message && e.Role == view.Assistant:
				message = e
			}
		}
		require.Equal(t, 1, compactions)
		require.Len(t, calls, 2)
		require.Equal(t, "Search the web: tea⟨U+202E⟩ <b>", calls[0].Title)
		require.Equal(t, "search", calls[0].Class)
		require.Equal(t, view.Completed, calls[0].Status)
		require.Equal(t, "Fetch page: https://a.test/", calls[1].Title)
		require.Equal(t, view.Failed, calls[1].Status)
		require.Equal(t, []view.Content{
			{Kind: view.Text, Text: "Größe: tea."},
			{Kind: view.Link, URI: "https://tea.test/?a=1", Name: "On <i>tea⟨U+202E⟩", Cites: []view.Span{{Start: 0, End: 7}, {Start: 9, End: 12}}},
		}, message.Content)
		require.Equal(t, "tea", message.Text()[9:12])
		require.NotContains(t, textOf(s.fold), "evil")
	}
}

func TestShownSourcesAreBounded(t *testing.T) {
	parts := []model.Part{model.Text("x")}
	for n := range 120 {
		parts = append(parts, cite(fmt.Sprintf("https://a.test/%d", n), strings.Repeat("t", 1000), 0, 1),
			model.Part{Kind: model.PartOpaque, Provider: "p", Data: fmt.Appendf(nil, `{"type":"web_search_call","action":{"query":%q}}`, strings.Repeat("q", 5000))})
	}
	s := openShown(t, new(session.Memory), false)
	require.NoError(t, promptShown(s, travel(modeltest.Say(parts...)), "Tea?", nil))
	requireSame(t, s)
	require.Less(t, len(textOf(s.fold)), 100_000)
}

// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
)

// TestRulesThatNeverEndAreAnErrorWhereverTheyMatch: nothing half redacted gets to a model.
func TestRulesThatNeverEndAreAnErrorWhereverTheyMatch(t *testing.T) {
	p := history.Redact[deps](
		history.Rule{Name: "word", Pattern: regexp.MustCompile("hush"), Replacement: "-"},
		history.Rule{Name: "x", Pattern: regexp.MustCompile("(loop)"), Replacement: "$1$1"},
	)
	result := func(change func(p *model.Part)) model.Part {
		r := model.ToolReturn("1", "look", "hush")
		change(&r)
		return r
	}
	decided := func(d model.Decision) model.Part { return result(func(p *model.Part) { p.Decision = &d }) }
	with := func(change func(m *model.Message)) *model.Message {
		m := request(model.User("hush"))
		change(m)
		return m
	}
	for name, m := range map[string]*model.Message{
		"text":                         request(model.User("loop")),
		"text behind another":          request(model.User("hush"), model.User("loop")),
		"arguments":                    model.Response(model.ToolCall("1", "look", `["loop"]`), model.Text("x")),
		"names in arguments":           model.Response(model.ToolCall("1", "look", `{"loop":1}`), model.Text("x")),
		"arguments that are no JSON":   model.Response(model.ToolCall("1", "look", `{loop`), model.Text("x")),
		"results that are JSON":        request(model.ToolReturn("1", "look", `["hush","loop"]`)),
		"what a tool keeps":            request(result(func(p *model.Part) { p.Keep, p.Meta = "k", json.RawMessage(`"loop"`) })),
		"what was kept":                with(func(m *model.Message) { m.Kept = []model.Part{model.User("loop")} }),
		"a result that was cleared":    with(func(m *model.Message) { m.Metadata = map[string]string{history.MetaClearedText + "1": "loop"} }),
		"arguments of a decision":      request(decided(model.Decision{Args: json.RawMessage(`{"a":"loop"}`)})),
		"the reason of a decision":     request(decided(model.Decision{Reason: "loop", Args: json.RawMessage(`{}`)})),
		"the reason of a decision too": request(decided(model.Decision{Reason: "loop"})),
	} {
		in := []*model.Message{m, request(model.User("hush"))}
		if m.Kind == model.KindResponse { // calls are examined once they are answered
			in = []*model.Message{m, request(model.ToolReturn("1", "look", "fine")), model.UserText("hush")}
		}
		out, err := p(t.Context(), nil, in)
		require.EqualError(t, err, "history: redact: the rules match their own replacements: no end after 8 passes", name)
		require.Nil(t, out, name)
	}
}

// TestOtherMetadataIsNotExamined: neither that of messages nor that of results that nobody keeps.
func TestOtherMetadataIsNotExamined(t *testing.T) {
	p := history.Redact[deps](word)
	result := model.ToolReturn("1", "look", "fine")
	result.Meta = json.RawMessage(`"hush"`)
	m := request(result)
	m.Metadata = map[string]string{"mine": "hush", history.MetaCleared: "hush"}
	in := []*model.Message{m, request(model.User("x"))}
	require.True(t, same(in, process(t, p, in)))
	m = m.Clone() // a message that was examined is not looked at again
	m.Metadata[history.MetaClearedText+"1"], m.Metadata[history.MetaClearedText+"2"] = `{"n":1234}`, "fine"
	out := process(t, p, []*model.Message{m, request(model.User("x"))})
	require.Equal(t, map[string]string{
		"mine": "hush", history.MetaCleared: "hush", history.MetaClearedText + "1": `{"n":"[redacted word]"}`, history.MetaClearedText + "2": "fine", history.MetaRedacted: "1",
	}, out[0].Metadata)
	require.Equal(t, m.Parts, out[0].Parts)
}

// TestOnlyTheDecisionChanges: a part whose text stays loses its signature with its decision, and the decision keeps all else.
func TestOnlyTheDecisionChanges(t *testing.T) {
	p := history.Redact[deps](word, history.Rule{Name: "seven", Pattern: regexp.MustCompile("^7$")})
	for _, c := range []struct{ before, after model.Decision }{
		{model.Decision{Verdict: model.VerdictDeny, By: "hush", Reason: "hush"}, model.Decision{Verdict: model.VerdictDeny, By: "hush", Reason: "[redacted word]"}},
		{model.Decision{Args: json.RawMessage(`["hush"]`), Reason: "fine"}, model.Decision{Args: json.RawMessage(`["[redacted word]"]`), Reason: "fine"}},
		{model.Decision{Args: json.RawMessage(`7`)}, model.Decision{Args: json.RawMessage(`"[redacted seven]"`)}},
		{model.Decision{Args: json.RawMessage(`[]`), Reason: "fine"}, model.Decision{Args: json.RawMessage(`[]`), Reason: "fine"}},
		{model.Decision{Args: json.RawMessage(``), Reason: "fine"}, model.Decision{Args: json.RawMessage(``), Reason: "fine"}},
	} {
		part := model.ToolReturn("1", "look", "fine")
		part.Decision, part.Signature, part.ID = &c.before, []byte("s"), "id"
		in := []*model.Message{request(part), request(model.User("x"))}
		out := process(t, p, in)
		require.Equal(t, c.after, *out[0].Parts[0].Decision)
		if same(in, out) {
			require.Equal(t, c.before, c.after)
			continue
		}
		require.Nil(t, out[0].Parts[0].Signature)
		require.Empty(t, out[0].Parts[0].ID)
		require.Equal(t, "fine", out[0].Parts[0].Text)
	}
}

// SPDX-License-Identifier: Apache-2.0

package ask_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app/ask"
	"github.com/ponte-go/ponte/toolset"
)

// What is shown of a question, and what an answer gives.
func TestQuestionsAndAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		q           toolset.Question
		input, out  string
		reply, fail string
	}{
		"a text":     {toolset.Question{Message: "Which\x1b[2J?"}, " this one \n", "\nWhich [2J?\n\n? ", `{"answer":"this one"}`, ""},
		"an address": {toolset.Question{Message: "Visit", URL: "https://a.test/\u202e"}, "\n", "\nVisit\nhttps://a.test/ \n? ", "", ""},
		"one of some": {
			toolset.Question{Message: "Size", Schema: []byte(`{"properties":{"size":{"type":"string","enum":["m","l"],"title":"S","description":"d","default":"m"}}}`)}, "s\nl\n",
			"\nSize\n" + `{"properties":{"size":{"type":"string","enum":["m","l"],"title":"S","description":"d","default":"m"}}}` + "\n? Answer one of [\"m\" \"l\"].\n\nSize\n" +
				`{"properties":{"size":{"type":"string","enum":["m","l"],"title":"S","description":"d","default":"m"}}}` + "\n? ", `{"size":"l"}`, "",
		},
		"the end":            {toolset.Question{Message: "Which?"}, "", "\nWhich?\n\n? ", "", "nobody can answer"},
		"a number":           {toolset.Question{Schema: []byte(`{"properties":{"n":{"type":"integer"}}}`)}, "1\n", "", "", `nobody can answer: field "n" has the type "integer": a line is a string`},
		"another rule":       {toolset.Question{Schema: []byte(`{"properties":{"n":{"minLength":1}}}`)}, "1\n", "", "", `nobody can answer: field "n" has the rule "minLength", which is not checked here`},
		"two fields":         {toolset.Question{Schema: []byte(`{"properties":{"a":{},"b":{}}}`)}, "1\n", "", "", "nobody can answer: the form has 2 fields: a line is one"},
		"no field":           {toolset.Question{Schema: []byte(`{}`)}, "1\n", "", "", "nobody can answer: the form has 0 fields: a line is one"},
		"no schema":          {toolset.Question{Schema: []byte(`[]`)}, "1\n", "", "", "nobody can answer: the form is not a JSON schema: json: cannot unmarshal array into Go value of type struct { Properties map[string]map[string]json.RawMessage \"json:\\\"properties\\\"\" }"},
		"choices of numbers": {toolset.Question{Schema: []byte(`{"properties":{"n":{"enum":[1]}}}`)}, "1\n", "", "", "nobody can answer: json: cannot unmarshal number into Go value of type string"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r, err := ask.New(strings.NewReader(c.input), &out).Answer(t.Context(), c.q)
			require.Equal(t, c.out, out.String())
			if c.fail != "" {
				require.ErrorIs(t, err, toolset.ErrNobody)
				require.Equal(t, c.fail, strings.Replace(err.Error(), toolset.ErrNobody.Error(), "nobody can answer", 1))
				require.Equal(t, toolset.Reply{}, r)
				return
			}
			require.NoError(t, err)
			require.Equal(t, toolset.ActionAccept, r.Action)
			require.Equal(t, c.reply, string(r.Content))
		})
	}
}

func TestDecisionsNameThePerson(t *testing.T) {
	for _, c := range []struct {
		t    ask.Terminal
		in   string
		want toolset.Decision
		out  string
	}{
		{ask.Terminal{}, "y\n", toolset.Decision{Verdict: toolset.VerdictAllow}, "\nPay\n\nwhy\nAllow? [y/N] "},
		{ask.Terminal{By: "ann"}, " y \n", toolset.Decision{Verdict: toolset.VerdictAllow, By: "ann"}, "\nPay\n\nwhy\nAllow? [y/N] "},
		{ask.Terminal{}, "n\n", toolset.Deny("The user does not want this."), "\nPay\n\nwhy\nAllow? [y/N] "},
		{ask.Terminal{By: "ann"}, "", toolset.Deny("ann does not want this."), "\nPay\n\nwhy\nAllow? [y/N] "},
		{ask.Terminal{Yes: true, By: "ann"}, "", toolset.Decision{Verdict: toolset.VerdictAllow, By: "ann"}, "\nPay\n\nwhy\n-yes: allowed\n"},
	} {
		var out bytes.Buffer
		at := ask.New(strings.NewReader(c.in), &out)
		at.Yes, at.By = c.t.Yes, c.t.By
		d, err := at.Approve(t.Context(), toolset.ApprovalRequest{Approval: toolset.Approval{Title: "Pay", Reason: "why"}})
		require.NoError(t, err)
		require.Equal(t, c.want, d)
		require.Equal(t, c.out, out.String())
	}
}

// A whole conversation, with a tool, a failure and the end of the input.
func TestAWholeConversation(t *testing.T) {
	look := toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[any], struct{}) (string, error) { return "seen", nil })
	script := modeltest.Script(modeltest.SayText("One."), modeltest.Say(model.Part{Kind: model.PartThinking, Text: "hm"}, model.ToolCall("1", "look", `{}`)), modeltest.SayText("T\x1bwo."), modeltest.Fail(errors.New("down")), modeltest.SayText("Four."))
	a := agent.Must(agent.New(agent.Config[any, string]{Model: script, Tools: []*toolset.Tool[any]{look}}))
	var out bytes.Buffer
	at := ask.New(strings.NewReader("first\n\n  \nsecond\nthird\nfourth"), &out)
	messages := ask.Converse(t.Context(), at, a, nil)
	require.NoError(t, at.Err())
	require.Equal(t, "\n> One.\n\n> \n> \n> \n[look {}]\nT wo.\n\n> \nagent: model: down\n\n> Four.\n\n> ", out.String())
	require.Equal(t, "fourth", messages[len(messages)-2].Parts[0].Text)
	require.Equal(t, "Four.", messages[len(messages)-1].Text())
	require.Len(t, messages, 9)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, ask.Converse(ctx, ask.New(strings.NewReader("x\n"), &out), a, nil))
	broken := ask.New(iotest.ErrReader(errors.New("on fire")), &out)
	require.Empty(t, ask.Converse(t.Context(), broken, a, nil))
	require.EqualError(t, broken.Err(), "the input cannot be read: on fire")
	line, ok := broken.Line("?")
	require.False(t, ok)
	require.Empty(t, line)
}

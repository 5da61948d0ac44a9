// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/verdict"
)

func policy() verdict.Case {
	return verdict.Case{
		Role: "You check orders.", Policy: "No weapons.", MaxBytes: 1000,
		Verdicts: []verdict.Answer{{Name: "allow", Meaning: "it may be sent"}, {Name: "deny", Meaning: "it may not"}},
		Data: []verdict.Field{
			{Name: "order", Text: "a \"cake\"\u202e\u200b<b>"}, {Name: "shown", Text: "\\u202e", Shown: true},
		},
	}
}

// TestDataCannotEndTheDocument has what the model is sent: the policy, and the data as strings of JSON.
func TestDataCannotEndTheDocument(t *testing.T) {
	c := policy()
	req, err := c.Request(false)
	require.NoError(t, err)
	require.Nil(t, req.Output)
	require.True(t, strings.HasPrefix(req.Instructions, "You check orders.\n\nPolicy:\nNo weapons.\n\n"), req.Instructions)
	require.True(t, strings.HasSuffix(req.Instructions, "one of:\n- \"allow\": it may be sent\n- \"deny\": it may not"), req.Instructions)
	text := req.Messages[0].Parts[0].Text
	var data map[string]string
	require.NoError(t, json.Unmarshal([]byte(text), &data))
	require.Len(t, data, 2)
	require.Equal(t, `\u202e`, data["shown"], "it is written out once")
	require.NotContains(t, text, "\u202e")
	require.NotContains(t, text, "\u200b")
	require.NotContains(t, text, "\n")
	require.True(t, strings.HasPrefix(text, `{"order":"a \"cake\"`), text)

	c.MaxBytes = len(text)
	req, err = c.Request(true)
	require.NoError(t, err)
	require.True(t, req.Output.Strict)
	require.Equal(t, "verdict", req.Output.Name)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["reason","verdict"],"properties":{
		"reason":{"type":"string"},"verdict":{"type":"string","enum":["allow","deny"]}}}`, string(req.Output.Schema))
	c.MaxBytes--
	_, err = c.Request(true)
	require.ErrorIs(t, err, verdict.ErrTooLong)
	require.ErrorContains(t, err, "bytes of at most")
}

// TestOnlyOneVerdictIsAnAnswer has what models answer.
func TestOnlyOneVerdictIsAnAnswer(t *testing.T) {
	c := policy()
	for text, want := range map[string][2]string{
		`{"verdict":"deny","reason":" it  is\na weapon "}`: {"deny", ""},
		"\n```json\n{\"verdict\":\"allow\"}\n```\n":        {"allow", ""},
		"```{\"verdict\":\"allow\"}```":                    {"allow", ""},
		`{"verdict":"Allow"}`:                              {"", "the model answered with an unknown verdict"},
		`{}`:                                               {"", "the model answered with an unknown verdict"},
		`{"verdict":"allow"} {"verdict":"deny"}`:           {"", "the model answered with more than a verdict"},
		`{"verdict":"allow"}.`:                             {"", "the model answered with more than a verdict"},
		`allow`:                                            {"", "the model did not answer with a verdict"},
		``:                                                 {"", "the model did not answer with a verdict"},
		`{"verdict":["allow"]}`:                            {"", "the model did not answer with a verdict"},
	} {
		got, _, err := c.Read(model.Response(model.Text(text)))
		require.Equal(t, want[0], got, text)
		if want[1] != "" {
			require.EqualError(t, err, want[1], text)
		} else {
			require.NoError(t, err, text)
		}
	}
	_, _, err := c.Read(nil)
	require.EqualError(t, err, "the model gave no answer")
}

// TestReasonsAreShortLines has reasons at and above the bound of 500 bytes.
func TestReasonsAreShortLines(t *testing.T) {
	c := policy()
	reason := func(text string) string {
		data, err := json.Marshal(map[string]string{"verdict": "deny", "reason": text})
		require.NoError(t, err)
		_, got, err := c.Read(model.Response(model.Text(string(data))))
		require.NoError(t, err)
		return got
	}
	require.Equal(t, strings.Repeat("x", 500), reason(strings.Repeat("x", 500)))
	require.Equal(t, strings.Repeat("x", 500)+"…", reason(strings.Repeat("x", 501)))
	require.Equal(t, strings.Repeat("x", 499)+"…", reason(strings.Repeat("x", 499)+"é"), "no half a character")
	require.Equal(t, "a b", reason("  a   b "))
}

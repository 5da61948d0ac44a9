// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
)

func FuzzRedact(f *testing.F) {
	for _, s := range []string{`{"a":"hush"}`, `["\u0068ush",12345,{}]`, `hush`, `{"a":"hu`, `"\\"`, ``} {
		f.Add(s)
	}
	p := history.Redact[deps](word)
	f.Fuzz(func(t *testing.T, s string) {
		in := []*model.Message{model.Response(model.ToolCall("1", "t", s)), request(model.ToolReturn("1", "t", s))}
		out, err := p(context.Background(), nil, in)
		require.NoError(t, err)
		args, text := out[0].Parts[0].Args.String(), out[1].Parts[0].Text
		require.Equal(t, s, in[0].Parts[0].Args.String(), "messages are never changed")
		if !json.Valid([]byte(s)) {
			require.NotRegexp(t, word.Pattern, args)
			return
		}
		require.True(t, json.Valid([]byte(args)), "%q became %q", s, args)
		var value any
		dec := json.NewDecoder(strings.NewReader(args))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&value))
		requireClean(t, value)
		if strings.HasPrefix(s, "{") {
			require.Equal(t, args, text)
		}
		again, err := p(context.Background(), nil, out)
		require.NoError(t, err)
		require.True(t, same(out, again))
	})
}

// requireClean looks for what should be gone in every value of a JSON document.
func requireClean(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		require.NotRegexp(t, word.Pattern, v)
	case json.Number:
		require.NotRegexp(t, word.Pattern, v.String())
	case []any:
		for _, e := range v {
			requireClean(t, e)
		}
	case map[string]any:
		for k, e := range v {
			require.NotRegexp(t, word.Pattern, k)
			requireClean(t, e)
		}
	}
}

func FuzzTokenBudget(f *testing.F) {
	f.Add("some text €", 128, 2000)
	f.Add(strings.Repeat("€", 3000), 200, 1)
	f.Add(strings.Repeat("\xb1", 152), 140, 94) // no text at all
	f.Fuzz(func(t *testing.T, s string, bytes, max int) {
		in := []*model.Message{
			model.UserText("do"),
			model.Response(model.ToolCall("1", "t", "{}")), request(model.ToolReturn("1", "t", s)),
			model.Response(model.ToolCall("2", "t", "{}")), request(model.ToolReturn("2", "t", s)),
		}
		p := history.TokenBudget[deps](history.Budget{Max: max, ReturnBytes: bytes})
		out, err := p(context.Background(), nil, in)
		if err != nil {
			require.ErrorContains(t, err, "history: TokenBudget: ")
			return
		}
		require.NoError(t, wellFormed(out))
		again, err := p(context.Background(), nil, out)
		require.NoError(t, err)
		require.True(t, same(out, again))
		if text := out[len(out)-1].Parts[0].Text; text != s {
			require.LessOrEqual(t, len(text), len(s))
			require.Contains(t, text, "bytes left out")
		}
	})
}

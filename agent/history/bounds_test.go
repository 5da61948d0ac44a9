// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestMeasuredHistories: what the provider reported last, its response, and ten tokens for every message that it has not counted.
func TestMeasuredHistories(t *testing.T) {
	gauge := history.Gauge(ten)
	response := func(u model.Usage, context string) *model.Message {
		m := model.Response(model.Text("x"))
		m.Usage = u
		if context != "" {
			m.Metadata = map[string]string{history.MetaContext: context}
		}
		return m
	}
	user := request(model.User("x"))
	user.Usage = model.Usage{InputTokens: 5, OutputTokens: 5} // which only responses have
	in := model.Usage{InputTokens: 100}
	both := model.Usage{InputTokens: 100, OutputTokens: 7}
	many := func(n int, last ...*model.Message) (all []*model.Message) {
		for range n {
			all = append(all, user)
		}
		return append(all, last...)
	}
	for name, c := range map[string]struct {
		messages []*model.Message
		want     int64
	}{
		"nothing":                              {nil, 0},
		"estimates":                            {many(3), 30},
		"a report":                             {many(3, response(in, "")), 110},
		"a report with the output":             {many(3, response(both, ""), user), 117},
		"thinking does not count":              {many(3, response(model.Usage{InputTokens: 100, OutputTokens: 7, ReasoningTokens: 1}, "")), 110},
		"output alone":                         {many(3, response(model.Usage{OutputTokens: 7}, "")), 37},
		"one token":                            {many(3, response(model.Usage{InputTokens: 1, OutputTokens: 1}, "")), 2},
		"the last report":                      {many(1, response(model.Usage{InputTokens: 900}, ""), user, response(both, ""), user, user), 127},
		"a correction":                         {many(1, response(both, "40")), 47},
		"a correction to one":                  {many(1, response(both, "1")), 8},
		"a senseless correction":               {many(1, response(both, "x")), 107},
		"a negative correction":                {many(1, response(both, "-4")), 107},
		"no correction":                        {many(1, response(both, "0")), 107},
		"a correction without a report":        {many(1, response(model.Usage{}, "40")), 50},
		"sixteen messages":                     {many(16), 160},
		"seventeen messages":                   {many(17), 170},
		"a report long ago":                    {append([]*model.Message{response(both, "")}, many(30)...), 407},
		"a report sixteen messages ago":        {append([]*model.Message{response(both, "")}, many(15)...), 257},
		"a report seventeen messages ago":      {append([]*model.Message{response(both, "")}, many(16)...), 267},
		"a report in the middle of many":       {append(many(20, response(both, "")), many(20)...), 307},
		"a report at the end of many":          {many(40, response(both, "")), 107},
		"a report before the end of many":      {many(40, response(both, ""), user), 117},
		"output without intake, among many":    {append(many(20, response(model.Usage{OutputTokens: 7}, "")), many(20)...), 407},
		"nobody has ever reported, for long":   {many(100), 1000},
		"a correction in the middle of many":   {append(many(20, response(both, "40")), many(20)...), 247},
		"two reports, of which one is far off": {append([]*model.Message{response(model.Usage{InputTokens: 999}, "")}, many(16, response(in, ""))...), 110},
	} {
		for range 2 { // the second time, a part of it may be known
			require.Equal(t, c.want, gauge(c.messages), name)
		}
		require.Equal(t, c.want+10, gauge(append(c.messages, user)), "%s, and one more", name)
	}
	require.Zero(t, history.Gauge(func(*model.Message) int { return -3 })(many(2)), "no message costs less than nothing")
	require.Equal(t, int64(4), history.Gauge(nil)([]*model.Message{user}), "the usual estimate")
}

// TestClearedAtItsBounds: from what size on results are cleared, and from what size on histories are.
func TestClearedAtItsBounds(t *testing.T) {
	clearing := func(c history.Clear, size int) int {
		out := process(t, history.ClearResults[deps](c), looked(20, size))
		n := 0
		for _, m := range out {
			if m.Metadata[history.MetaCleared] != "" {
				n++
			}
		}
		return n
	}
	// By the estimate, a call costs 5 tokens, its answer 5 and a quarter of its bytes.
	require.Equal(t, 15, clearing(history.Clear{Threshold: 2000}, 512), "512 bytes, and five steps are kept")
	require.Equal(t, 0, clearing(history.Clear{Threshold: 2000}, 511))
	require.Equal(t, 19, clearing(history.Clear{Threshold: 1000, KeepSteps: 1, MinBytes: 128}, 240))
	require.Equal(t, 0, clearing(history.Clear{Threshold: 1000, KeepSteps: 1, MinBytes: 241}, 240))
	require.Equal(t, 0, clearing(history.Clear{Threshold: 1000, KeepSteps: 1}, 4000), "the result that is kept is too large alone")
	for _, c := range []history.Clear{{Threshold: 999}, {Threshold: 1000, KeepSteps: -1}, {Threshold: 1000, MinBytes: 127}, {Threshold: 1000, MinBytes: -1}} {
		_, err := history.ClearResults[deps](c)(t.Context(), nil, nil)
		keep, least := c.KeepSteps, c.MinBytes
		if keep == 0 {
			keep = 5
		}
		if least == 0 {
			least = 512
		}
		require.EqualError(t, err, fmt.Sprintf("history: ClearResults: Threshold is %d, KeepSteps %d, MinBytes %d; must be at least 1000, 1 and 128", c.Threshold, keep, least))
	}
	for _, c := range []history.Clear{{Threshold: 1000}, {Threshold: 1000, KeepSteps: 1, MinBytes: 128}} {
		_, err := history.ClearResults[deps](c)(t.Context(), nil, nil)
		require.NoError(t, err)
	}
}

// TestWrongConfigurationsAreToldWhole: with the values, and what they must be.
func TestWrongConfigurationsAreToldWhole(t *testing.T) {
	m := modeltest.Script()
	for want, p := range map[string]history.Processor[deps]{
		"history: KeepLast: 0 turns and a slack of 0, must be at least 1 and 0":                                       history.KeepLast[deps](0, 0),
		"history: KeepLast: 1 turns and a slack of -1, must be at least 1 and 0":                                      history.KeepLast[deps](1, -1),
		"history: TokenBudget: Max is 0, Target 0, ReturnBytes 1024; want 0 < Target <= Max and ReturnBytes >= 128":   history.TokenBudget[deps](history.Budget{}),
		"history: TokenBudget: Max is 10, Target 11, ReturnBytes 1024; want 0 < Target <= Max and ReturnBytes >= 128": history.TokenBudget[deps](history.Budget{Max: 10, Target: 11}),
		"history: TokenBudget: Max is 10, Target 8, ReturnBytes 127; want 0 < Target <= Max and ReturnBytes >= 128":   history.TokenBudget[deps](history.Budget{Max: 10, ReturnBytes: 127}),
		"history: Summarise: no model": history.Summarise[deps](history.Summary{Threshold: 1000}),
		"history: Summarise: Threshold is 999, KeepTurns 3, KeepSteps 5; must be at least 1000, 1 and 1":   history.Summarise[deps](history.Summary{Model: m, Threshold: 999}),
		"history: Summarise: Threshold is 1000, KeepTurns -1, KeepSteps 5; must be at least 1000, 1 and 1": history.Summarise[deps](history.Summary{Model: m, Threshold: 1000, KeepTurns: -1}),
		"history: Summarise: Threshold is 1000, KeepTurns 3, KeepSteps -1; must be at least 1000, 1 and 1": history.Summarise[deps](history.Summary{Model: m, Threshold: 1000, KeepSteps: -1}),
		"history: Redact: rule 1 (b) has no pattern":                                                       history.Redact[deps](history.Rule{Name: "a", Pattern: regexp.MustCompile("a1")}, history.Rule{Name: "b"}),
		`history: Redact: rule 0 (a) matches "[redacted a]", by which rule 0 replaces`:                     history.Redact[deps](history.Rule{Name: "a", Pattern: regexp.MustCompile("a")}),
		`history: Redact: rule 1 (b) matches "x1", by which rule 0 replaces`:                               history.Redact[deps](history.Rule{Name: "a", Pattern: regexp.MustCompile("q"), Replacement: "x1"}, history.Rule{Name: "b", Pattern: regexp.MustCompile("x[0-9]"), Replacement: "y"}),
	} {
		out, err := p(t.Context(), nil, turns("a", 0))
		require.EqualError(t, err, want)
		require.Nil(t, out)
	}
	for _, p := range []history.Processor[deps]{history.KeepLast[deps](1, 0), history.Summarise[deps](history.Summary{Model: m, Threshold: 1000, KeepTurns: 1, KeepSteps: 1})} {
		_, err := p(t.Context(), nil, nil)
		require.NoError(t, err)
	}
	in := turns("a", 0)
	out, done, err := history.Compact(t.Context(), history.Summary{Threshold: 1000}, in, "", nil)
	require.EqualError(t, err, "history: Compact: no model")
	require.Nil(t, done)
	require.True(t, same(in, out))
}

// TestFailedSummaries: the error says what went wrong; the history is as it was.
func TestFailedSummaries(t *testing.T) {
	in := turns("abcdef", 0)
	answer := func(resp *model.Message, err error) model.Model {
		return model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return resp, err })
	}
	cut := model.Response(model.Text("half"))
	cut.Finish = model.FinishContentFilter
	ended := model.Response(model.Text(" \n "))
	ended.Finish = model.FinishStop
	for want, m := range map[string]model.Model{
		"boom": answer(nil, errors.New("boom")), "the model returned neither a response nor an error": answer(nil, nil), `the model wrote no summary (finish reason "stop")`: answer(ended, nil),
	} {
		_, err := summarise(history.Summary{Model: m})(t.Context(), nil, in)
		require.EqualError(t, err, "history: summarise: "+want)
		out, done, err := history.Compact(t.Context(), history.Summary{Model: m, Threshold: 1000, Estimate: hundred}, in, "", nil)
		require.EqualError(t, err, "history: Compact: "+want)
		require.Nil(t, done)
		require.True(t, same(in, out))
		told := ""
		out, err = summarise(history.Summary{Model: m, OnError: func(_ context.Context, err error) error {
			told = err.Error()
			return nil
		}})(t.Context(), nil, in)
		require.NoError(t, err)
		require.True(t, same(in, out))
		require.Equal(t, want, told)
	}
	_, err := summarise(history.Summary{Model: answer(cut, nil)})(t.Context(), nil, in)
	require.ErrorContains(t, err, "history: summarise: summary: ")
}

// TestSummariesCount: what is emitted says what was replaced and what it cost, and a summary counts those before it.
func TestSummariesCount(t *testing.T) {
	resp := model.Response(model.Text("short"))
	resp.Usage = model.Usage{InputTokens: 500, OutputTokens: 3}
	m := model.Func(model.Info{Provider: "p", Name: "m"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return resp, nil })
	meter := toolset.NewMeter(toolset.Limits{})
	in := turns("abcdef", 0)
	out, done, err := history.Compact(t.Context(), history.Summary{Model: m, Threshold: 1000, Estimate: hundred}, in, "", meter)
	require.NoError(t, err)
	require.Equal(t, history.Summarised{Messages: 12, Before: 1300, After: 200, Text: "short", Usage: resp.Usage}, *done)
	require.Equal(t, toolset.Usage{Requests: 1, Usage: resp.Usage}, meter.Usage())
	require.Equal(t, "req user:Summary ..72\nreq user:now", dump(out))
	more := append(out, model.Response(model.Text("answer now")), request(model.User("then")))
	out, done, err = history.Compact(t.Context(), history.Summary{Model: m, Threshold: 1000, Estimate: hundred}, more, "the names", nil)
	require.NoError(t, err)
	require.Equal(t, 14, done.Messages)
	require.Equal(t, "14", out[0].Metadata[history.MetaSummary])
	again, done, err := history.Compact(t.Context(), history.Summary{Model: m, Threshold: 1000, Estimate: hundred}, out, "", nil)
	require.NoError(t, err)
	require.Nil(t, done, "there is nothing to summarise")
	require.True(t, same(out, again))
}

// TestSecretsNeedTheirLength: what is shorter is no secret.
func TestSecretsNeedTheirLength(t *testing.T) {
	p := history.Redact[deps](history.Secrets()...)
	for _, c := range []struct {
		before string
		least  int
		name   string
	}{
		{"ghp_", 36, "GitHub token"}, {"gho_", 36, "GitHub token"}, {"ghu_", 36, "GitHub token"}, {"ghs_", 36, "GitHub token"}, {"ghr_", 36, "GitHub token"}, {"github_pat_", 22, "GitHub token"}, {"glpat-", 20, "GitLab token"},
		{"xoxa-", 10, "Slack token"}, {"xoxs-", 10, "Slack token"}, {"sk_live_", 16, "Stripe key"}, {"rk_live_", 16, "Stripe key"}, {"sk_test_", 16, "Stripe key"}, {"rk_test_", 16, "Stripe key"}, {"sk-", 20, "API key"},
		{"AIza", 35, "Google API key"}, {"npm_", 36, "npm token"}, {"hf_", 30, "Hugging Face token"}, {"AKIA", 16, "AWS key id"}, {"ASIA", 16, "AWS key id"},
	} {
		for _, n := range []int{c.least - 1, c.least} {
			secret := c.before + strings.Repeat("A7", c.least)[:n]
			want := "see " + secret + " there"
			if n == c.least {
				want = "see [redacted " + c.name + "] there"
			}
			out := process(t, p, []*model.Message{request(model.User("see " + secret + " there"))})
			require.Equal(t, want, out[0].Parts[0].Text)
			if n == c.least {
				require.Equal(t, "1", out[0].Metadata[history.MetaRedacted])
			}
			require.Equal(t, "seex"+secret, process(t, p, []*model.Message{request(model.User("seex" + secret))})[0].Parts[0].Text, "in the middle of a word")
		}
	}
	for in, want := range map[string]string{
		"eyJ12345678.12345678.x": "[redacted JWT]", "eyJ12345678.12345678.": "[redacted JWT]", "eyJ1234567.12345678.x": "eyJ1234567.12345678.x", "eyJ12345678.1234567.x": "eyJ12345678.1234567.x",
		"Authorization: token 12345678": "Authorization: token [redacted authorization]", "Authorization: token 1234567": "Authorization: token 1234567", "authorization=BASIC abcdefgh": "authorization=BASIC [redacted authorization]",
		"ftp://u:p@h": "ftp://u:[redacted password]@h", "ftp://:p@h": "ftp://:[redacted password]@h", "ftp://u@h": "ftp://u@h",
		"-----BEGIN EC PRIVATE KEY----- a -----END EC PRIVATE KEY----- b -----BEGIN PRIVATE KEY----- c -----END PRIVATE KEY-----": "[redacted private key] b [redacted private key]",
	} {
		require.Equal(t, want, process(t, p, []*model.Message{request(model.User(in))})[0].Parts[0].Text, in)
	}
}

// TestRedactedValuesOfJSON: values are matched as they are meant, and what is left is left byte for byte.
func TestRedactedValuesOfJSON(t *testing.T) {
	p := history.Redact[deps](history.Rule{Name: "n", Pattern: regexp.MustCompile(`4[0-9]{3}|se"cret|<b>`), Replacement: "-"})
	for in, want := range map[string]string{
		`{"a":"4111","b" : [ 4111, -4111.5e+1,true,null]}`: `{"a":"-","b" : [ "-", "--.5e+1",true,null]}`, `{"4111":1}`: `{"-":1}`, `["se\"cret","x"]`: `["-","x"]`, `["\u003cb\u003e&"]`: `["-&"]`, `[ 1 ,"\u00e9" ]`: `[ 1 ,"\u00e9" ]`,
		`"4111"`: `"-"`, `["a\\",4111]`: `["a\\","-"]`, `4111`: `-`, `{"a":4111`: `{"a":-`, ` {"a":"4111"} `: ` {"a":"-"} `, `["<4111&"]`: `["<-&"]`,
	} {
		out := process(t, p, []*model.Message{
			model.Response(model.ToolCall("1", "t", in)), request(model.ToolReturn("1", "t", in)),
		})
		require.Equal(t, want, out[1].Parts[0].Text, in)
		args := want
		if in == "4111" {
			args = `"-"` // arguments are values
		}
		require.Equal(t, args, string(out[0].Parts[0].Args), in)
		if !json.Valid([]byte(in)) {
			continue
		}
		kept := model.ToolReturn("1", "t", "")
		kept.Keep, kept.Meta = "k", json.RawMessage(in)
		message := request(kept)
		message.Kept = []model.Part{kept}
		out = process(t, p, []*model.Message{message})
		require.Equal(t, args, string(out[0].Parts[0].Meta), in)
		require.Equal(t, args, string(out[0].Kept[0].Meta), in)
	}
	loops := history.Redact[deps](history.Rule{Name: "x", Pattern: regexp.MustCompile("(x)"), Replacement: "$1$1"})
	_, err := loops(t.Context(), nil, []*model.Message{request(model.User("x"))})
	require.EqualError(t, err, "history: redact: the rules match their own replacements: no end after 8 passes")
	passes := history.Redact[deps](history.Rule{Name: "x", Pattern: regexp.MustCompile("x(y)"), Replacement: "$1"}) // one pass for each x, and one that finds none
	out := process(t, passes, []*model.Message{request(model.User("xxxxxxxy"))})
	require.Equal(t, "y", out[0].Parts[0].Text)
	_, err = passes(t.Context(), nil, []*model.Message{request(model.User("xxxxxxxxy"))})
	require.Error(t, err)
}

// TestShortenedReturns: two thirds of the beginning, one of the end, and what is missing in between.
func TestShortenedReturns(t *testing.T) {
	for _, limit := range []int{128, 129, 130, 200} {
		messages := []*model.Message{
			request(model.User("go")), model.Response(model.ToolCall("1", "t", "{}"), model.ToolCall("2", "t", "{}")),
			request(model.ToolReturn("1", "t", strings.Repeat("0123456789", 100)), model.ToolReturn("2", "t", strings.Repeat("x", limit))),
		}
		out := process(t, history.TokenBudget[deps](history.Budget{Max: 20, ReturnBytes: limit}), messages)
		text := out[2].Parts[0].Text
		require.LessOrEqual(t, len(text), limit)
		require.Equal(t, messages[2].Parts[1].Text, out[2].Parts[1].Text, "it is short enough")
		begin, rest, _ := strings.Cut(text, "\n[... ")
		number, end, _ := strings.Cut(rest, " bytes left out ...]\n")
		require.Equal(t, fmt.Sprint(1000-len(begin)-len(end)), number)
		room := limit - len("\n[... 1000 bytes left out ...]\n")
		require.Len(t, begin, room*2/3)
		require.Len(t, end, room-room*2/3)
		require.True(t, strings.HasPrefix(messages[2].Parts[0].Text, begin))
		require.True(t, strings.HasSuffix(messages[2].Parts[0].Text, end))
		require.Equal(t, fmt.Sprint(1000-len(text)), out[2].Metadata[history.MetaShortened])
	}
}

// TestHintsSkipTexts: a rule is not tried on a text without its hint.
func TestHintsSkipTexts(t *testing.T) {
	p := history.Redact[deps](history.Rule{Name: "n", Hint: "id:", Pattern: regexp.MustCompile("[0-9]+")})
	for in, want := range map[string]string{"12": "12", "id:12": "id:[redacted n]", "id: none": "id: none"} {
		require.Equal(t, want, process(t, p, []*model.Message{request(model.User(in))})[0].Parts[0].Text)
	}
}

// TestSmallWindowsGetSmallPieces: a model with a small window summarises piece by piece, three quarters of its window each.
func TestSmallWindowsGetSmallPieces(t *testing.T) {
	in := []*model.Message{request(model.User(strings.Repeat("word ", 600))), model.Response(model.Text("yes")), request(model.User("now"))}
	for window, want := range map[int]int{0: 1, 100_000: 1, 1100: 1, 400: 6} {
		var sizes []int
		m := model.Func(model.Info{ContextWindow: window}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			sizes = append(sizes, len(req.Messages[0].Parts[0].Text))
			return model.Response(model.Text("s")), nil
		})
		_, done, err := history.Compact(t.Context(), history.Summary{Model: m, Threshold: 1000}, in, "", nil)
		require.NoError(t, err)
		require.Equal(t, 2, done.Messages)
		require.Len(t, sizes, want, "a window of %d: %d", window, sizes)
	}
}

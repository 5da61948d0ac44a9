// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
)

var word = history.Rule{Name: "word", Pattern: regexp.MustCompile(`hush|[0-9]{4}`)}

func TestRedactReplacesInEveryText(t *testing.T) {
	in := []*model.Message{
		request(model.System("a hush"), model.User("hush hush")),
		model.Response(model.Thinking("hush?"), model.Text("no hush"), model.ToolCall("1", "look", `{"at": "hush", "n":5}`)),
		request(model.ToolReturn("1", "look", "hush!"), model.Retry("2", "look", "the hush")),
		model.Response(model.Text("quiet")),
		request(model.User("quiet")),
	}
	out := process(t, history.Redact[deps](word), in)
	require.Equal(t, `req system:a [redacted word] user:[redacted word] [redacted word]
res thinking:[redacted word]? text:no [redacted word] call:1
req ret:1:[redacted word]! retry:2:the [redacted word]
res text:quiet
req user:quiet`, dump(out))
	require.Equal(t, `{"at": "[redacted word]", "n":5}`, out[1].Parts[2].Args.String(), "all else stays byte for byte")
	require.Equal(t, "1", out[0].Metadata[history.MetaRedacted])
	require.Same(t, in[3], out[3])
}

func TestRedactReturnsUnchangedMessagesAsIs(t *testing.T) {
	in := turns("ab", 1)
	require.True(t, same(in, process(t, history.Redact[deps](word), in)))
	require.True(t, same(in, process(t, history.Redact[deps](), in)))
	require.Empty(t, process(t, history.Redact[deps](word), nil))
}

func TestRedactedJSONStaysJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"hush"}`:                        `{"a":"[redacted word]"}`,
		` [ "x\"hush\\" , "hu\u0073h<" ] `:    ` [ "x\"[redacted word]\\" , "[redacted word]<" ] `,
		`{"hush":{"n":12345,"m":-1.5e3}}`:     `{"[redacted word]":{"n":"[redacted word]5","m":-1.5e3}}`,
		`"hush"`:                              `"[redacted word]"`,
		`{"inner":"{\"a\":\"hush\"}"}`:        `{"inner":"{\"a\":\"[redacted word]\"}"}`,
		`{"a":"hu` + "\n" + `broken hush`:     `{"a":"hu` + "\n" + `broken [redacted word]`,
		`{"big":9007199254740993,"f":1.10}`:   `{"big":"[redacted word][redacted word][redacted word][redacted word]","f":1.10}`,
		`{"ok":true,"no":null,"x":[],"y":""}`: `{"ok":true,"no":null,"x":[],"y":""}`,
		``:                                    ``,
	} {
		history1 := []*model.Message{
			model.Response(model.ToolCall("1", "t", in)),
			request(model.ToolReturn("1", "t", in)),
		}
		out := process(t, history.Redact[deps](word), history1)
		require.Equal(t, want, out[0].Parts[0].Args.String())
		require.Equal(t, want, out[1].Parts[0].Text)
		require.Equal(t, json.Valid([]byte(in)), json.Valid([]byte(want)))
	}
}

// Only tool returns are data. What users and models say is text, even if it looks like JSON.
// What a value is may show by its name: a header keeps it.
func TestHeadersInJSONAreRedacted(t *testing.T) {
	redact := history.Redact[deps](history.Secrets()...)
	for in, want := range map[string]string{
		`{"headers":{"Authorization":"Bearer opaque-token-123"}}`:        `{"headers":{"Authorization":"Bearer [redacted authorization]"}}`,
		`{"authorization" : ["Basic b3BhcXVlLXRva2Vu", "x"],"n":1}`:      `{"authorization" : ["Basic [redacted authorization]", "x"],"n":1}`,
		`{"Authorization":{"why":"Bearer opaque-token-123"}}`:            `{"Authorization":{"why":"Bearer opaque-token-123"}}`,
		`[{"Authorization":"none"},"Bearer opaque-token-123"]`:           `[{"Authorization":"none"},"Bearer opaque-token-123"]`,
		`{"Authorization":"Bearer [redacted authorization]","a":"b: c"}`: `{"Authorization":"Bearer [redacted authorization]","a":"b: c"}`,
	} {
		m := request(model.ToolReturn("c", "fetch", in))
		out := processIn(t, redact, nil, []*model.Message{request(model.User("go")), model.Response(model.ToolCall("c", "fetch", `{}`)), m})
		require.Equal(t, want, out[2].Parts[0].Text)
	}
}

func TestJSONInMessagesIsRedactedAsText(t *testing.T) {
	const in, want = `{"n":12345}`, `{"n":[redacted word]5}`
	out := process(t, history.Redact[deps](word), []*model.Message{
		request(model.System(in), model.User(in)),
		model.Response(model.Thinking(in), model.Text(in)),
		request(model.Retry("1", "t", in)),
	})
	for _, m := range out {
		for _, p := range m.Parts {
			require.Equal(t, want, p.Text, p.Kind)
		}
	}
}

// true, false and null are neither strings nor numbers.
func TestRedactKeepsJSONLiterals(t *testing.T) {
	rule := history.Rule{Name: "e", Pattern: regexp.MustCompile("^[a-z]+$"), Replacement: "X"}
	out := process(t, history.Redact[deps](rule), []*model.Message{
		model.Response(model.ToolCall("1", "t", `{"A":true,"B":[false,null,"e"]}`)), request(model.ToolReturn("1", "t", "")),
	})
	require.Equal(t, `{"A":true,"B":[false,null,"X"]}`, out[0].Parts[0].Args.String())
}

func TestRedactedPartLosesItsSignature(t *testing.T) {
	signed := func(p model.Part) model.Part {
		p.Signature, p.ID, p.Provider = []byte("sig"), "id", "openai"
		return p
	}
	in := []*model.Message{
		model.Response(signed(model.Thinking("hush")), signed(model.Thinking("fine")), signed(model.ToolCall("1", "t", `"hush"`))),
		request(model.ToolReturn("1", "t", "r")),
	}
	parts := process(t, history.Redact[deps](word), in)[0].Parts
	require.Nil(t, parts[0].Signature)
	require.Empty(t, parts[0].ID)
	require.Equal(t, in[0].Parts[1], parts[1])
	require.Nil(t, parts[2].Signature)
	require.Equal(t, "1", parts[2].CallID)
}

func TestRedactKeepsUnansweredCalls(t *testing.T) {
	prompt, call := model.UserText("hush"), model.Response(model.Text("hush"), model.ToolCall("1", "t", `"hush"`), model.ToolCall("2", "t", `"hush"`))
	pending := request(model.ToolReturn("1", "t", "hush"))
	pending.Pending = true
	p := history.Redact[deps](word)
	for _, in := range [][]*model.Message{{prompt, call}, {prompt, call, pending}} {
		out := process(t, p, in)
		require.Equal(t, "req user:[redacted word]", dump(out[:1]))
		require.Same(t, call, out[1])
	}
	whole := []*model.Message{prompt, call, request(model.ToolReturn("1", "t", "hush"), model.ToolReturn("2", "t", "hush"))}
	require.NotContains(t, encode(t, process(t, p, whole)), "hush", "once they are answered they are history")
	require.NotContains(t, encode(t, process(t, p, []*model.Message{prompt, model.Response(model.Text("hush"))})), "hush")
}

func TestRedactLooksAtMessagesThatItHasNotSeen(t *testing.T) {
	p := history.Redact[deps](word)
	in := turns("ab", 0)
	process(t, p, in)
	edited := append([]*model.Message{}, in...)
	edited[1] = model.Response(model.Text("hush"))
	require.Contains(t, dump(process(t, p, edited)), "[redacted word]", "the same beginning and end do not make the same history")
	grown := append(in, model.Response(model.Text("hush")), request(model.User("x")))
	require.Contains(t, dump(process(t, p, grown)), "[redacted word]")
	require.Contains(t, dump(process(t, p, grown[:6])), "[redacted word]")

	beginning := make([]*model.Message, 1, 4)
	beginning[0] = model.UserText("x")
	process(t, p, append(beginning, model.Response(model.Text("y")), model.UserText("z")))
	other := append(beginning, model.Response(model.Text("hush")), model.UserText("z")) // in the same array
	require.Contains(t, dump(process(t, p, other)), "[redacted word]")
}

func TestRulesThatMatchTheirReplacementsAreAnError(t *testing.T) {
	in := []*model.Message{model.UserText("a"), model.Response(model.ToolCall("1", "t", `"a"`)), request(model.ToolReturn("1", "t", `["a"]`))}
	p := history.Redact[deps](history.Rule{Name: "a", Pattern: regexp.MustCompile("a"), Replacement: "${0}a"})
	for i := range in {
		_, err := p(context.Background(), nil, append(in[i:i+1:i+1], request()))
		require.EqualError(t, err, "history: redact: the rules match their own replacements: no end after 8 passes")
	}
	broken := []*model.Message{model.Response(model.ToolCall("1", "t", `{a`)), request(model.ToolReturn("1", "t", ""))}
	_, err := p(context.Background(), nil, broken)
	require.Error(t, err)
}

func TestRulesAreAppliedUntilNoneMatches(t *testing.T) {
	p := history.Redact[deps](
		history.Rule{Name: "ab", Pattern: regexp.MustCompile("ab"), Replacement: "-"},
		history.Rule{Name: "x", Pattern: regexp.MustCompile("x"), Replacement: "${1}"})
	require.Equal(t, "req user:-", dump(process(t, p, []*model.Message{model.UserText("axb")})))
}

func TestRedactEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err := history.Redact[deps](word)(ctx, nil, turns("a", 0))
	require.ErrorIs(t, err, cause)
}

func TestSecrets(t *testing.T) {
	p := history.Redact[deps](append(history.Secrets(), history.Emails())...)
	x := func(n int) string { return strings.Repeat("aB3d", n)[:n] }
	for in, want := range map[string]string{
		"key AKIA" + strings.Repeat("A1", 8) + ".": "key [redacted AWS key id].",
		"ghp_" + x(36) + " github_pat_" + x(30):    "[redacted GitHub token] [redacted GitHub token]",
		"glpat-" + x(20):                           "[redacted GitLab token]",
		"xoxb-" + x(20):                            "[redacted Slack token]",
		"sk_live_" + x(20):                         "[redacted Stripe key]",
		"OPENAI_API_KEY=sk-proj-" + x(40) + "\n":   "OPENAI_API_KEY=[redacted API key]\n",
		"AIza" + x(35):                             "[redacted Google API key]",
		"npm_" + x(36):                             "[redacted npm token]",
		"hf_" + x(34):                              "[redacted Hugging Face token]",
		"eyJ" + x(20) + "." + x(30) + "." + x(20):  "[redacted JWT]",
		"Authorization: Bearer " + x(20):           "Authorization: Bearer [redacted authorization]",
		`"authorization": "Basic ` + x(12) + `=="`: `"authorization": "Basic [redacted authorization]"`,
		"postgres://bob:pa55w0rd@db/x":             "postgres://bob:[redacted password]@db/x",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest":       "[redacted private key]\nrest",
		"-----BEGIN PRIVATE KEY-----\nabc that is cut o":                                  "[redacted private key]",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----": "[redacted private key]",
		"write to Ann.Lee+x@mail.example.co.uk now":                                       "write to [redacted e-mail address] now",
		// What only looks similar stays.
		"a task-force, risk-averse-and-otherwise-careful":    "a task-force, risk-averse-and-otherwise-careful",
		"basic understanding, token bucket, bearer of news":  "basic understanding, token bucket, bearer of news",
		"https://example.com:8080/a@b http://u@h/x me@local": "https://example.com:8080/a@b http://u@h/x me@local",
		"-----BEGIN PUBLIC KEY-----":                         "-----BEGIN PUBLIC KEY-----",
		"git@github.com:x/y.git is an address":               "[redacted e-mail address]:x/y.git is an address",
	} {
		require.Equal(t, want, process(t, p, []*model.Message{model.UserText(in)})[0].Parts[0].Text)
	}
	rules := history.Secrets()
	rules[0].Pattern = nil
	require.NotNil(t, history.Secrets()[0].Pattern, "the rules are the caller's own")
}

func TestRedactReplacesInDecisions(t *testing.T) {
	ran := model.ToolReturn("1", "look", "fine")
	ran.Decision = &model.Decision{Verdict: model.VerdictAllow, By: "ada", Args: json.RawMessage(`{"at":"hush"}`)}
	denied := model.ToolReturn("2", "look", "the hush")
	denied.Decision = &model.Decision{Verdict: model.VerdictDeny, Reason: "the hush"}
	in := []*model.Message{request(model.User("x")), model.Response(model.ToolCall("1", "look", "{}"), model.ToolCall("2", "look", "{}")), request(ran, denied), model.Response(model.Text("quiet"))}
	out := process(t, history.Redact[deps](word), append(in, request(model.User("y"))))
	require.Equal(t, &model.Decision{Verdict: model.VerdictAllow, By: "ada", Args: json.RawMessage(`{"at":"[redacted word]"}`)}, out[2].Parts[0].Decision)
	require.Equal(t, "the [redacted word]", out[2].Parts[1].Decision.Reason)
	require.Equal(t, "the hush", denied.Decision.Reason, "the history that was passed in is not changed")
}

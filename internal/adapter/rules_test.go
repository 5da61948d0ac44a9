// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// TestEveryCodeHasItsMeaning has all codes, in the middle of a stream and with a status, and
// statuses without a code.
func TestEveryCodeHasItsMeaning(t *testing.T) {
	const again, never = true, false
	codes := map[string]struct {
		inStream bool
		is       error
	}{
		"server_error": {again, nil}, "internal_error": {again, nil}, "internal_server_error": {again, nil}, "InternalServerError": {again, nil},
		"api_error": {again, nil}, "overloaded": {again, nil}, "overloaded_error": {again, nil}, "rate_limit_exceeded": {again, model.ErrRateLimited},
		"rate_limit_error": {again, model.ErrRateLimited}, "unavailable_error": {again, nil}, "service_unavailable": {again, nil}, "TIMEOUT": {again, nil},
		"server_overloaded": {again, nil}, "invalid_request_error": {never, nil}, "BadRequestError": {never, nil}, "other": {never, nil}, "server": {never, nil},
		"insufficient_quota": {never, model.ErrRateLimited}, "billing_hard_limit_reached": {never, model.ErrRateLimited}, "insufficient_balance": {never, model.ErrRateLimited},
		"invalid_api_key": {never, model.ErrAuth}, "authentication_error": {never, model.ErrAuth},
	}
	for _, code := range []string{
		"context_length_exceeded", "context_window_exceeded", "exceed_context_size_error", "request_too_large", "model_max_prompt_tokens_exceeded",
		"tokens_limit_reached", "too_many_prompt_tokens", "tokens_too_long", "characters_too_long", "context_overflow",
	} {
		codes[code] = struct {
			inStream bool
			is       error
		}{never, model.ErrContextLength}
	}
	for code, want := range codes {
		for _, status := range []int{0, 200, 399, 400, 503} {
			for _, e := range []*model.APIError{{Status: status, Code: code}, {Status: status, Type: code}} {
				adapter.Classify(e)
				retryable := want.inStream
				if status >= 400 {
					retryable = status == 503
				}
				if errors.Is(want.is, model.ErrContextLength) || strings.HasPrefix(code, "insufficient") || strings.HasPrefix(code, "billing") {
					retryable = false
				}
				require.Equal(t, retryable, e.Retryable, "%d %s", status, code)
				require.Equal(t, want.is, e.Err, "%d %s", status, code)
			}
		}
	}
	e := &model.APIError{Status: http.StatusPaymentRequired}
	adapter.Classify(e)
	require.Equal(t, []any{false, model.ErrRateLimited}, []any{e.Retryable, e.Err})
	for status := range 700 {
		want := status == 408 || status == 409 || status == 425 || status == 429 || status >= 500 && status != 501
		require.Equal(t, want, adapter.RetryableStatus(status), status)
	}
}

// TestErrorsAboutLengthAreTold reads the messages of all providers on the lists.
func TestErrorsAboutLengthAreTold(t *testing.T) {
	read := func(a adaptertest.ErrorAnswer) *model.APIError {
		var body struct {
			Error struct {
				Message, Type string
				Code          any
			}
		}
		if json.Unmarshal([]byte(a.Body), &body) != nil || body.Error.Message == "" || strings.HasPrefix(body.Error.Message, "Provider returned") {
			return nil // adapters look for the message of the provider behind it
		}
		e := &model.APIError{Status: a.Status, Type: body.Error.Type, Message: body.Error.Message}
		e.Code, _ = body.Error.Code.(string)
		return e
	}
	seen := 0
	for want, list := range map[bool][]adaptertest.ErrorAnswer{true: adaptertest.TooLong, false: adaptertest.NotTooLong} {
		for _, a := range list {
			e := read(a)
			if e == nil {
				continue
			}
			adapter.Classify(e)
			require.Equal(t, want, errors.Is(e, model.ErrContextLength), "%s: %+v", a.Provider, e)
			seen++
		}
	}
	require.Greater(t, seen, 120)
}

func TestLimitsOfTheOutputAreNoLimitsOfTheConversation(t *testing.T) {
	for message, want := range map[string]bool{
		"This model's maximum context length is 100 tokens (90 in the messages, 20 in the completion).":  true,
		"This model's maximum context length is 100 tokens (90 in the messages, 100 in the completion).": false,
		"This model's maximum context length is 100 tokens (90 in the messages, 99 in the completion).":  true,
		"max_tokens' is too large: 100. This model's maximum context length is 100 tokens.":              false,
		"'max_tokens' is too large: 99. This model's maximum context length is 100 tokens, the messages": true,
		"maximum context length is 100, you asked for 120 output tokens and a prompt":                    false,
		"maximum context length is 100, you asked for 20 output tokens and a prompt":                     true,
		"max_tokens is too large: the maximum context length is 7":                                       false,
		"max_tokens is too large for the prompt: the maximum context length is 7":                        true,
		"maximum context length is 100000000000 for the prompt, with 99999999999 output tokens":          true,
		"maximum context length is unknown":                                                              false,
		"the maximum context length of the model":                                                        true,
		"_tokens must be at least 1, got -5":                                                             true,
		"_tokens must be at least 1, got 5":                                                              false,
		"maximum context length is 123456789012 tokens for the prompt":                                   true,
		"prompt is too long, per minute":                                                                 false,
		"the image is too large for the maximum context length (image)":                                  false,
	} {
		e := &model.APIError{Status: 400, Message: message}
		adapter.Classify(e)
		require.Equal(t, want, errors.Is(e, model.ErrContextLength), message)
	}
}

func TestEveryFinishHasItsMeaning(t *testing.T) {
	for want, words := range map[model.FinishReason][]string{
		model.FinishStop:          {"", "stop", "STOP", "stop_sequence", "end_turn", "eos", "tool_calls", "function_call", "tool_use"},
		model.FinishLength:        {"length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens", "model_context_window_exceeded"},
		model.FinishContentFilter: {"content_filter", "safety"}, model.FinishRefusal: {"refusal"},
		model.FinishError: {"error", "insufficient_system_resource", "incomplete"}, model.FinishOther: {"odd", "stops"},
	} {
		for _, word := range words {
			require.Equal(t, want, adapter.OpenAIFinish(word, false, false), word)
			require.Equal(t, model.FinishRefusal, adapter.OpenAIFinish(word, true, true), word)
			with := want
			if want == model.FinishStop || want == model.FinishOther {
				with = model.FinishToolCalls
			}
			require.Equal(t, with, adapter.OpenAIFinish(word, true, false), word)
		}
	}
}

func TestUnknownBodiesAreExplained(t *testing.T) {
	const base = "https://h.test/v1"
	to := http.Header{"Location": {"https://u:p@login.test/a?key=x"}}
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{404, " gone ", "gone (is Config.BaseURL right? it is " + base + ")"},
		{405, "", "an empty body (is Config.BaseURL right? it is " + base + ")"},
		{200, "<html><TITLE lang='x'> Log in\n </title>", "the answer is no message but an HTML page: Log in (is Config.BaseURL right? it is " + base + ")"},
		{299, "<p>", "the answer is no message but an HTML page (is Config.BaseURL right? it is " + base + ")"},
		{300, "", `redirected to "https://login.test/a" (Config.BaseURL is ` + base + ")"},
		{399, "", `redirected to "https://login.test/a" (Config.BaseURL is ` + base + ")"},
		{400, "no", "no"}, {500, "", "an empty body"}, {403, "no", "no"},
	} {
		require.Equal(t, c.want, adapter.UnknownBody(c.status, to, []byte(c.body), "message", base), c.status)
	}
	require.Equal(t, `redirected to "/x" (Config.BaseURL is b)`, adapter.UnknownBody(302, http.Header{"Location": {"/x?key=1"}}, nil, "m", "b"))
	for text, want := range map[string]string{"abc": "abc", "abcd": "abc…", "abä": "ab…", "": ""} {
		require.Equal(t, want, adapter.Truncate(text, 3))
	}
}

func TestTheFirstByteIsBehindKeepAlives(t *testing.T) {
	for text, want := range map[string]byte{"{": '{', "\ufeff{": '{', " \n\r\t<": '<', "\ufeff \nx": 'x', "\vx": '\v', "\xef\xbbx": 0xef} {
		r := bufio.NewReader(strings.NewReader(text))
		b, err := adapter.FirstByte(r)
		require.NoError(t, err)
		require.Equal(t, want, b)
		again, err := r.ReadByte()
		require.NoError(t, err)
		require.Equal(t, want, again, "it is unread")
	}
	_, err := adapter.FirstByte(bufio.NewReader(strings.NewReader("  ")))
	require.EqualError(t, err, "EOF")
	_, err = adapter.FirstByte(bufio.NewReader(iotest.ErrReader(errors.New("cut"))))
	require.EqualError(t, err, "cut")
	_, err = adapter.FirstByte(bufio.NewReader(strings.NewReader(strings.Repeat(" ", 1<<20-1) + "{")))
	require.NoError(t, err)
	_, err = adapter.FirstByte(bufio.NewReader(strings.NewReader(strings.Repeat(" ", 1<<20) + "{")))
	require.ErrorAs(t, err, new(*adapter.FloodError))
	require.EqualError(t, err, "the endpoint sent more than 1 MiB without a complete event")
}

func TestNativeToolsAreChecked(t *testing.T) {
	search, fetch := model.NativeTool{Kind: model.NativeWebSearch}, model.NativeTool{Kind: model.NativeWebFetch}
	allowed, blocked := search, fetch
	allowed.Allowed, blocked.Blocked = []string{"a.test"}, []string{"b.test"}
	all := model.Info{Provider: "p", Name: "m", NativeSearch: true, NativeFetch: true, NativeDomains: true, NativeCompaction: true}
	for name, c := range map[string]struct {
		info  func(*model.Info)
		tools []string
		s     model.Settings
		want  string
	}{
		"nothing":         {nil, nil, model.Settings{}, ""},
		"all":             {nil, []string{"look"}, model.Settings{NativeTools: []model.NativeTool{search, fetch, allowed, blocked}, CompactAt: 5}, ""},
		"no search":       {func(i *model.Info) { i.NativeSearch = false }, nil, model.Settings{NativeTools: []model.NativeTool{fetch, search}}, "p m: native web_search: not supported by the model"},
		"no fetch":        {func(i *model.Info) { i.NativeFetch = false }, nil, model.Settings{NativeTools: []model.NativeTool{search, fetch}}, "p m: native web_fetch: not supported by the model"},
		"another":         {nil, nil, model.Settings{NativeTools: []model.NativeTool{{Kind: "shell"}}}, "p m: native shell: not supported by the model"},
		"allowed hosts":   {func(i *model.Info) { i.NativeDomains = false }, nil, model.Settings{NativeTools: []model.NativeTool{allowed}}, "p m: hosts for native web_search: not supported by the model"},
		"blocked hosts":   {func(i *model.Info) { i.NativeDomains = false }, nil, model.Settings{NativeTools: []model.NativeTool{blocked}}, "p m: hosts for native web_fetch: not supported by the model"},
		"a tool's name":   {nil, []string{"look", "web_search"}, model.Settings{NativeTools: []model.NativeTool{search}}, "a tool has the name of a native tool: web_search"},
		"another's name":  {nil, []string{"web_fetch"}, model.Settings{NativeTools: []model.NativeTool{search}}, ""},
		"no compaction":   {func(i *model.Info) { i.NativeCompaction = false }, nil, model.Settings{CompactAt: 5}, "p m: the setting CompactAt: not supported by the model"},
		"none asked for":  {func(i *model.Info) { *i = model.Info{} }, nil, model.Settings{}, ""},
		"no domain asked": {func(i *model.Info) { i.NativeDomains = false }, nil, model.Settings{NativeTools: []model.NativeTool{search}}, ""},
	} {
		info, req := all, &model.Request{}
		if c.info != nil {
			c.info(&info)
		}
		for _, tool := range c.tools {
			req.Tools = append(req.Tools, model.ToolDef{Name: tool})
		}
		err := adapter.CheckNative(&info, req, &c.s)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.want, name)
		require.Equal(t, strings.HasSuffix(c.want, "model"), errors.Is(err, model.ErrUnsupported))
	}
}

func TestResponsesThatSayNothingAreLeftOut(t *testing.T) {
	ask, empty, answer := model.UserText("a"), model.Response(), model.Response(model.Text("b"))
	says := func(m *model.Message) bool { return len(m.Parts) > 0 }
	blankAsk := &model.Message{Kind: model.KindRequest}
	for _, c := range []struct{ in, want []*model.Message }{
		{nil, nil}, {[]*model.Message{ask, answer}, []*model.Message{ask, answer}}, {[]*model.Message{empty}, []*model.Message{}},
		{[]*model.Message{ask, empty, blankAsk, empty, answer, ask}, []*model.Message{ask, blankAsk, answer, ask}},
		{[]*model.Message{blankAsk}, []*model.Message{blankAsk}},
	} {
		before := slices.Clone(c.in)
		require.Equal(t, c.want, adapter.Without(c.in, says))
		require.Equal(t, before, c.in)
	}
	for _, c := range []struct {
		part model.Part
		want bool
	}{
		{model.Text("a"), true}, {model.Text(" \n"), false}, {model.Text(""), false}, {model.Thinking("a"), false}, {model.Part{Kind: model.PartOpaque}, false},
		{model.Part{Kind: model.PartCitation}, false}, {model.ToolCall("1", "t", ""), true}, {model.Media("image/png", nil), true}, {model.Part{Kind: "odd"}, true},
	} {
		require.Equal(t, c.want, adapter.Says(&c.part), c.part.Kind)
	}
}

func TestIDsAndWaitsOfHeaders(t *testing.T) {
	h := http.Header{}
	for _, name := range []string{"Cf-Ray", "X-Generation-Id", "Request-Id", "X-Request-Id"} { // the best one last
		h.Set(name, name)
		require.Equal(t, name, adapter.RequestID(h))
	}
	now := time.Now()
	year := 365 * 24 * time.Hour
	for ms, want := range map[string]time.Duration{"1.5": 1500 * time.Microsecond, "-1": 0, "NaN": 0, "31536000000": year, "31536000001": year, "+Inf": year} {
		require.Equal(t, want, adapter.RetryAfter(http.Header{"Retry-After-Ms": {ms}}, now), ms)
	}
	require.Equal(t, 2*time.Second, adapter.RetryAfter(http.Header{"Retry-After-Ms": {"soon"}, "Retry-After": {"2"}}, now))
}

func TestReferencesAreFollowed(t *testing.T) {
	var root map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"$defs":{"a/b":{"x":1},"c~d":{"y":[{"z":1},2]},"e f":{"w":1},"n":3},"":{"v":1}}`), &root))
	for ref, want := range map[string]string{
		"#": "$defs", "#/$defs/a~1b": "x", "#/$defs/c~0d": "y", "#/$defs/c~0d/y/0": "z", "#/$defs/e%20f": "w", "#/": "v",
		"#/$defs/c~0d/y/1": "", "#/$defs/c~0d/y/2": "", "#/$defs/c~0d/y/-1": "", "#/$defs/c~0d/y/x": "", "#/$defs/n": "", "#/$defs/n/x": "", "#/none": "",
		"": "", "other#/$defs": "", "#a": "", "https://x.test": "", "#/$defs/none/x": "",
	} {
		got, ok := adapter.Reference(root, ref)
		require.Equal(t, want != "", ok, ref)
		if ok {
			require.Contains(t, got, want, ref)
		}
	}
}

func TestAddressesAreRead(t *testing.T) {
	for s, want := range map[string]string{
		"https://h.test": "https://h.test", "https://h.test/": "https://h.test", "https://h.test/v1/": "https://h.test", "https://h.test/v1": "https://h.test",
		"https://h.test/a/v1//": "https://h.test/a", "https://h.test/v2": "https://h.test/v2", "https://h.test/%2Fa/v1": "https://h.test//a",
	} {
		u, err := adapter.BaseURL(s, "/v1")
		require.NoError(t, err)
		require.Equal(t, want, u.String(), s)
	}
	for _, s := range []string{"https://h.test?x=1", "https://h.test#x"} {
		_, err := adapter.BaseURL(s, "")
		require.EqualError(t, err, "Config.BaseURL must not have a query or fragment, which the SDK would drop")
	}
	_, err := adapter.BaseURL("h.test", "")
	require.EqualError(t, err, "Config.BaseURL must start with http:// or https://")
	require.EqualError(t, adapter.CheckEndpoint("", "k"), "Config.Name is empty; set the name of a model")
	for _, key := range []string{"a b", "a\n", "ä", "a\x7f"} {
		require.EqualError(t, adapter.CheckEndpoint("m", key), "Config.APIKey contains white space or other invalid characters; does it end in a newline?", key)
	}
	require.NoError(t, adapter.CheckEndpoint("m", "!~"))
	require.NoError(t, adapter.CheckEndpoint("m", ""))
	require.Equal(t, "p.Config(m at https://h.test/v1, key set)", adapter.DescribeConfig("p", "m", "https://u:p@h.test/v1?k=1#f", "k"))
	require.Equal(t, "p.Config(m at invalid base URL, no key)", adapter.DescribeConfig("p", "m", "", ""))
	require.Equal(t, "p.Config(m at elsewhere, no key)", adapter.DescribeConfig("p", "m", "elsewhere", ""))
}

func TestSecretsOfAddressesAreHidden(t *testing.T) {
	base, err := url.Parse("https://user-name:pass%20word@h.test/v1?token=tok+en%2F123&api-version=2024-01-01&short=abc")
	require.NoError(t, err)
	redact := adapter.NewSecret("key-12345", base).Redact
	for text, want := range map[string]string{
		"key-12345 and key-12345":       "[redacted] and [redacted]",
		"user-name":                     "[redacted]",
		"pass word":                     "[redacted]",
		"user-name:pass%20word":         "[redacted]",
		"tok en/123 tok+en%2F123":       "[redacted] [redacted]",
		"2024-01-01 abc":                "2024-01-01 abc",
		"POST /v1?" + base.RawQuery:     "POST /v1",
		"see https://u:p@h.test/a?b=c.": "see https://h.test/a.",
	} {
		require.Equal(t, want, redact(text), text)
	}
	require.Equal(t, "1234567 [redacted]", adapter.NewSecret("12345678", nil).Redact("1234567 12345678"), "shorter ones are words")
	require.Equal(t, "1234567", adapter.NewSecret("1234567", nil).Redact("1234567"))
	require.Equal(t, "[redacted]", adapter.NewSecret("prefix-1", &url.URL{RawQuery: "k=prefix-12"}).Redact("prefix-12"), "the longer one first")

	secret := &model.APIError{Message: "gateway-key", Err: errors.New("gateway-key")}
	adapter.HideHeaders(secret, map[string]string{"X-Version": "gateway-key"})
	require.Equal(t, "gateway-key", secret.Message)
	adapter.HideHeaders(secret, map[string]string{"X-Key": "gateway-key"})
	require.Equal(t, []string{"[redacted]", "[redacted]"}, []string{secret.Message, secret.Err.Error()})
	other := errors.New("gateway-key")
	adapter.HideHeaders(other, map[string]string{"X-Key": "gateway-key"})
	require.EqualError(t, other, "gateway-key")
	require.NoError(t, adapter.Cleaned(nil, nil))
	same := errors.New("x")
	require.Same(t, same, adapter.Cleaned(same, strings.Clone))
	require.ErrorIs(t, adapter.Cleaned(same, strings.ToUpper), same)
}

func TestIdentitiesDiffer(t *testing.T) {
	info := model.Info{Provider: "p", Name: "m"}
	id := adapter.Identity(info, "a", nil)
	require.Len(t, id, 64)
	require.Equal(t, id, adapter.Identity(info, "a", nil))
	ids := []string{
		id, adapter.Identity(model.Info{Provider: "p", Name: "n"}, "a", nil), adapter.Identity(info, "b", nil), adapter.Identity(info, "a", &model.Settings{}),
		adapter.Identity(info, "a", &model.Settings{MaxTokens: 1}), adapter.Identity(info, "a", &model.Settings{ExtraHeaders: map[string]string{"a": "b"}}),
		adapter.Identity(info, "a", nil, 1), adapter.Identity(info, "a", nil, 1, 2), adapter.Identity(info, "a", nil, "1"),
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 9)
	require.Empty(t, adapter.Identity(info, "a", nil, func() {}))
}

func TestRequestsWithoutAnAnswerSayWhatToCheck(t *testing.T) {
	const where = "https://h.test"
	for _, c := range []struct {
		err   error
		again bool
		want  string
	}{
		{&net.OpError{Op: "proxyconnect", Err: errors.New("x")}, true, "the proxy for " + where + " fails: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY (proxyconnect: x)"},
		{&net.OpError{Op: "socks connect", Err: errors.New("x")}, true, "the proxy for " + where + " fails: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY (socks connect: x)"},
		{fmt.Errorf("x: %w", syscall.ECONNREFUSED), true, "nothing listens at " + where + ": start the server, or correct the base URL (x: connection refused)"},
		{&net.DNSError{Err: "x", Name: "h", IsNotFound: true}, false, "the host of " + where + " cannot be resolved: check the base URL and the network (lookup h: x)"},
		{&net.DNSError{Err: "x", Name: "h"}, true, "the host of " + where + " cannot be resolved: check the base URL and the network (lookup h: x)"},
		{&tls.CertificateVerificationError{Err: errors.New("x")}, false, "the certificate of " + where + " cannot be verified (tls: failed to verify certificate: x)"},
		{&net.OpError{Op: "read", Err: errors.New("x")}, true, "no answer from " + where + " or a proxy (read: x)"},
		{&url.Error{Op: "Get", URL: "https://h.test?key=1", Err: errors.New("x")}, true, "no answer from " + where + " or a proxy (x)"},
	} {
		e := adapter.TransportError(model.Info{Provider: "p", Name: "m"}, where, c.err, strings.Clone)
		require.Equal(t, []any{"p", "m", c.again, c.want}, []any{e.Provider, e.Model, e.Retryable, e.Message})
		require.Error(t, e.Err)
	}
}

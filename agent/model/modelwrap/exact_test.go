// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

func replaceLast(text, line string) string {
	if i := strings.LastIndex(text, line); i >= 0 {
		return text[:i] + "LINE" + text[i+len(line):]
	}
	return text
}

// branded is a model that tells what its responses depend on.
type branded struct {
	model.Model
	id string
}

func (i branded) Identity() string { return i.id }

func TestWrappersHaveTheIdentityOfTheirModels(t *testing.T) {
	kinds := map[string]string{
		"Retry": "retry", "Break": "Breaker", "Limit": "limit", "RateLimit": "rateLimit", "Cache": "Cached", "Cache, coalesced": "Cached", "Cost": "Costed", "FetchMedia": "fetcher",
	}
	for name, wrap := range wrappers(everything) {
		got := model.Identity(wrap(branded{saying("one", "hi"), "own"}))
		switch kind := kinds[name]; {
		case kind != "":
			require.Equal(t, "*modelwrap."+kind+" modelwrap_test.branded own", got, name)
		case name == "Fallback": // its Check decides who answers
			require.Empty(t, got)
		default:
			require.Contains(t, got, "modelwrap_test.branded own", name)
		}
	}
	a, b, unknown := branded{saying("a", "x"), "A"}, branded{saying("b", "x"), "B"}, saying("c", "x")
	for want, m := range map[string]model.Model{
		"*modelwrap.fallback modelwrap_test.branded A":                           modelwrap.Fallback([]model.Model{a}, modelwrap.FallbackPolicy{}),
		"*modelwrap.fallback modelwrap_test.branded A; modelwrap_test.branded B": modelwrap.Fallback([]model.Model{a, b}, modelwrap.FallbackPolicy{Buffered: true}),
	} {
		require.Equal(t, want, model.Identity(m))
	}
	require.Empty(t, model.Identity(modelwrap.Fallback([]model.Model{a, unknown}, modelwrap.FallbackPolicy{})))
	require.Empty(t, model.Identity(modelwrap.Fallback([]model.Model{a}, modelwrap.FallbackPolicy{On: func(error) bool { return true }})))
}

// TestFallbackCanWhatAllItsModelsCan tries each ability with two models in each order.
func TestFallbackCanWhatAllItsModelsCan(t *testing.T) {
	for name, set := range map[string]func(*model.Info){
		"output": func(i *model.Info) { i.NativeOutput = true }, "no forced calls": func(i *model.Info) { i.NoForcedCalls = true }, "search": func(i *model.Info) { i.NativeSearch = true },
		"fetch": func(i *model.Info) { i.NativeFetch = true }, "domains": func(i *model.Info) { i.NativeDomains = true }, "compaction": func(i *model.Info) { i.NativeCompaction = true },
	} {
		can, cannot := model.Info{Provider: "p", Name: "n"}, model.Info{Provider: "p", Name: "n"}
		set(&can)
		of := func(infos ...model.Info) model.Info {
			var models []model.Model
			for _, info := range infos {
				models = append(models, model.Func(info, nil))
			}
			return modelwrap.Fallback(models, modelwrap.FallbackPolicy{}).Info()
		}
		either := cannot
		if name == "no forced calls" {
			either = can
		}
		require.Equal(t, can, of(can), name)
		require.Equal(t, can, of(can, can), name)
		require.Equal(t, either, of(can, cannot), name)
		require.Equal(t, either, of(cannot, can), name)
		require.Equal(t, either, of(can, can, cannot), name)
		require.Equal(t, cannot, of(cannot, cannot), name)
	}
}

func TestErrorsOfContextsThatEnded(t *testing.T) {
	mine, last := errors.New("mine"), errors.New("last")
	caused, cancel := context.WithCancelCause(t.Context())
	cancel(mine)
	plain, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		ctx  context.Context
		last error
		want string
		is   []error
	}{
		{caused, nil, "modelwrap: request cancelled: mine (context canceled)", []error{mine, context.Canceled}},
		{plain, nil, "modelwrap: request cancelled: context canceled", []error{context.Canceled}},
		{caused, last, "modelwrap: request cancelled: mine (context canceled); before that: last", []error{mine, context.Canceled, last}},
		{plain, last, "modelwrap: request cancelled: context canceled; before that: last", []error{context.Canceled, last}},
		{caused, fmt.Errorf("inner: %w", mine), "inner: mine", []error{mine}},
		{plain, fmt.Errorf("inner: %w", context.Canceled), "inner: context canceled", []error{context.Canceled}},
	} {
		err := modelwrap.EndedError(c.ctx, c.last)
		require.EqualError(t, err, c.want)
		for _, is := range c.is {
			require.ErrorIs(t, err, is)
		}
	}
}

// TestRequestsThatEndWhileTheyWaitAreNotSent checks that what has waited for a rate in vain asks nobody and uses nothing.
func TestRequestsThatEndWhileTheyWaitAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		m := modelwrap.RateLimit(named("one", func(context.Context, model.Sink) (*model.Message, error) {
			sent.Add(1)
			return say("hi"), nil
		}), modelwrap.Rate{Requests: 1})
		begin := time.Now()
		_, err := m.Generate(t.Context(), ask("first"), nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = m.Generate(ctx, ask("second"), nil)
		require.EqualError(t, err, "modelwrap: request cancelled: context deadline exceeded")
		require.Equal(t, 10*time.Second, time.Since(begin))
		require.EqualValues(t, 1, sent.Load())
		_, err = m.Generate(t.Context(), ask("third"), nil)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(begin))
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute) // ends at the moment of its turn
		defer cancel()
		_, _ = m.Generate(ctx, ask("fourth"), nil)
		require.Equal(t, 2*time.Minute, time.Since(begin))
	})
}

func TestRatesThatAreNoneAreNamed(t *testing.T) {
	m := saying("one", "hi")
	for want, rate := range map[string]modelwrap.Rate{
		"Requests 0, Tokens 0, Per 0s and Burst 0":   {},
		"Requests 0, Tokens 0, Per 1s and Burst 1":   {Per: time.Second, Burst: 1},
		"Requests -1, Tokens 1, Per 0s and Burst 0":  {Requests: -1, Tokens: 1},
		"Requests 1, Tokens -1, Per 0s and Burst 0":  {Requests: 1, Tokens: -1},
		"Requests 1, Tokens 0, Per -1ns and Burst 0": {Requests: 1, Per: -1},
		"Requests 1, Tokens 0, Per 0s and Burst -1":  {Requests: 1, Burst: -1},
	} {
		require.PanicsWithValue(t, "modelwrap: RateLimit: "+want+" must not be negative, and Requests or Tokens must be set", func() { modelwrap.RateLimit(m, rate) })
	}
	require.PanicsWithValue(t, "modelwrap: Limit: n is -1, must be at least 1", func() { modelwrap.Limit(m, -1) })
	require.PanicsWithValue(t, "modelwrap: NewMemory: negative limit: 1 entries, -1 bytes", func() { modelwrap.NewMemory(modelwrap.MemoryLimits{Entries: 1, Bytes: -1}) })
	for _, policy := range []modelwrap.BreakPolicy{{Failures: -1}, {CoolDown: -1}, {MaxCoolDown: -1}, {AuthCoolDown: -1}} {
		require.PanicsWithValue(t, "modelwrap: Break: policy has a negative value", func() { modelwrap.Break(m, policy) })
	}
	for want, policy := range map[string]modelwrap.FetchPolicy{
		"MaxBytes -1, MaxTotalBytes 0 and Timeout 0s must not be negative":  {MaxBytes: -1},
		"MaxBytes 0, MaxTotalBytes -1 and Timeout 0s must not be negative":  {MaxTotalBytes: -1},
		"MaxBytes 0, MaxTotalBytes 0 and Timeout -1ns must not be negative": {Timeout: -1},
		`Header["A\n"] is not a valid header`:                               {Header: http.Header{"A\n": {"b"}}},
		"AllowPrivate[1] is not valid; use netip.ParsePrefix":               {AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), {}}},
	} {
		require.PanicsWithValue(t, "modelwrap: FetchMedia: "+want, func() { modelwrap.FetchMedia(m, policy) })
	}
}

// TestSizeOfResponsesInMemory finds the least memory that takes a response: it grows with everything that can be long.
func TestSizeOfResponsesInMemory(t *testing.T) {
	least := func(m *model.Message) int64 {
		for size := int64(1); ; size++ {
			store := modelwrap.NewMemory(modelwrap.MemoryLimits{Bytes: size})
			if store.Put(t.Context(), modelwrap.Key{}, m); store.Len() == 1 {
				return size
			}
		}
	}
	empty := least(model.Response())
	require.EqualValues(t, 600, empty)
	part := least(model.Response(model.Part{}))
	require.EqualValues(t, 900, part)
	require.EqualValues(t, 1200, least(model.Response(model.Part{}, model.Part{})))
	require.EqualValues(t, 607, least(&model.Message{ResponseID: "7 bytes"}))
	data := []byte("7 bytes")
	for name, p := range map[string]model.Part{
		"text": {Text: "7 bytes"}, "id of a call": {CallID: "7 bytes"}, "arguments": {Args: data}, "data": {Data: data}, "signature": {Signature: data}, "id": {ID: "7 bytes"}, "meta": {Meta: data},
	} {
		require.EqualValues(t, part+7, least(model.Response(p)), name)
	}
}

func TestPoliciesDoNotShowHeaders(t *testing.T) {
	p := modelwrap.FetchPolicy{Hosts: []string{"a.test"}, Always: true, Header: http.Header{"Authorization": {"secret"}}}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	require.Equal(t, `{"Hosts":["a.test"],"AllowPrivate":null,"Always":true,"MaxBytes":0,"MaxTotalBytes":0,"Timeout":0,"CacheBytes":0,"Header":{"Authorization":["[hidden]"]}}`, string(data))
	require.Equal(t, "{[a.test] [] true 0 0 0s 0 map[Authorization:[[hidden]]]}", fmt.Sprint(p))
	require.Equal(t, "{Hosts:[a.test] AllowPrivate:[] Always:true MaxBytes:0 MaxTotalBytes:0 Timeout:0s CacheBytes:0 Header:map[Authorization:[[hidden]]]}", fmt.Sprintf("%+v", p))
}

// seeing is a store that records what is asked.
type seeing struct {
	asked []string
	modelwrap.Store
}

func (s *seeing) Get(ctx context.Context, key modelwrap.Key) (*model.Message, bool) {
	s.asked = append(s.asked, "get")
	return s.Store.Get(ctx, key)
}

func (s *seeing) Put(ctx context.Context, key modelwrap.Key, m *model.Message) {
	s.asked = append(s.asked, "put "+m.Text())
	s.Store.Put(ctx, key, m)
}

func TestCacheAsksItsStoreOnce(t *testing.T) {
	for _, coalesce := range []bool{false, true} {
		store := &seeing{Store: modelwrap.NewMemory(modelwrap.MemoryLimits{})}
		inner, n := counted(saying("one", "hi"))
		m := modelwrap.Cache(inner, store, modelwrap.CachePolicy{Coalesce: coalesce})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := m.Generate(ctx, ask("x"), nil)
		require.EqualError(t, err, "modelwrap: request cancelled: context canceled")
		require.Empty(t, store.asked, "a request that has ended asks nobody")
		for range 2 {
			_, err = m.Generate(t.Context(), ask("x"), nil)
			require.NoError(t, err)
		}
		want := []string{"get", "put hi", "get"}
		if coalesce {
			want = []string{"get", "get", "put hi", "get"}
		}
		require.Equal(t, want, store.asked)
		require.EqualValues(t, 1, n.Load())
		for range 2 {
			require.Equal(t, modelwrap.CacheStats{Hits: 1, Misses: 1}, m.Stats())
		}
	}
}

// TestDataURLsAreReadExactly decodes data URLs of each form, and those that are just too long.
func TestDataURLsAreReadExactly(t *testing.T) {
	const limit = 30
	const tooLarge = "modelwrap: cannot fetch data:: too large: limit 30 bytes"
	x := func(n int) string { return strings.Repeat("x", n) }
	for url, want := range map[string]string{
		"data:text/plain,a%20b": "text/plain a b", "DATA:text/plain;charset=utf-8,a": "text/plain a", "data:,a": "text/plain a", "data:text/plain;base64,YQ==": "text/plain a", "data:text/plain;BASE64,YQ": "text/plain a", "data:text/plain;base64, Y Q%3d%3d": "text/plain a",
		"data:text/plain": "modelwrap: cannot fetch data:: data URL has no data", "data:text/plain,": "modelwrap: cannot fetch data:: response is empty", "data:text/plain,%z": "modelwrap: cannot fetch data:: cannot decode the data: % without two hexadecimal digits",
		"data:text/plain;base64,!": "modelwrap: cannot fetch data:: cannot decode the data: illegal base64 data at input byte 0", "data:a b,x": "text/plain x", "data:;base64,YQ==": "text/plain a", "data:application/octet-stream,a": "text/plain a", "data:binary/octet-stream,a": "text/plain a",
		"data:text/plain," + x(limit): "text/plain " + x(limit), "data:text/plain," + x(limit+1): tooLarge,
		"data:text/plain,a" + strings.Repeat("%20", limit-1): "text/plain a" + strings.Repeat(" ", limit-1), "data:text/plain," + x(4*limit+100): tooLarge, "data:text/plain," + x(4*limit+101): tooLarge,
		"data:text/plain;base64,YQ" + strings.Repeat(" ", 4*limit+98): "text/plain a", "data:text/plain;base64,YQ" + strings.Repeat(" ", 4*limit+99): tooLarge,
		"data:text/html,<html>": "text/html <html>", "data:image/png,<html>": "modelwrap: cannot fetch data:: it is a page, not image/png", "data:image/jpeg,\x89PNG\r\n\x1a\n": "image/png \x89PNG\r\n\x1a\n",
	} {
		got := ""
		inner := model.Func(model.Info{Provider: "test", Name: "one", Media: []string{"text", "image"}}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			p := req.Messages[0].Parts[0]
			got = p.MediaType + " " + string(p.Data) + p.URL
			return say("ok"), nil
		})
		req := &model.Request{Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{{Kind: model.PartMedia, URL: url}}}}}
		if _, err := modelwrap.FetchMedia(inner, modelwrap.FetchPolicy{MaxBytes: limit}).Generate(t.Context(), req, nil); err != nil {
			got = err.Error()
		}
		require.Equal(t, want, got, "%.200q", url)
		require.Equal(t, url, req.Messages[0].Parts[0].URL, "the history stays")
	}
}

// TestMediaOfMessagesDecidesWhatIsWanted gives parts of each kind, and checks which are decoded.
func TestMediaOfMessagesDecidesWhatIsWanted(t *testing.T) {
	const url = "data:text/plain,a"
	for name, test := range map[string]struct {
		kind    model.Kind
		part    model.Part
		decoded bool
	}{
		"media":             {model.KindRequest, model.Part{Kind: model.PartMedia, URL: url}, true},
		"of a type":         {model.KindRequest, model.Part{Kind: model.PartMedia, URL: url, MediaType: "Text/Plain; charset=utf-8"}, true},
		"of another type":   {model.KindRequest, model.Part{Kind: model.PartMedia, URL: url, MediaType: "audio/wav"}, false},
		"with data":         {model.KindRequest, model.Part{Kind: model.PartMedia, URL: url, Data: []byte("b")}, false},
		"without a URL":     {model.KindRequest, model.Part{Kind: model.PartMedia, MediaType: "text/plain"}, false},
		"text":              {model.KindRequest, model.Part{Kind: model.PartUser, URL: url}, false},
		"in a response":     {model.KindResponse, model.Part{Kind: model.PartMedia, URL: url}, false},
		"with another kind": {model.KindRequest, model.Part{Kind: model.PartMedia, URL: url, MediaType: "text/html"}, true},
	} {
		var got model.Part
		inner := model.Func(model.Info{Provider: "test", Name: "one", Media: []string{"text"}, MediaURLs: []string{"text"}}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			got = req.Messages[0].Parts[0]
			return say("ok"), nil
		})
		req := &model.Request{Messages: []*model.Message{{Kind: test.kind, Parts: []model.Part{test.part}}}}
		_, err := modelwrap.FetchMedia(inner, modelwrap.FetchPolicy{}).Generate(t.Context(), req, nil)
		require.NoError(t, err, name)
		if !test.decoded {
			require.Equal(t, test.part, got, name)
			continue
		}
		require.Equal(t, "a", string(got.Data), name)
		require.Empty(t, got.URL, name)
	}
	both := &model.Request{Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{{Kind: model.PartMedia, URL: "data:text/plain,aaa"}, {Kind: model.PartMedia, URL: "data:text/plain,bbb"}}}}}
	inner := model.Func(model.Info{Provider: "test", Name: "one", Media: []string{"text"}}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return say("ok"), nil })
	_, err := modelwrap.FetchMedia(inner, modelwrap.FetchPolicy{MaxTotalBytes: 6}).Generate(t.Context(), both, nil)
	require.NoError(t, err)
	_, err = modelwrap.FetchMedia(inner, modelwrap.FetchPolicy{MaxTotalBytes: 5}).Generate(t.Context(), both, nil)
	require.ErrorIs(t, err, modelwrap.ErrMediaTooLarge)
	require.ErrorContains(t, err, "the limit for all media of the request is 5 bytes")
}

func TestRateOfATokenEachNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelwrap.RateLimit(named("one", func(context.Context, model.Sink) (*model.Message, error) {
			msg := say("hi")
			msg.Usage = model.Usage{InputTokens: 2e9, OutputTokens: 1e9}
			return msg, nil
		}), modelwrap.Rate{Tokens: 1e9, Per: time.Second})
		begin := time.Now()
		for i, want := range []time.Duration{0, 2*time.Second + 1, 5*time.Second + 1} {
			_, err := m.Generate(t.Context(), ask("hi"), nil)
			require.NoError(t, err)
			require.Equal(t, want, time.Since(begin), i)
		}
	})
}

func TestErrorsCountTheAttempts(t *testing.T) {
	for attempts, want := range map[int]string{1: "boom", 2: "modelwrap: after 2 attempts: boom", 3: "modelwrap: after 3 attempts: boom"} {
		var waits []time.Duration
		m := modelwrap.Retry(failing("one", errBoom), model.RetryPolicy{Attempts: attempts, Base: time.Nanosecond, On: func(error) bool { return true }, Observe: func(_ context.Context, err error, wait time.Duration) {
			require.Equal(t, errBoom, err)
			waits = append(waits, wait)
		}})
		_, err := m.Generate(t.Context(), ask("hi"), nil)
		require.EqualError(t, err, want)
		require.Len(t, waits, attempts-1)
	}
}

// TestFallbackJoinsWhatItHolds records what is shown at last of a response that shows nothing but blanks and usage.
func TestFallbackJoinsWhatItHolds(t *testing.T) {
	text := func(part int, blanks string) model.Delta {
		return model.Delta{Part: part, Kind: model.PartText, Text: blanks}
	}
	thought := model.Delta{Kind: model.PartThinking, Text: " "}
	usage := func(n int64) model.Delta { return model.Delta{Usage: &model.Usage{InputTokens: n}} }
	both := text(0, "\t")
	both.Usage = &model.Usage{OutputTokens: 3}
	for name, test := range map[string]struct{ sent, want []model.Delta }{
		"one part":        {[]model.Delta{text(0, " "), text(0, "\n")}, []model.Delta{text(0, " \n")}},
		"two parts":       {[]model.Delta{text(0, " "), text(1, "\n"), text(1, " ")}, []model.Delta{text(0, " "), text(1, "\n ")}},
		"two kinds":       {[]model.Delta{text(0, " "), thought, thought}, []model.Delta{text(0, " "), {Kind: model.PartThinking, Text: "  "}}},
		"usage":           {[]model.Delta{usage(1), usage(2), usage(3)}, []model.Delta{usage(3)}},
		"usage and text":  {[]model.Delta{usage(1), text(0, " "), usage(2), usage(3)}, []model.Delta{usage(1), text(0, " "), usage(3)}},
		"text with usage": {[]model.Delta{text(0, " "), both, both}, []model.Delta{text(0, " "), {Kind: model.PartText, Text: "\t\t", Usage: both.Usage}}},
		"something else":  {[]model.Delta{usage(1), text(0, " "), text(0, "x"), text(0, " ")}, []model.Delta{usage(1), text(0, " "), text(0, "x"), text(0, " ")}},
		"a call":          {[]model.Delta{text(0, " "), {Part: 1, Kind: model.PartToolCall, Tool: "f"}}, []model.Delta{text(0, " "), {Part: 1, Kind: model.PartToolCall, Tool: "f"}}},
		"a whole part":    {[]model.Delta{text(0, " "), {Whole: &model.Part{Kind: model.PartOpaque}}}, []model.Delta{text(0, " "), {Whole: &model.Part{Kind: model.PartOpaque}}}},
	} {
		var got []model.Delta
		m := modelwrap.Fallback([]model.Model{named("one", func(_ context.Context, sink model.Sink) (*model.Message, error) {
			for _, d := range test.sent {
				if err := sink(d); err != nil {
					return nil, err
				}
			}
			return say("hi"), nil
		})}, modelwrap.FallbackPolicy{})
		_, err := m.Generate(t.Context(), ask("hi"), func(d model.Delta) error { got = append(got, d); return nil })
		require.NoError(t, err)
		require.Equal(t, test.want, got, name)
		for n := range test.want { // the sink fails at each of them
			calls := 0
			_, err = m.Generate(t.Context(), ask("hi"), func(model.Delta) error {
				if calls++; calls > n {
					return errBoom
				}
				return nil
			})
			require.Equal(t, errBoom, err, name)
			require.Equal(t, n+1, calls, name)
		}
	}
}

func TestModelsThatFetchDoNotShowHeaders(t *testing.T) {
	m := modelwrap.FetchMedia(saying("one", "hi"), modelwrap.FetchPolicy{Header: http.Header{"Authorization": {"secret"}}})
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		require.NotContains(t, fmt.Sprintf(verb, m), "secret")
	}
}

// TestDefaultCoolDowns checks how long a breaker waits if the policy says nothing.
func TestDefaultCoolDowns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := modelwrap.Break(failing("one", overloaded("one")), modelwrap.BreakPolicy{})
		for range 4 {
			_, _ = b.Generate(t.Context(), ask("hi"), nil)
			require.Equal(t, modelwrap.BreakerClosed, b.Status().State)
		}
		for _, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
			_, _ = b.Generate(t.Context(), ask("hi"), nil)
			require.Equal(t, modelwrap.BreakerOpen, b.Status().State)
			require.Equal(t, time.Now().Add(wait), b.Status().Until)
			time.Sleep(wait - 1)
			_, err := b.Generate(t.Context(), ask("hi"), nil)
			require.ErrorAs(t, err, new(*modelwrap.OpenError))
			time.Sleep(time.Nanosecond)
			require.Equal(t, modelwrap.BreakerHalfOpen, b.Status().State)
		}
		locked := modelwrap.Break(failing("two", &model.APIError{Status: 401}), modelwrap.BreakPolicy{})
		_, _ = locked.Generate(t.Context(), ask("hi"), nil)
		require.Equal(t, time.Now().Add(10*time.Minute), locked.Status().Until)
		long := modelwrap.Break(failing("three", overloaded("three")), modelwrap.BreakPolicy{Failures: 1, CoolDown: time.Hour})
		for range 2 {
			_, _ = long.Generate(t.Context(), ask("hi"), nil)
			require.Equal(t, time.Now().Add(time.Hour), long.Status().Until)
			time.Sleep(time.Hour)
		}
	})
}

func TestMemoryHas1000EntriesByDefault(t *testing.T) {
	store := modelwrap.NewMemory(modelwrap.MemoryLimits{})
	for i := range 1001 {
		require.Equal(t, i, store.Len())
		store.Put(t.Context(), modelwrap.Key{byte(i), byte(i >> 8)}, say("hi"))
	}
	require.Equal(t, 1000, store.Len())
}

func TestDefaultSizeOfMedia(t *testing.T) {
	inner := model.Func(model.Info{Provider: "test", Name: "one", Media: []string{"text"}}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		return say("ok"), nil
	})
	m := modelwrap.FetchMedia(inner, modelwrap.FetchPolicy{})
	for size, want := range map[int]string{20 << 20: "", 20<<20 + 1: "modelwrap: cannot fetch data:: too large: limit 20971520 bytes"} {
		req := &model.Request{Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{{Kind: model.PartMedia, URL: "data:text/plain," + strings.Repeat("x", size)}}}}}
		if _, err := m.Generate(t.Context(), req, nil); want != "" {
			require.EqualError(t, err, want)
		} else {
			require.NoError(t, err)
		}
	}
}

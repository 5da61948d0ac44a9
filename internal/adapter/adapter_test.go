// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

func TestAdjacentMessagesFormATurn(t *testing.T) {
	ask, answer := model.UserText("ask"), model.Response(model.Text("answer"))
	var lengths []int
	for turn := range adapter.Turns([]*model.Message{ask, ask, answer, ask, answer, answer, answer}) {
		lengths = append(lengths, len(turn))
	}
	require.Equal(t, []int{2, 1, 1, 3}, lengths)
	for range adapter.Turns([]*model.Message{ask, answer}) {
		break
	}
}

func TestArgumentsOfTheHistoryAreAlwaysAnObject(t *testing.T) {
	for args, want := range map[string]string{
		"": "{}", " \n": "{}", "null": "{}", `{"a": 9223372036854775807}`: `{"a": 9223372036854775807}`,
		`{"broken`: `{"invalid_arguments":"{\"broken"}`, `[1]`: `{"invalid_arguments":"[1]"}`, "<b>": `{"invalid_arguments":"<b>"}`,
	} {
		require.Equal(t, want, string(adapter.Arguments(model.RawArgs(args))), args)
	}
	require.True(t, json.Valid(adapter.Arguments(model.RawArgs("\xff\x00"))))
}

func TestCallIDsDiffer(t *testing.T) {
	var ids adapter.CallIDs
	require.Equal(t, "a", ids.Unique("a"))
	require.Equal(t, "a_2", ids.Unique("a"))
	require.Equal(t, "a_2_2", ids.Unique("a_2"))
	require.Equal(t, "a_3", ids.Unique("a"))
	made := ids.Unique("")
	require.NotEmpty(t, made)
	require.NotEqual(t, made, ids.Unique(""))
}

func TestUnsupportedMediaIsRefused(t *testing.T) {
	info := model.Info{Provider: "p", Name: "m", Media: []string{"image", "application/pdf"}, MediaURLs: []string{"image"}}
	for name, test := range map[string]struct {
		part        model.Part
		unsupported bool
		says        string
	}{
		"data":                 {part: model.Media("Image/PNG; q=1", []byte("x"))},
		"a whole type":         {part: model.Media("application/pdf", []byte("x"))},
		"a URL":                {part: model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://example.com/a.png"}},
		"another kind":         {part: model.Media("audio/wav", []byte("x")), unsupported: true, says: "p m: input of type audio/wav"},
		"another whole type":   {part: model.Media("application/zip", []byte("x")), unsupported: true, says: "application/zip"},
		"a URL of that kind":   {part: model.Part{MediaType: "application/pdf", URL: "https://example.com"}, unsupported: true, says: "by URL"},
		"no type":              {part: model.Media("", []byte("x")), says: "no media type"},
		"neither data nor URL": {part: model.Media("image/png", nil), says: "neither data nor URL"},
	} {
		err := adapter.CheckMedia(info, &test.part)
		if test.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, test.says, name)
		require.Equal(t, test.unsupported, errors.Is(err, model.ErrUnsupported), name)
	}
}

func TestMediaNoteNamesTheMedia(t *testing.T) {
	require.Equal(t, "[image/png: cat.png]", adapter.MediaNote(&model.Part{MediaType: "image/png", Name: "cat.png"}))
	require.Equal(t, "[image/png]", adapter.MediaNote(&model.Part{MediaType: "image/png"}))
	require.Equal(t, "[media]", adapter.MediaNote(&model.Part{}))
}

func TestPartsOfARequestAreToldApart(t *testing.T) {
	for name, test := range map[string]struct {
		part                  model.Part
		answers, user, failed bool
	}{
		"return":      {part: model.ToolReturn("c", "t", "x"), answers: true},
		"failure":     {part: model.Part{Kind: model.PartToolReturn, Outcome: model.OutcomeFailed}, answers: true, failed: true},
		"denial":      {part: model.Part{Kind: model.PartToolReturn, Outcome: model.OutcomeDenied}, answers: true, failed: true},
		"interrupted": {part: model.Part{Kind: model.PartToolReturn, Outcome: model.OutcomeInterrupted}, answers: true, failed: true},
		"skipped":     {part: model.Part{Kind: model.PartToolReturn, Outcome: model.OutcomeSkipped}, answers: true},
		"retry":       {part: model.Retry("c", "t", "x"), answers: true, failed: true},
		"retry all":   {part: model.Retry("", "", "x"), user: true, failed: true},
		"user":        {part: model.User("x"), user: true},
		"media":       {part: model.Media("image/png", nil), user: true},
		"system":      {part: model.System("x")},
	} {
		require.Equal(t, test.answers, adapter.AnswersCall(&test.part), name)
		require.Equal(t, test.user, adapter.IsUserContent(&test.part), name)
		require.Equal(t, test.failed, adapter.Failed(&test.part), name)
	}
	retry, user := model.Retry("", "", "why"), model.User("why")
	require.Equal(t, "why\n\nFix this and try again.", adapter.Text(&retry))
	require.Equal(t, "why", adapter.Text(&user))
}

func TestToolsAndToolChoiceAreChecked(t *testing.T) {
	tools := []model.ToolDef{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "b"}}
	for _, mode := range []model.ToolChoiceMode{model.ToolChoiceAuto, model.ToolChoiceNone, model.ToolChoiceRequired} {
		require.NoError(t, adapter.CheckTools(&model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: mode}}))
	}
	require.NoError(t, adapter.CheckTools(&model.Request{Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "b"}}))
	for says, req := range map[string]model.Request{
		"is required":                {ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}},
		`names "c"`:                  {Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "c"}},
		"unknown tool choice":        {Tools: tools, ToolChoice: model.ToolChoice{Mode: "maybe"}},
		`tool "x" is not valid JSON`: {Tools: []model.ToolDef{{Name: "x", Schema: json.RawMessage("{")}}},
		`"o" is not valid JSON`:      {Output: &model.OutputSchema{Name: "o"}},
	} {
		require.ErrorContains(t, adapter.CheckTools(&req), says)
	}
}

func TestCancelledCallWrapsItsCause(t *testing.T) {
	info := model.Info{Provider: "p", Name: "m"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, adapter.Cancelled(ctx, info, nil), "p m: request cancelled: context canceled")

	why, last := errors.New("the user left"), errors.New("busy")
	ctx, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(why)
	err := adapter.Cancelled(ctx, info, last)
	require.ErrorIs(t, err, why)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, last)
}

func TestErrorsAreClassified(t *testing.T) {
	for name, test := range map[string]struct {
		e         model.APIError
		retryable bool
		is        error
	}{
		"busy":               {e: model.APIError{Status: 503}, retryable: true},
		"overloaded":         {e: model.APIError{Status: 529}, retryable: true},
		"not implemented":    {e: model.APIError{Status: 501}},
		"rate":               {e: model.APIError{Status: 429}, retryable: true, is: model.ErrRateLimited},
		"quota":              {e: model.APIError{Status: 429, Code: "insufficient_quota"}, is: model.ErrRateLimited},
		"key":                {e: model.APIError{Status: 401}, is: model.ErrAuth},
		"too long":           {e: model.APIError{Status: 400, Message: "prompt is too long: 9 > 8"}, is: model.ErrContextLength},
		"overloaded, stream": {e: model.APIError{Type: "overloaded_error"}, retryable: true},
		"invalid, stream":    {e: model.APIError{Type: "invalid_request_error"}},
	} {
		adapter.Classify(&test.e)
		require.Equal(t, test.retryable, test.e.Retryable, name)
		for _, id := range []error{model.ErrRateLimited, model.ErrAuth, model.ErrContextLength} {
			require.Equal(t, id == test.is, errors.Is(&test.e, id), "%s: %v", name, id)
		}
	}
}

func TestRetryAfterAndRequestIDComeFromHeaders(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "1e300": 365 * 24 * time.Hour,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, adapter.RetryAfter(http.Header{"Retry-After": {value}}, now), value)
	}
	require.Equal(t, 250*time.Millisecond, adapter.RetryAfter(http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"9"}}, now))
	require.Equal(t, "r1", adapter.RequestID(http.Header{"Request-Id": {"r1"}}))
}

func TestKeyIsNeverPrinted(t *testing.T) {
	s := adapter.NewSecret("sk-very-secret", nil)
	require.True(t, s.IsSet)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", s, s, s), "very")
	require.Equal(t, "bad key [redacted]", s.Redact("bad key sk-very-secret"))
	h := http.Header{}
	s.Authorize(h)
	require.Equal(t, "Bearer sk-very-secret", h.Get("Authorization"))

	none := adapter.NewSecret("", nil)
	none.Authorize(http.Header{})
	require.False(t, none.IsSet)
	require.Equal(t, "none", adapter.NewSecret("none", nil).Redact("none"))

	e := adapter.TransportError(model.Info{Provider: "p", Name: "m"}, "https://example.com", errors.New("refused sk-very-secret"), s.Redact)
	require.True(t, e.Retryable)
	require.False(t, strings.Contains(e.Message, "very"), e.Message)
}

func TestPatienceHasDefaults(t *testing.T) {
	require.Equal(t, model.Timeouts{FirstByte: 10 * time.Minute, Idle: 5 * time.Minute, Stall: 30 * time.Minute}, adapter.Timeouts(model.Timeouts{}))
	require.Equal(t, model.Timeouts{}, adapter.Timeouts(model.Timeouts{Total: -1, FirstByte: -1, Idle: -1, Stall: -1}))
	require.Equal(t, model.RetryPolicy{Attempts: 3, Base: 500 * time.Millisecond, Max: 30 * time.Second, Total: 2 * time.Minute}, adapter.RetryPolicy(model.RetryPolicy{}))
	require.Equal(t, model.RetryPolicy{Attempts: 1, Base: 2, Max: 3, Total: 4}, adapter.RetryPolicy(model.RetryPolicy{Attempts: 1, Base: 2, Max: 3, Total: 4}))
	require.Empty(t, adapter.NegativeRetry(&model.RetryPolicy{}))
	for field, r := range map[string]model.RetryPolicy{"Attempts": {Attempts: -1}, "Base": {Base: -1}, "Max": {Max: -1}, "Total": {Total: -1}} {
		require.Equal(t, field, adapter.NegativeRetry(&r))
	}
}

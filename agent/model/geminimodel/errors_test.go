// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
)

var errorCases = map[string]struct {
	answer
	want model.APIError
	is   error
}{
	"a key that is wrong": {
		answer{Status: 400, Body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT",` +
			`"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`},
		model.APIError{Status: 400, Code: "INVALID_ARGUMENT", Type: "API_KEY_INVALID", Message: "API key not valid. Please pass a valid API key."},
		model.ErrAuth,
	},
	"a key that may not": {
		answer{Status: 403, Body: `{"error":{"code":403,"message":"Permission denied","status":"PERMISSION_DENIED"}}`},
		model.APIError{Status: 403, Code: "PERMISSION_DENIED", Message: "Permission denied"},
		model.ErrAuth,
	},
	"too many requests this minute": {
		answer{Status: 429, Body: `{"error":{"code":429,"message":"You exceeded your quota","status":"RESOURCE_EXHAUSTED","details":[` +
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]},` +
			`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`},
		model.APIError{Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "You exceeded your quota", Retryable: true, RetryAfter: 34500 * time.Millisecond},
		model.ErrRateLimited,
	},
	"too many requests today": {
		answer{Status: 429, Body: `{"error":{"code":429,"message":"You exceeded your quota","status":"RESOURCE_EXHAUSTED","details":[` +
			`{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`},
		model.APIError{Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "You exceeded your quota"},
		model.ErrRateLimited,
	},
	"too long": {
		answer{Status: 400, Body: `{"error":{"code":400,"message":"The input token count (1048590) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`},
		model.APIError{Status: 400, Code: "INVALID_ARGUMENT", Message: "The input token count (1048590) exceeds the maximum number of tokens allowed (1048575)."},
		model.ErrContextLength,
	},
	"in an array": {
		answer{Status: 503, Header: map[string]string{"Retry-After": "3"}, Body: `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`},
		model.APIError{Status: 503, Code: "UNAVAILABLE", Message: "The model is overloaded.", Retryable: true, RetryAfter: 3 * time.Second},
		nil,
	},
	"a word": {
		answer{Status: 500, Body: `{"error":"upstream"}`}, model.APIError{Status: 500, Message: "upstream", Retryable: true}, nil,
	},
	"a page": {
		answer{Status: 502, Body: "<html><title>Bad\nGateway</title></html>"},
		model.APIError{Status: 502, Message: "an HTML page: Bad\nGateway", Retryable: true}, nil,
	},
	"nothing": {answer{Status: 400}, model.APIError{Status: 400, Message: "an empty body"}, nil},
	"the key": {
		answer{Status: 401, Body: `{"error":{"message":"the key ` + testKey + ` is unknown","status":"` + testKey + `"}}`},
		model.APIError{Status: 401, Code: "[redacted]", Message: "the key [redacted] is unknown"}, model.ErrAuth,
	},
}

func TestErrorsContainTheEndpointsMessage(t *testing.T) {
	for name, test := range errorCases {
		t.Run(name, func(t *testing.T) {
			test.answer.Header = mergeHeader(test.answer.Header, "X-Request-Id", "req-1")
			for _, sink := range []model.Sink{nil, func(model.Delta) error { t.Error("the sink was called"); return nil }} {
				_, err := newModel(t, serve(t, test.answer).URL).Generate(context.Background(), hello(), sink)
				got := *apiError(t, err)
				for _, identity := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength} {
					require.Equal(t, identity == test.is, errors.Is(err, identity), "%v", identity)
				}
				want := test.want
				want.Provider, want.Model, want.RequestID, want.Err = "google", "test-model", "req-1", got.Err
				require.Equal(t, want, got)
			}
		})
	}
}

func mergeHeader(header map[string]string, name, value string) map[string]string {
	merged := map[string]string{name: value}
	for k, v := range header {
		merged[k] = v
	}
	return merged
}

func TestWrongBaseURLIsNamed(t *testing.T) {
	e := serve(t, answer{Status: 404, Body: "404 page not found"})
	_, err := newModel(t, e.URL).Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "404 page not found (is Config.BaseURL right? it is "+e.URL)
	e = serve(t, answer{Body: "<html><title>Welcome</title>"})
	_, err = newModel(t, e.URL).Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "an HTML page: Welcome (is Config.BaseURL right?")
	gone := serve(t, answer{})
	gone.Close()
	_, err = newModel(t, gone.URL).Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "nothing listens at "+gone.URL)
	require.True(t, apiError(t, err).Retryable)
}

// What a proxy or another server says in place of an answer is not hidden by the lack of one.
func TestForeignAnswersAreQuoted(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail":"not here"}`: `is no response of Gemini's but {"detail":"not here"}`,
		`{"success":false}`:     `is no response of Gemini's but {"success":false}`,
		`{"candidates":[]}`:     "", `{}`: "",
	} {
		for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
			_, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(t.Context(), hello(), sink)
			require.ErrorContains(t, err, want)
			e := apiError(t, err)
			require.True(t, e.Retryable)
			require.Equal(t, want == "", e.Message == "", "%s: %v", body, err)
		}
	}
	for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
		for _, body := range []string{`"busy"`, "busy"} {
			_, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(t.Context(), hello(), sink)
			require.ErrorContains(t, err, `is no response of Gemini's but `+body)
		}
	}
}

func TestErrorWithinAStream(t *testing.T) {
	object := `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
	begin := events(chunk("", `{"text":"a"}`))
	for name, body := range map[string]string{
		"in an event":     begin + events(object),
		"as bare JSON":    begin + object,
		"in lines":        begin + "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"The model is overloaded.\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n",
		"without a code":  begin + events(`{"error":{"message":"The model is overloaded.","status":"UNAVAILABLE"}}`),
		"and then a part": begin + events(object, chunk("STOP", `{"text":"b"}`)),
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, answer{Body: body})
			text := ""
			m := newModel(t, e.URL, func(c *geminimodel.Config) { c.Retry.Attempts = 3 })
			_, err := m.Generate(context.Background(), hello(), func(d model.Delta) error { text += d.Text; return nil })
			failed := apiError(t, err)
			require.Equal(t, "The model is overloaded.", failed.Message)
			require.Equal(t, 503, failed.Status)
			require.True(t, failed.Retryable)
			require.Equal(t, "a", text)
			require.Equal(t, 1, e.Count(), "the stream is not restarted")
		})
	}
}

func TestTruncatedResponses(t *testing.T) {
	whole := chunk("STOP", `{"text":"hello"}`)
	for name, body := range map[string]string{
		"before anything":    "",
		"within an event":    events(chunk("", `{"text":"a"}`)) + "data: " + whole[:40],
		"within bare JSON":   whole[:40],
		"between two events": events(chunk("", `{"text":"a"}`), chunk("", `{"text":"b"}`)),
		"after usage alone":  events(`{"usageMetadata":{"promptTokenCount":1}}`),
	} {
		for _, cut := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				_, err := stream(t, newModel(t, serve(t, answer{Body: body, Cut: cut}).URL), hello())
				require.True(t, apiError(t, err).Retryable)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			})
		}
	}
	for _, body := range []string{"", whole[:40], " "} {
		_, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(context.Background(), hello(), nil)
		require.True(t, apiError(t, err).Retryable)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}

func TestInvalidResponses(t *testing.T) {
	for name, test := range map[string]struct {
		body      string
		retryable bool
		want      string
	}{
		"no candidates":          {`{"candidates":[]}`, true, "no candidate"},
		"an empty candidate":     {`{"candidates":[{}]}`, true, "no candidate"},
		"an empty object":        {`{}`, true, "no candidate"},
		"no JSON":                {`{"candidates":[}]}`, false, "not valid for the API"},
		"a wrong type":           {`{"candidates":7}`, false, "not valid for the API"},
		"a part of a wrong type": {chunk("STOP", `{"text":7}`), false, "not valid for the API"},
		"a signature":            {chunk("STOP", `{"text":"a","thoughtSignature":"!"}`), false, "not valid for the API"},
		"a call without a name":  {chunk("STOP", `{"functionCall":{"args":{}}}`), false, "no name"},
		"a call in pieces":       {chunk("STOP", `{"functionCall":{"name":"f","willContinue":true}}`), false, "in pieces"},
		"a call it could not make": {
			`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print("}]}`, true,
			"MALFORMED_FUNCTION_CALL",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				_, err := newModel(t, serve(t, answer{Body: test.body}).URL).Generate(context.Background(), hello(), sink)
				failed := apiError(t, err)
				require.Equal(t, test.retryable, failed.Retryable, err)
				if sink == nil {
					require.ErrorContains(t, err, test.want)
				}
				require.Equal(t, 200, failed.Status)
			}
		})
	}
}

func TestRetryableErrorsAreRetried(t *testing.T) {
	good := answer{Body: chunk("STOP", `{"text":"ok"}`)}
	for name, bad := range map[string]answer{
		"unavailable":         {Status: 503},
		"no candidate":        {Body: `{}`},
		"a broken answer":     {Body: `{"cand`},
		"a malformed call":    {Body: `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`},
		"a broken connection": {Body: `{"cand`, Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, bad, good)
			m := newModel(t, e.URL, func(c *geminimodel.Config) { c.Retry = model.RetryPolicy{Base: time.Microsecond} })
			msg, err := m.Generate(context.Background(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, "ok", msg.Text())
			require.Equal(t, 2, e.Count())
			_, sent := e.Last()
			require.Equal(t, e.Bodies[0], sent)
		})
	}
	e := serve(t, answer{Status: 400}, good)
	m := newModel(t, e.URL, func(c *geminimodel.Config) { c.Retry = model.RetryPolicy{Base: time.Microsecond} })
	_, err := m.Generate(context.Background(), hello(), nil)
	require.Equal(t, http.StatusBadRequest, apiError(t, err).Status)
}

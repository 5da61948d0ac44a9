// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// A response is an answer if its status is one of those from 200 to 299, and an error otherwise.
func TestStatusesOfAnswers(t *testing.T) {
	for _, status := range []int{200, 201, 298, 299} {
		got, err := newModel(t, serve(t, answer{Status: status, Body: whole(`"content":"Hi."`)}).URL, "openai").Generate(t.Context(), hello(), nil)
		require.NoError(t, err, status)
		require.Equal(t, []model.Part{model.Text("Hi.")}, got.Parts, status)
	}
	for status, want := range map[int]string{300: "Busy.", 399: "Busy.", 400: "Busy.", 499: "Busy."} {
		for _, body := range []string{`"Busy."`, `{"error":"Busy."}`, `{"error":{"message":"Busy."}}`, `{"detail":"Busy."}`, `[{"error":{"message":"Busy."}}]`} {
			_, err := newModel(t, serve(t, answer{Status: status, Body: body}).URL, "openai").Generate(t.Context(), hello(), nil)
			e := apiError(t, err)
			require.Equal(t, status, e.Status, body)
			require.Equal(t, want, e.Message, body)
		}
	}
	// With a status of success, only an object is taken for what the server says of an error.
	for _, status := range []int{200, 299} {
		_, err := newModel(t, serve(t, answer{Status: status, Body: `"Busy."`}).URL, "openai").Generate(t.Context(), hello(), nil)
		require.NotEqual(t, "Busy.", apiError(t, err).Message)
		_, err = newModel(t, serve(t, answer{Status: status, Body: `{"error":"Busy."}`}).URL, "openai").Generate(t.Context(), hello(), nil)
		require.Equal(t, "Busy.", apiError(t, err).Message)
	}
}

// A number in an error is its status, if it is the status of an error and the server's own is none.
func TestStatusesWithinErrors(t *testing.T) {
	for code, want := range map[string]struct {
		status int
		code   string
	}{"399": {200, "399"}, "400": {400, ""}, "401": {401, ""}, "599": {599, ""}, "600": {200, "600"}} {
		_, err := newModel(t, serve(t, answer{Status: 200, Body: `{"error":{"message":"No.","code":` + code + `}}`}).URL, "openai").Generate(t.Context(), hello(), nil)
		e := apiError(t, err)
		require.Equal(t, want.status, e.Status, code)
		require.Equal(t, want.code, e.Code, code)
	}
	for status, want := range map[int]int{399: 500, 400: 400, 401: 401} {
		_, err := newModel(t, serve(t, answer{Status: status, Body: `{"error":{"message":"No.","code":500}}`}).URL, "openai").Generate(t.Context(), hello(), nil)
		require.Equal(t, want, apiError(t, err).Status)
	}
}

// The text of an error may be wrapped in texts and lists, up to eight times.
func TestErrorsWithinErrors(t *testing.T) {
	for n := 0; n <= 9; n++ {
		body := `{"message":"No."}`
		for range n {
			body = "[" + body + "]"
		}
		message, _, _, ok := openaimodel.ParseErrorBody([]byte(body))
		require.Equal(t, n < 8, ok, n)
		if ok {
			require.Equal(t, "No.", message)
		}
	}
	for _, body := range []string{"", " ", "[]", "[null]", `""`, "{}", "7", "null", "[7]", `{"detail":""}`, `{"error":[]}`} {
		_, _, _, ok := openaimodel.ParseErrorBody([]byte(body))
		require.False(t, ok, "%q", body)
	}
	for body, want := range map[string]string{
		`{"detail":7}`: "7", `{"detail":[1]}`: "[1]", `{"detail":"d"}`: "d", `{"message":"m","detail":"d"}`: "m", `"{\"message\":\"m\"}"`: "m", `"{m"`: "{m",
		`{"message":"m","metadata":{"raw":"x"}}`: "m: x", `{"message":"m","metadata":{"raw":"{\"message\":\"n\"}"}}`: "m: n", `{"errors":[{"message":"m"}]}`: "m",
	} {
		message, _, _, ok := openaimodel.ParseErrorBody([]byte(body))
		require.True(t, ok, body)
		require.Equal(t, want, message, body)
	}
}

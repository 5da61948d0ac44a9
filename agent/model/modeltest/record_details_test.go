// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// JSON in a request is the same however its markup is escaped, and a file shows it without escapes.
func TestRecordingsShowMarkupAsItIs(t *testing.T) {
	ask := func(schema, extra string) *model.Request {
		req := recAsk("<b> & \u2028")
		req.Instructions = "<i>"
		req.Tools = []model.ToolDef{{Name: "t", Schema: json.RawMessage(schema)}}
		req.Output = &model.OutputSchema{Name: "o", Schema: json.RawMessage(schema)}
		req.Settings = &model.Settings{ExtraBody: map[string]json.RawMessage{"k": json.RawMessage(extra)}}
		return req
	}
	const escaped, plain = `{"d":"\u003ca\u003e\u0026\\u003c\\\u003c"}`, `{ "d" : "<a>&\\u003c\\<" }`
	text, replay := record(t, modeltest.Script(modeltest.SayText("<said> &"), modeltest.SayText("<said> &")), func(m model.Model) {
		_, _, err := deltas(t, m, ask(escaped, `["\u003c"]`))
		require.NoError(t, err)
		generate(t, m, ask(plain, `[ "<" ]`))
	})
	require.Equal(t, 4, strings.Count(text, `"d": "<a>&\\u003c\\<"`), text)
	require.NotContains(t, text, `"\u003c`)
	require.Contains(t, text, `{"part":0,"kind":"text","text":"<said> "},`)
	require.Equal(t, 2, replay.Left())
	require.Equal(t, "<said> &", generate(t, replay, ask(plain, `["\u003c"]`)).Text())
	require.Equal(t, "<said> &", generate(t, replay, ask(escaped, `["<"]`)).Text())
	require.Zero(t, replay.Left())
	require.ErrorContains(t, recFailure(t, replay, ask(`{"d":"\u003cc\u003e"}`, `[]`)), `tools[0].schema: recorded "{\"d\":\"<a>&\\\\u003c\\\\<\"}", now "{\"d\":\"<c>\"}"`)
}

// A request follows the latest of the exchanges that its history may come from, and names only what is new.
func TestRequestsFollowTheLatestExchange(t *testing.T) {
	ask := func(instructions string, texts ...string) *model.Request {
		req := &model.Request{Instructions: instructions}
		for _, text := range texts {
			req.Messages = append(req.Messages, model.UserText(text))
		}
		return req
	}
	boom := modeltest.Fail(errRecBoom)
	text, replay := record(t, modeltest.Script(boom, boom, boom, boom, boom, boom), func(m model.Model) {
		for _, req := range []*model.Request{ask("A", "first"), ask("B", "first"), ask("B", "first", "second"), ask("A", "other"), ask("B", "first", "second", "third"), ask("C", "first", "second")} {
			recFailure(t, m, req)
		}
	})
	var file struct {
		Exchanges []struct {
			Request struct {
				After    int
				Frame    *struct{ Instructions string }
				Messages []any
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &file))
	var got [][3]any
	for _, x := range file.Exchanges {
		frame := ""
		if x.Request.Frame != nil {
			frame = x.Request.Frame.Instructions
		}
		got = append(got, [3]any{x.Request.After, frame, len(x.Request.Messages)})
	}
	require.Equal(t, [][3]any{{0, "A", 1}, {1, "B", 0}, {2, "", 1}, {0, "A", 1}, {3, "", 1}, {3, "C", 0}}, got)
	require.Equal(t, 6, replay.Left())
	require.EqualError(t, recFailure(t, replay, ask("C", "first", "second")), "boom")
	require.EqualError(t, recFailure(t, replay, ask("B", "first")), "boom")
	require.Equal(t, 4, replay.Left())
}

// An error is recorded with what it has, and with nothing else.
func TestRecordedErrorsHaveWhatTheErrorsHad(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errRecBoom, `{"message":"boom"}`},
		{&model.APIError{}, `{"message":"error: no details","api":{}}`},
		{&model.APIError{Provider: "p", RetryAfter: time.Nanosecond}, `{"message":"p: error: no details","api":{"provider":"p","retry_after":"1ns"}}`},
		{&model.APIError{Model: "m", Status: 500, Retryable: true, Err: errRecBoom}, ``},
	} {
		text, replay := record(t, modeltest.Script(modeltest.Fail(c.err)), func(m model.Model) { recFailure(t, m, recAsk("go")) })
		var file struct {
			Exchanges []struct{ Error json.RawMessage }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &file))
		var got map[string]any
		require.NoError(t, json.Unmarshal(file.Exchanges[0].Error, &got))
		require.Equal(t, c.err.Error(), got["message"])
		if api, ok := got["api"].(map[string]any); ok {
			_, has := api["retry_after"]
			require.Equal(t, c.err.(*model.APIError).RetryAfter != 0, has, text) //nolint:errorlint // it is one
			_, has = api["cause"]
			require.Equal(t, c.err.(*model.APIError).Err != nil, has, text) //nolint:errorlint // it is one
			require.Nil(t, got["is"])
		}
		require.EqualError(t, recFailure(t, replay, recAsk("go")), c.err.Error())
	}
}

// The directory and the file of a recording may be read by all who may read others.
func TestRecordingsHaveTheUsualPermissions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b", "x.json")
	require.NoError(t, modeltest.Record(modeltest.Auto(), file).Close())
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "c"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "y"), nil, 0o644))
	for a, b := range map[string]string{"a": "c", filepath.Join("a", "b"): "c", filepath.Join("a", "b", "x.json"): "y"} {
		got, err := os.Stat(filepath.Join(dir, a))
		require.NoError(t, err)
		want, err := os.Stat(filepath.Join(dir, b))
		require.NoError(t, err)
		require.Equal(t, want.Mode().Perm(), got.Mode().Perm(), a)
	}
}

// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

func TestErrorAnswersMatchTheGoldenFile(t *testing.T) {
	wrapped := func(inner string) string { return `{"type":"error","error":` + inner + `,"request_id":"r"}` }
	padded := func(n int) string {
		head, tail := `{"error":{"message":"m"}`, `}`
		return head + strings.Repeat(" ", n-len(head)-len(tail)) + tail
	}
	head := func(pairs ...string) map[string]string {
		header := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			header[pairs[i]] = pairs[i+1]
		}
		return header
	}
	cases := map[string]answer{
		"nothing":                             {Status: 500},
		"a redirect that leads nowhere":       {Status: 304},
		"above success":                       {Status: 300, Body: wrapped(`{"type":"overloaded_error","message":"m"}`)},
		"a success that is none":              {Status: 299, Body: wrapped(`{"type":"overloaded_error","message":"m"}`)},
		"a status below errors":               {Status: 399, Body: wrapped(`{"type":"overloaded_error","message":"m"}`)},
		"a status that overrules its type":    {Status: 400, Body: wrapped(`{"type":"overloaded_error","message":"m"}`)},
		"a word":                              {Status: 500, Body: wrapped(`"word"`)},
		"an error without the outer object":   {Status: 400, Body: `{"type":"invalid_request_error","message":"m"}`},
		"a detail":                            {Status: 400, Body: `{"detail":"d"}`},
		"a detail within":                     {Status: 400, Body: wrapped(`{"detail":"d"}`)},
		"a message and a detail":              {Status: 400, Body: wrapped(`{"message":"m","detail":"d"}`)},
		"an error that is empty":              {Status: 400, Body: `{"error":{}}`},
		"an error of null":                    {Status: 400, Body: `{"error":null,"message":"m"}`},
		"an error of a number":                {Status: 400, Body: `{"error":7}`},
		"an error of a number, and a message": {Status: 400, Body: `{"error":7,"message":"m"}`},
		"members of wrong types":              {Status: 400, Body: wrapped(`{"type":7,"message":"m"}`)},
		"what a provider said":                {Status: 400, Body: `{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"inner\"}}"}}}`},
		"what a provider said in words":       {Status: 400, Body: `{"error":{"message":"Provider returned error","metadata":{"raw":"busy"}}}`},
		"text":                                {Status: 400, Body: "no"},
		"a page":                              {Status: 404, Body: "<html><title>Gone</title></html>"},
		"a request id in the header":          {Status: 400, Body: wrapped(`{"message":"m"}`), Header: head("Request-Id", "head")},
		"a long request id":                   {Status: 400, Body: wrapped(`{"message":"m"}`), Header: head("Request-Id", strings.Repeat("i", 201))},
		"a request id that just fits":         {Status: 400, Body: wrapped(`{"message":"m"}`), Header: head("Request-Id", strings.Repeat("i", 200))},
		"a long type":                         {Status: 400, Body: wrapped(`{"type":"` + strings.Repeat("t", 201) + `","message":"m"}`)},
		"a type that just fits":               {Status: 400, Body: wrapped(`{"type":"` + strings.Repeat("t", 200) + `","message":"m"}`)},
		"a wait":                              {Status: 429, Body: wrapped(`{"type":"rate_limit_error","message":"m"}`), Header: head("Retry-After", "7")},
		"advice to retry":                     {Status: 400, Body: wrapped(`{"message":"m"}`), Header: head("X-Should-Retry", "true")},
		"advice not to retry":                 {Status: 500, Body: wrapped(`{"message":"m"}`), Header: head("X-Should-Retry", "false")},
		"other advice":                        {Status: 500, Body: wrapped(`{"message":"m"}`), Header: head("X-Should-Retry", "maybe")},
		"the key":                             {Status: 401, Body: wrapped(`{"type":"` + testKey + `","message":"` + testKey + `"}`), Header: head("Request-Id", testKey)},
		"too long":                            {Status: 400, Body: wrapped(`{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}`)},
		"the longest message":                 {Status: 400, Body: wrapped(`{"message":"` + strings.Repeat("m", 2000) + `"}`)},
		"a longer message":                    {Status: 400, Body: wrapped(`{"message":"` + strings.Repeat("m", 2001) + `"}`)},
		"the longest body":                    {Status: 400, Body: padded(64 << 10)},
		"a longer body":                       {Status: 400, Body: padded(64<<10 + 1)},
	}
	for _, status := range []int{400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 499, 500, 501, 502, 503, 504, 529} {
		cases[fmt.Sprint("status ", status)] = answer{Status: status, Body: wrapped(`{"message":"m"}`)}
	}
	for _, kind := range []string{
		"invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error", "request_too_large", "rate_limit_error",
		"api_error", "timeout_error", "overloaded_error", "other_error",
	} {
		cases["within an answer, "+kind] = answer{Body: wrapped(`{"type":"` + kind + `","message":"m"}`)}
		cases["with a status, "+kind] = answer{Status: 418, Body: wrapped(`{"type":"` + kind + `","message":"m"}`)}
	}
	var told story
	for name, a := range sorted(cases) {
		told.ways(name, []string{"whole", "streamed"}, func(way string) []string {
			return outcome(t, inMemory(t, nil, nil, a), hello(), way == "streamed")
		})
	}
	keyless := func(c *anthropicmodel.Config) { c.APIKey = "" }
	told.tell("no key", outcome(t, inMemory(t, nil, keyless, answer{Status: 401, Body: wrapped(`{"message":"m"}`)}), hello(), false)...)
	told.tell("no key and no message", outcome(t, inMemory(t, nil, keyless, answer{Status: 401, Body: wrapped(`{"type":"t"}`)}), hello(), false)...)
	told.tell("no key, forbidden", outcome(t, inMemory(t, nil, keyless, answer{Status: 403, Body: wrapped(`{"message":"m"}`)}), hello(), false)...)
	token := func(c *anthropicmodel.Config) { c.APIKey, c.AuthToken = "", "token-0123456789" }
	told.tell("a token", outcome(t, inMemory(t, nil, token, answer{Status: 401, Body: wrapped(`{"message":"token-0123456789"}`)}), hello(), false)...)
	told.compare(t, "errors.txt")
}

// TestSizesOfAnswersAreBound checks that 10,000 blocks are taken, and one more is not.
func TestSizesOfAnswersAreBound(t *testing.T) {
	of := func(n int) string { return whole(strings.TrimSuffix(strings.Repeat(`{"type":"x"},`, n), ",")) }
	for _, streamed := range []bool{false, true} {
		got := outcome(t, inMemory(t, nil, nil, answer{Body: of(10_000)}), hello(), streamed)
		if n := strings.Count(strings.Join(got, ""), `"opaque"`); n != 10_000 {
			t.Errorf("%d blocks: %.300s", n, got)
		}
		got = outcome(t, inMemory(t, nil, nil, answer{Body: of(10_001)}), hello(), streamed)
		want := "error: model: anthropic claude-haiku-4-5: HTTP 200 OK: the response is longer than 64 MiB, or has more than 10000 blocks\n" +
			`  of anthropic claude-haiku-4-5, status 200, code "", type "", request "", retryable false, after 0s`
		if got[0] != want {
			t.Errorf("%.300s", got)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestErrorAnswersMatchTheGoldenFile(t *testing.T) {
	object := func(code, status, more string) string {
		return `{"error":{"code":` + code + `,"status":"` + status + `","message":"m"` + more + `}}`
	}
	type failing struct {
		name string
		answer
	}
	cases := []failing{
		{"nothing", answer{Status: 500}},
		{"a redirect that leads nowhere", answer{Status: 304}},
		{"a success that is none", answer{Status: 299, Body: `{"error":{"code":503,"message":"m"}}`}},
		{"just above success", answer{Status: 300, Body: `{"error":{"code":503,"message":"m"}}`}},
		{"its own code below errors", answer{Body: object("399", "UNAVAILABLE", "")}},
		{"its own least code", answer{Body: object("400", "UNAVAILABLE", "")}},
		{"its own greatest code", answer{Body: object("599", "", "")}},
		{"its own code above errors", answer{Body: object("600", "NOT_FOUND", "")}},
		{"a status that overrules its code", answer{Status: 400, Body: object("503", "UNAVAILABLE", "")}},
		{"a status that is not an error", answer{Status: 399, Body: object("503", "UNAVAILABLE", "")}},
		{"an empty object", answer{Status: 400, Body: `{"error":{}}`}},
		{"an empty word", answer{Status: 400, Body: `{"error":""}`}},
		{"a list of nothing", answer{Status: 400, Body: `[]`}},
		{"a list with the error second", answer{Status: 400, Body: `[{},{"error":{"message":"second"}}]`}},
		{"a list of two errors", answer{Status: 400, Body: `[{"error":{"message":"first"}},{"error":{"message":"second"}}]`}},
		{"white space around", answer{Status: 400, Body: " \n" + object("400", "", "") + "\n"}},
		{"a code alone", answer{Status: 400, Body: `{"error":{"code":400}}`}},
		{"a status alone", answer{Status: 400, Body: `{"error":{"status":"ABORTED"}}`}},
		{"a wrong type", answer{Status: 400, Body: `{"error":{"code":"x","message":"m","status":7}}`}},
		{"a list as the error", answer{Status: 400, Body: `{"error":[1]}`}},
		{"a number as the error", answer{Status: 400, Body: `{"error":7}`}},
		{"null as the error", answer{Status: 400, Body: `{"error":null}`}},
		{"no error", answer{Status: 400, Body: `{"message":"m"}`}},
		{"text", answer{Status: 400, Body: `no`}},
		{"a page", answer{Status: 404, Body: `<html><title>Gone</title></html>`, Header: map[string]string{"Content-Type": "text/html"}}},
		{"a request id", answer{Status: 400, Body: object("400", "", ""), Header: map[string]string{"X-Request-Id": "r-" + testKey}}},
		{"a wait in the header", answer{Status: 429, Body: object("429", "", `,"details":[{"retryDelay":"7s"}]`), Header: map[string]string{"Retry-After": "3"}}},
		{"a wait in the details", answer{Status: 429, Body: object("429", "", `,"details":[{"retryDelay":"7.5s"},{"retryDelay":"9s"}]`)}},
		{"a wait of the past", answer{Status: 429, Body: object("429", "", `,"details":[{"retryDelay":"-7s"}]`)}},
		{"a wait that is none", answer{Status: 429, Body: object("429", "", `,"details":[{"retryDelay":"soon"},{"retryDelay":"2s"}]`)}},
		{"reasons", answer{Status: 400, Body: object("400", "", `,"details":[{},{"reason":"FIRST"},{"reason":"SECOND"}]`)}},
		{"a key in the reason", answer{Status: 400, Body: object("400", "", `,"details":[{"reason":"`+testKey+`"}]`)}},
		{"a wrong key", answer{Status: 400, Body: object("400", "INVALID_ARGUMENT", `,"details":[{"reason":"API_KEY_INVALID"}]`)}},
		{"the quota of a day", answer{Status: 429, Body: object("429", "RESOURCE_EXHAUSTED", `,"details":[{"violations":[{"quotaId":"RequestsPerMinute"},{"quotaId":"RequestsPerDayPerProject"}]}]`)}},
		{"the quota of a day, and then another", answer{Status: 429, Body: object("429", "RESOURCE_EXHAUSTED", `,"details":[{"violations":[{"quotaId":"RequestsPerDay"}]},{"violations":[{"quotaId":"PerMinute"}]}]`)}},
		{"the quota of a minute", answer{Status: 429, Body: object("429", "RESOURCE_EXHAUSTED", `,"details":[{"violations":[{"quotaId":"RequestsPerMinute"}]}]`)}},
		{"the longest message", answer{Status: 400, Body: `{"error":{"message":"` + strings.Repeat("m", 2000) + `"}}`}},
		{"a longer message", answer{Status: 400, Body: `{"error":{"message":"` + strings.Repeat("m", 2001) + `"}}`}},
		{"the longest body", answer{Status: 400, Body: `{"error":{"message":"m"}` + strings.Repeat(" ", 64<<10-len(`{"error":{"message":"m"}}`)) + `}`}},
		{"a longer body", answer{Status: 400, Body: `{"error":{"message":"m"}` + strings.Repeat(" ", 64<<10-len(`{"error":{"message":"m"}}`)+1) + `}`}},
	}
	for _, status := range []int{400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 499, 500, 501, 502, 503, 504, 529} {
		cases = append(cases, failing{fmt.Sprint("status ", status), answer{Status: status, Body: `{"error":{"message":"m"}}`}})
	}
	for _, status := range []string{
		"INVALID_ARGUMENT", "FAILED_PRECONDITION", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "ABORTED", "RESOURCE_EXHAUSTED",
		"CANCELLED", "INTERNAL", "UNKNOWN", "UNIMPLEMENTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "OUT_OF_RANGE",
	} {
		cases = append(cases, failing{"within an answer, " + status, answer{Body: `{"error":{"message":"m","status":"` + status + `"}}`}})
	}
	var told story
	for _, test := range cases {
		told.ways(test.name, []string{"whole", "streamed"}, func(way string) []string {
			return outcome(t, inMemory(t, test.answer, nil), hello(), way == "streamed")
		})
	}
	told.compare(t, "errors.txt")
}

// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

// rules has each kind of rule, and models whose price is the number of their line.
const rules = `{"source":"none"}
{"provider":"first","match":{"contains":"rst"}}
{"match":"exact","prices":[{"input":1}]}
{"match":{"starts_with":"start"},"prices":[{"input":2}]}
{"match":{"ends_with":"end"},"prices":[{"input":3}]}
{"match":{"contains":"mid"},"prices":[{"input":4}]}
{"match":{"regex":"^r[0-9]+x$"},"prices":[{"input":5}]}
{"match":["one",{"starts_with":"two"}],"prices":[{"input":6}]}
{"match":{"and":[{"starts_with":"both"},{"contains":"z"}]},"prices":[{"input":7}]}
{"match":{"starts_with":"from"},"prices":[{"input":8},{"input":8.1,"from":"2026-02-03"},{"input":8.2,"from":"2026-03-01"}]}
{"match":"daily","prices":[{"input":9},{"input":9.1,"daily":["08:00:00","09:30:00"]},{"input":9.2,"daily":["22:00:00","02:00:00"]}]}
{"match":"hidden","prices":[{"unknown":true}]}
{"match":"only-later","prices":[{"input":10,"from":"2026-02-03"}]}
{"match":"dated-2026-01-31","prices":[{"input":11}]}
{"provider":"second","match":{"and":[{"starts_with":"se"},{"not":{"contains":"x"}}]},"fallback":["nobody","first"]}
{"match":"exact","prices":[{"input":20}]}
{"provider":"third","fallback":["second"]}
{"match":{"and":[]},"prices":[{"input":30}]}
{"provider":"fourth","fallback":["second"]}
{"match":[],"prices":[{"input":40}]}
`

func TestRulesOfPricesMatchNames(t *testing.T) {
	require.NoError(t, modelwrap.UsePrices(t, rules))
	at := func(s string) time.Time {
		when, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", s)
		require.NoError(t, err)
		return when
	}
	noon := "2026-01-15 12:00:00 +0000"
	for _, c := range []struct {
		provider, model, at string
		want                float64 // 0 for none
	}{
		{"first", "exact", noon, 1}, {" FIRST ", "EXACT", noon, 1}, {"first", "exactly", noon, 0}, {"first", "start", noon, 2}, {"first", "starting", noon, 2}, {"first", "a-start", noon, 0}, {"first", "the-end", noon, 3}, {"first", "ending", noon, 0},
		{"first", "a-mid-b", noon, 4}, {"first", "r12x", noon, 5}, {"first", "r12xy", noon, 0}, {"first", "one", noon, 6}, {"first", "two-b", noon, 6}, {"first", "both", noon, 0}, {"first", "both-z", noon, 7}, {"first", "z", noon, 0},
		{"worst", "exact", noon, 1}, {"second", "exact", noon, 20}, {"second", "one", noon, 6}, {"second", "none", noon, 0}, {"secret", "exact", noon, 20}, {"sex", "exact", noon, 0}, {"nobody", "exact", noon, 0}, {"", "exact", noon, 0},
		{"third", "anything", noon, 30}, {"fourth", "exact", noon, 20}, {"fourth", "one", noon, 0},
		{"first", "from", "2026-02-02 23:59:59.999999999 +0000", 8}, {"first", "from", "2026-02-03 00:00:00 +0000", 8.1}, {"first", "from", "2026-02-03 00:30:00 +0100", 8}, {"first", "from", "2026-02-28 23:59:59 +0000", 8.1}, {"first", "from", "2026-03-01 00:00:00 +0000", 8.2}, {"first", "from", "2027-01-01 00:00:00 +0000", 8.2},
		{"first", "daily", noon, 9}, {"first", "daily", "2026-01-15 07:59:59.999999999 +0000", 9}, {"first", "daily", "2026-01-15 08:00:00 +0000", 9.1}, {"first", "daily", "2026-01-15 09:29:59.999999999 +0000", 9.1}, {"first", "daily", "2026-01-15 09:30:00 +0000", 9},
		{"first", "daily", "2026-01-15 21:59:59.999999999 +0000", 9}, {"first", "daily", "2026-01-15 22:00:00 +0000", 9.2}, {"first", "daily", "2026-01-16 00:00:00 +0000", 9.2}, {"first", "daily", "2026-01-16 01:59:59.999999999 +0000", 9.2}, {"first", "daily", "2026-01-16 02:00:00 +0000", 9}, {"first", "daily", "2026-01-15 23:30:00 +0200", 9},
		{"first", "hidden", noon, 0}, {"first", "only-later", noon, 10}, {"first", "only-later", "2026-02-03 00:00:00 +0000", 10},
		{"first", "dated-20260131", noon, 11}, {"first", "dated-2026-01-31", noon, 11}, {"first", "dated-20260132", noon, 0}, {"first", "dated-202601311", noon, 0}, {"first", "from-20261301-20260131", noon, 8},
	} {
		price, ok := modelwrap.ListPrices().Price(c.provider, c.model, at(c.at))
		require.Equal(t, c.want != 0, ok, "%v", c)
		require.InDelta(t, c.want, price.Input, 0, "%v", c)
	}
}

func TestMistakesInPricesAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		`{"match":"a","prices":[{"input":1}]}`:                "a model without a rule, a price or a provider: LINE",
		"{\"provider\":\"p\"}\n" + `{"match":"a"}`:            `a model without a rule, a price or a provider: {"match":"a"}`,
		"{\"provider\":\"p\"}\n" + `{"prices":[{"input":1}]}`: `a model without a rule, a price or a provider: {"prices":[{"input":1}]}`,
		`{`:                           "unexpected end of JSON input in LINE",
		`{"match":{"a":"b","c":"d"}}`: `a rule with 2 fields: {"a":"b","c":"d"} in LINE`,
		`{"match":{}}`:                "a rule with 0 fields: {} in LINE",
		`{"match":{"like":"b"}}`:      `an unknown rule: {"like":"b"} in LINE`,
		`{"match":7}`:                 "a number",
		`{"match":{"regex":"("}}`:     "error parsing regexp: missing closing ): `(` in LINE",
		`{"match":{"regex":7}}`:       "a number",
		`{"match":{"starts_with":7}}`: "a number",
		`{"match":{"and":7}}`:         "a number",
		`{"match":{"not":{"x":"y"}}}`: `an unknown rule: {"x":"y"} in LINE`,
		`{"match":["a",{"x":"y"}]}`:   `an unknown rule: {"x":"y"} in LINE`,
	} {
		err := modelwrap.UsePrices(t, "{}\n"+line)
		require.Error(t, err, line)
		if want == "a number" {
			require.Regexp(t, "^json: cannot unmarshal number .* in LINE$", replaceLast(err.Error(), line))
			continue
		}
		require.Equal(t, want, replaceLast(err.Error(), line), line)
	}
}

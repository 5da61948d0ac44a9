// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type leaveOut struct {
	Days    int               `json:"days,omitempty" validate:"min=1"`
	Ratio   *float64          `json:"ratio" validate:"lte=5"`
	Text    *string           `json:"text,omitempty" validate:"min=2"`
	Mail    string            `json:"mail,omitempty" validate:"email"`
	At      time.Time         `json:"at,omitzero" validate:"lt"`
	Wait    time.Duration     `json:"wait,omitempty" validate:"min=1s"`
	List    []string          `json:"list,omitempty" validate:"min=1,dive,min=2"`
	Map     map[string]int    `json:"map,omitempty" validate:"min=1,dive,min=2"`
	Pair    [2]int            `json:"pair,omitzero" validate:"dive,min=1"`
	Inner   leaveOutInner     `json:"inner,omitzero"`
	Inners  []leaveOutInner   `json:"inners,omitempty"`
	Through *[]leaveOutInner  `json:"through,omitempty" validate:"min=1"`
	Nulled  string            `json:"nulled" jsonschema:"nullable" validate:"min=3"`
	Until   int               `json:"until,omitempty" validate:"gtfield=From"`
	From    int               `json:"from,omitempty"`
	Named   map[string]nested `json:"named,omitempty"`
	leaveOutEmbedded
}

type leaveOutInner struct {
	Must  int    `json:"must"`
	Count int    `json:"count,omitempty" validate:"min=1"`
	Host  string `json:"host,omitempty" validate:"hostname"`
}

type nested struct {
	More map[string]leaveOutInner `json:"more,omitempty"`
}

type leaveOutEmbedded struct {
	Size uint `json:"size,omitempty" validate:"min=2"`
}

func TestRulesOfAbsentFieldsDoNotApply(t *testing.T) {
	for name, text := range map[string]string{
		"at the root":         `{"ratio":null,"nulled":null}`,
		"null for absent":     `{"ratio":null,"nulled":null,"days":null,"mail":null,"at":null,"wait":null,"list":null,"pair":null,"until":null,"size":null,"inner":null}`,
		"in a struct":         `{"ratio":1,"nulled":"abc","inner":{"must":0}}`,
		"in a list":           `{"ratio":1,"nulled":"abc","inners":[{"must":1,"count":2},{"must":0}],"through":[{"must":1}]}`,
		"in a map":            `{"ratio":1,"nulled":"abc","named":{"a":{"more":{"b":{"must":1}}},"c":{}}}`,
		"with odd keys":       `{"ratio":1,"nulled":"abc","named":{"a].more[b":{"more":{"x].host":{"must":1}}}}}`,
		"beside other fields": `{"ratio":1,"nulled":"abc","from":5,"size":3}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode[leaveOut](t, text)
			require.NoError(t, err)
		})
	}
}

func TestRulesOfZerosThatWereSentApply(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"an integer":    refuses[leaveOut](`{"ratio":1,"nulled":"abc","days":0}`, `days: must be at least 1, got 0`),
		"a string":      refuses[leaveOut](`{"ratio":1,"nulled":"abc","mail":""}`, `mail: must be an email address, got ""`),
		"a pointer":     refuses[leaveOut](`{"ratio":1,"nulled":"abc","text":""}`, `text: must have at least 2 characters, not 0, got ""`),
		"a duration":    refuses[leaveOut](`{"ratio":1,"nulled":"abc","wait":"0s"}`, `wait: must be at least 1s, got "0s"`),
		"an array":      refuses[leaveOut](`{"ratio":1,"nulled":"abc","pair":[0,0]}`, `pair[0]: must be at least 1, got 0`, `pair[1]: must be at least 1, got 0`),
		"an empty list": refuses[leaveOut](`{"ratio":1,"nulled":"abc","list":[]}`, `list: must have at least 1 item, not 0, got []`),
		"a nullable":    refuses[leaveOut](`{"ratio":1,"nulled":""}`, `nulled: must have at least 3 characters, not 0, got ""`),
		"a comparison":  refuses[leaveOut](`{"ratio":1,"nulled":"abc","from":5,"until":0}`, `until: must be greater than from, got 0`),
		"embedded":      refuses[leaveOut](`{"ratio":1,"nulled":"abc","size":0}`, `size: must be at least 2, got 0`),
		"in a struct":   refuses[leaveOut](`{"ratio":1,"nulled":"abc","inner":{"must":0,"host":""}}`, `inner.host: must be a host name, got ""`),
		"in a list":     refuses[leaveOut](`{"ratio":1,"nulled":"abc","inners":[{"must":0},{"must":0,"host":""}]}`, `inners[1].host: must be a host name, got ""`),
		"in a map": refuses[leaveOut](`{"ratio":1,"nulled":"abc","named":{"a":{"more":{"b":{"must":0,"host":""},"c":{"must":0}}}}}`,
			`named[a].more[b].host: must be a host name, got ""`),
		// The key makes the path of the field that is there that of one that is not.
		"with an odd key": refuses[leaveOut](`{"ratio":1,"nulled":"abc","named":{"a":{"more":{"b":{"must":0,"host":""}}},"a].more[b":{"more":{}}}}`,
			`named[a].more[b].host: must be a host name, got ""`),
	} {
		t.Run(name, test)
	}
}

func TestRulesAboutPresenceApplyToAbsentFields(t *testing.T) {
	type choice struct {
		Kind  string  `json:"kind" enum:"file,url"`
		Path  string  `json:"path,omitempty" validate:"min=2,required_if=Kind file"`
		URL   *string `json:"url,omitempty" validate:"url,required_if=Kind url,excluded_if=Kind file"`
		Other string  `json:"other,omitempty" validate:"required_without=Path,lowercase"`
	}
	t.Run("absent", refuses[choice](`{"kind":"file","other":"x"}`, `path: the field is required if kind is file`))
	t.Run("a nil pointer", refuses[choice](`{"kind":"url","other":"x"}`, `url: the field is required if kind is url`))
	t.Run("null", refuses[choice](`{"kind":"url","url":null,"other":"x"}`, `url: the field is required if kind is url`))
	t.Run("excluded", refuses[choice](`{"kind":"file","path":"ab","url":"https://a.org"}`, `url: must be left out if kind is file, got "https://a.org"`))
	t.Run("without", refuses[choice](`{"kind":"url","url":"https://a.org"}`, `other: the field is required without path`))
	t.Run("another rule", refuses[choice](`{"kind":"file","path":"ab","other":"X"}`, `other: must be in lower case, got "X"`))
	_, err := decode[choice](t, `{"kind":"file","path":"ab"}`)
	require.NoError(t, err)
}

// Fields that JSON does not fill are always absent.
func TestRulesOfFieldsThatJSONDoesNotFillDoNotApply(t *testing.T) {
	type stored struct {
		ID     string         `json:"-" validate:"required,uuid"`
		Secret string         `json:"secret" jsonschema:"-" validate:"required"`
		Inner  *leaveOutInner `json:"-" validate:"required"`
		Name   string         `json:"name" validate:"min=2"`
	}
	_, err := decode[stored](t, `{"name":"ab"}`)
	require.NoError(t, err)
}

type interval struct {
	Start int       `json:"start" validate:"ltfield=End"`
	End   int       `json:"end,omitempty"`
	Twin  string    `json:"twin,omitempty" validate:"eqfield=Inner.Word"`
	Inner innerSpan `json:"inner,omitzero"`
	*Interval2
}

type innerSpan struct {
	Word string `json:"word,omitempty"`
	Low  *int   `json:"low" validate:"gtcsfield=High"`
	High int    `json:"high,omitempty"`
}

// Interval2 is embedded.
type Interval2 struct {
	Least uint  `json:"least,omitempty"`
	Most  *uint `json:"most,omitempty" validate:"gtfield=Least"`
}

func TestComparisonsWithAbsentFieldsDoNotApply(t *testing.T) {
	type spans struct {
		List []innerSpanList `json:"list"`
	}
	for name, test := range map[string]func(*testing.T){
		"absent":         takes[interval](`{"start":5}`),
		"null":           takes[interval](`{"start":5,"end":null}`),
		"in a struct":    takes[interval](`{"start":5,"twin":"a","inner":{"low":null}}`),
		"inside":         takes[interval](`{"start":-5,"inner":{"low":-1}}`),
		"kept, inside":   takes[interval](`{"start":5,"inner":{"low":3,"high":2}}`),
		"in a list":      takes[spans](`{"list":[{"from":3},{"from":-1,"until":0}]}`),
		"there":          refuses[interval](`{"start":5,"end":0}`, `start: must be less than end, got 5`),
		"there, inside":  refuses[interval](`{"start":0,"end":9,"twin":"a","inner":{"word":"","low":9,"high":9}}`, `twin: must equal inner.word, got "a"`, `inner.low: must satisfy the rule gtcsfield=high, got 9`),
		"there, in list": refuses[spans](`{"list":[{"from":3},{"from":1,"until":0}]}`, `list[1].from: must not be greater than until, got 1`),
	} {
		t.Run(name, test)
	}
}

// takes decodes text into a T.
func takes[T any](text string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		_, err := decode[T](t, text)
		require.NoError(t, err)
	}
}

type innerSpanList struct {
	From  int `json:"from" validate:"ltefield=Until"`
	Until int `json:"until,omitempty"`
}

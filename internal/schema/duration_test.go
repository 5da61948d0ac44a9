// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// seconds has a JSON form of its own.
type seconds time.Duration

func (s *seconds) UnmarshalJSON(text []byte) error {
	var n int64
	err := json.Unmarshal(text, &n)
	*s = seconds(n * int64(time.Second))
	return err
}

func (s seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d", int64(s)/int64(time.Second)), nil
}

type plainNumber time.Duration

type durations struct {
	One     time.Duration                                  `json:"one"`
	Pointer *time.Duration                                 `json:"pointer"`
	List    []time.Duration                                `json:"list"`
	Array   [2]*time.Duration                              `json:"array"`
	Map     map[string]time.Duration                       `json:"map"`
	Deep    map[int][]map[color2]struct{ D time.Duration } `json:"deep"`
	Own     seconds                                        `json:"own"`
	Plain   plainNumber                                    `json:"plain"`
	Any     any                                            `json:"any"`
	Left    time.Duration                                  `json:"left,omitempty"`
	Hidden  time.Duration                                  `json:"-"`
	durationEmbedded
	*Later
}

type color2 string

type durationEmbedded struct {
	Flat time.Duration `json:"flat"`
}

type Later struct {
	After time.Duration `json:"after,omitzero"`
}

const durationsText = `{"one":"1h30m0s","pointer":null,"list":["0s","-1.5s"],"array":["1µs","1ns"],"map":{"a":"1m0s","b":"2562047h47m16.854775807s"},` +
	`"deep":{"-1":[{"x":{"D":"24h0m0s"}}]},"own":5,"plain":7,"any":[1,{"x":"3s"}],"flat":"1ms","after":"10s"}`

func TestDurationsAreText(t *testing.T) {
	v, err := decode[durations](t, durationsText)
	require.NoError(t, err)
	require.Equal(t, durations{
		One: 90 * time.Minute, List: []time.Duration{0, -1500 * time.Millisecond}, Array: [2]*time.Duration{new(time.Microsecond), new(time.Nanosecond)},
		Map:  map[string]time.Duration{"a": time.Minute, "b": math.MaxInt64},
		Deep: map[int][]map[color2]struct{ D time.Duration }{-1: {{"x": {24 * time.Hour}}}}, Own: seconds(5 * time.Second), Plain: 7,
		Any: []any{1.0, map[string]any{"x": "3s"}}, durationEmbedded: durationEmbedded{time.Millisecond}, Later: &Later{10 * time.Second},
	}, v)
	text, err := schema.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, durationsText, string(text))

	for written, want := range map[string]time.Duration{"90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "1us": 1000, "1\\u006ds": 1e6, "2h0m3s4ms": 2*time.Hour + 3004*time.Millisecond} {
		v, err := decode[time.Duration](t, `{"value":"`+written+`"}`)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
}

func TestDurationsThatAreNoTextAreRefused(t *testing.T) {
	const want = `value: must be a duration such as "1h30m" or "500ms"`
	for text, problem := range map[string]string{
		`90`: want + `, not a number, got 90`, `"90"`: want + `, got "90"`, `""`: want + `, got ""`, `"1 h"`: want + `, got "1 h"`, `"PT1H"`: want + `, got "PT1H"`,
		`"1d"`: want + `, got "1d"`, `true`: want + `, not a boolean, got true`, `"9999999h"`: `value: must be a duration of less than 292 years, got "9999999h"`,
	} {
		t.Run(text, refuses[time.Duration](`{"value":`+text+`}`, problem))
	}
	type bounded struct {
		Wait time.Duration  `json:"wait" description:"How long" validate:"min=1s,lt=1h"`
		More *time.Duration `json:"more" validate:"gtfield=Wait"`
	}
	require.Contains(t, string(typeFor[bounded](t).JSON()), `"description":"How long (duration such as 1h30m), at least 1s, less than 1h0m0s"`)
	t.Run("bounds", refuses[bounded](`{"wait":"90m","more":"1m"}`, `wait: must be less than 1h, got "1h30m0s"`, `more: must be greater than wait, got "1m0s"`))
	_, err := schema.For(reflectType[struct {
		V time.Duration `json:"v,string"`
	}]())
	require.ErrorContains(t, err, `the json option "string" does not work with time.Duration`)
}

func TestMarshalLeavesOtherValuesAlone(t *testing.T) {
	wait := 5 * time.Second
	for _, test := range []struct {
		value any
		want  string
	}{
		{wait, `"5s"`}, {&wait, `"5s"`}, {map[string]any{"a": wait, "b": []any{&wait, 5000000000, "x"}}, `{"a":"5s","b":["5s",5000000000,"x"]}`},
		{[]any{nil, (*time.Duration)(nil), 1.5, "<&>"}, `[null,null,1.5,"<&>"]`}, {map[time.Duration]time.Duration{1: 2}, `{"1":"2ns"}`},
		{struct {
			A time.Duration `json:"a,string"`
			B int64         `json:"b"`
			C seconds       `json:"c"`
			D *Later        `json:"d"`
		}{A: 1, B: 2, C: seconds(time.Minute)}, `{"a":"1","b":2,"c":60,"d":null}`},
		{[]time.Time{}, `[]`}, {json.RawMessage(`{"x":1}`), `{"x":1}`}, {struct{ *Later }{}, `{}`}, {map[color2][]time.Duration{"ü\"": {1}}, `{"ü\"":["1ns"]}`},
	} {
		text, err := schema.Marshal(test.value)
		require.NoError(t, err)
		require.Equal(t, test.want, string(text))
	}
	_, err := schema.Marshal(map[string]any{"a": wait, "b": make(chan int)})
	require.Error(t, err)
}

func TestPartialValuesHaveDurations(t *testing.T) {
	var v durations
	typeFor[durations](t).DecodePartial([]byte(`{"one":"5s","list":["1s"],"plain":"x","map":{"a":"1m"}}`), &v)
	require.Equal(t, durations{One: 5 * time.Second, List: []time.Duration{time.Second}, Map: map[string]time.Duration{"a": time.Minute}}, v)
	var wrapped []time.Duration
	typeFor[[]time.Duration](t).DecodePartial([]byte(`{"value":["1s","2"]}`), &wrapped)
	require.Equal(t, []time.Duration{time.Second, 0}, wrapped)
	var d withDefaults
	typeFor[withDefaults](t).DecodePartial([]byte(`{}`), &d)
	require.Zero(t, d, "a field that is not written yet has no default")
}

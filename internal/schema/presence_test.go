// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// grade is a byte that decodes itself, as many enumerations do.
type grade uint8

func (g *grade) UnmarshalText(text []byte) error {
	switch string(text) {
	case "low":
		*g = 1
	case "high":
		*g = 2
	default:
		return fmt.Errorf("there is no grade %q", text)
	}
	return nil
}

func (g grade) MarshalText() ([]byte, error) {
	return []byte([]string{"", "low", "high"}[g]), nil
}

// spanOf has rules that the zero value of a field breaks, and the schema does not say so.
type spanOf struct {
	Email string `json:"email,omitempty" validate:"email"`
	Low   int    `json:"low,omitempty"`
	High  int    `json:"high,omitempty" validate:"gtfield=Low"`
}

func decodeNew(t *testing.T, of any, text string) (any, error) {
	t.Helper()
	made, err := schema.For(reflect.TypeOf(of))
	require.NoError(t, err)
	dst := reflect.New(reflect.TypeOf(of))
	return dst.Elem().Interface(), made.Decode([]byte(text), dst.Interface())
}

// The keys of a map may look otherwise in Go, and in a path of the validator, than in JSON. They may
// have points, as names of files and hosts have.
func TestRulesOfAbsentFieldsDoNotApplyWhateverTheKeysOfAMap(t *testing.T) {
	type named string
	for _, of := range []struct {
		value any
		key   string
	}{
		{map[string]spanOf{}, "main.go"},
		{map[string]spanOf{}, "a b"},
		{map[string]spanOf{}, ""},
		{map[named]spanOf{}, "v1.2.3"},
		{map[int]spanOf{}, "-5"},
		{map[time.Month]spanOf{}, "1"},
		{map[time.Duration]spanOf{}, "1000"},
		{map[netip.Addr]spanOf{}, "10.0.0.1"},
		{map[netip.Addr]spanOf{}, "0:0::1"},
		{map[grade]spanOf{}, "high"},
	} {
		t.Run(fmt.Sprintf("%T %s", of.value, of.key), func(t *testing.T) {
			for fields, problem := range map[string]string{
				`{}`:                   "",
				`{"low":3}`:            "",
				`{"high":-3}`:          "",
				`{"low":3,"high":4}`:   "",
				`{"high":0,"low":0}`:   "must be greater than low, got 0",
				`{"high":-3,"low":-3}`: "must be greater than low, got -3",
				`{"email":""}`:         `must be an email address, got ""`,
			} {
				_, err := decodeNew(t, of.value, fmt.Sprintf(`{"value":{%q:%s}}`, of.key, fields))
				if problem == "" {
					require.NoError(t, err, fields)
				} else {
					require.ErrorContains(t, err, problem, fields)
				}
			}
		})
	}
}

// A field with a default is there: a rule that compares another field with it applies.
func TestFieldsAreComparedWithDefaults(t *testing.T) {
	type inner struct {
		Low int `json:"low,omitempty"`
	}
	type args struct {
		Low  int   `json:"low" default:"5"`
		High int   `json:"high,omitempty" validate:"gtfield=Low"`
		None int   `json:"none" default:"0"`
		Less int   `json:"less,omitempty" validate:"ltfield=None"`
		In   inner `json:"in" default:"{\"low\":7}"`
		More int   `json:"more,omitempty" validate:"gtfield=In.Low"`
	}
	for text, problem := range map[string]string{
		`{}`:                         "",
		`{"high":6}`:                 "",
		`{"high":3}`:                 "high: must be greater than low, got 3",
		`{"high":3,"low":null}`:      "high: must be greater than low, got 3",
		`{"high":3,"low":5}`:         "high: must be greater than low, got 3",
		`{"high":3,"low":2}`:         "",
		`{"less":1}`:                 "less: must be less than none, got 1",
		`{"less":-1}`:                "",
		`{"more":7}`:                 "more: must be greater than in.low, got 7",
		`{"more":8}`:                 "",
		`{"more":-7,"in":{}}`:        "",
		`{"more":-7,"in":{"low":0}}`: "more: must be greater than in.low, got -7",
	} {
		_, err := decodeNew(t, args{}, text)
		if problem == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, problem, text)
		}
	}
}

// stage has another form as a value than as the key of a map, which encoding/json reads as a number.
type stage int

func (l *stage) UnmarshalJSON(text []byte) error {
	if string(text) != `"low"` {
		return fmt.Errorf("there is no level %s", text)
	}
	*l = 1
	return nil
}

func TestKeysAreReadAsEncodingJSONReadsThem(t *testing.T) {
	type args struct {
		Of     map[stage]string  `json:"of"`
		Spans  map[stage]spanOf  `json:"spans,omitempty"`
		Bytes  map[uint8]string  `json:"bytes,omitempty"`
		Shorts map[int16]string  `json:"shorts,omitempty"`
		Grades map[grade]string  `json:"grades,omitempty"`
		Wide   map[uint64]string `json:"wide,omitempty"`
	}
	for text, problem := range map[string]string{
		`{"of":{"1":"x"},"spans":{"1":{}}}`:                   "",
		`{"of":{},"bytes":{"255":""},"shorts":{"-32768":""}}`: "",
		`{"of":{},"wide":{"18446744073709551615":""}}`:        "",
		`{"of":{},"bytes":{"256":""}}`:                        "must be an integer from 0 to 255",
		`{"of":{},"shorts":{"-32769":""}}`:                    "must be an integer from -32768 to 32767",
		`{"of":{},"wide":{"18446744073709551616":""}}`:        "must be an integer from 0 to 18446744073709551615",
		`{"of":{},"grades":{"none":""}}`:                      `there is no grade "none"`,
	} {
		_, err := decodeNew(t, args{}, text)
		if problem == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, problem, text)
		}
	}
}

// skip_unless asks for a field, as required_if does.
func TestSkipUnlessAppliesToAbsentFields(t *testing.T) {
	type args struct {
		Mode string `json:"mode,omitempty"`
		To   string `json:"to,omitempty" validate:"skip_unless=Mode mail"`
	}
	for text, valid := range map[string]bool{
		`{}`: true, `{"mode":"file"}`: true, `{"mode":"mail","to":"Ada"}`: true, `{"mode":"mail"}`: false,
	} {
		_, err := decodeNew(t, args{}, text)
		require.Equal(t, valid, err == nil, "%s: %v", text, err)
	}
}

// Bytes that decode themselves are values like others, not base64, which would pass them by.
func TestBytesThatDecodeThemselvesAreAList(t *testing.T) {
	type args struct {
		Grades []grade `json:"grades" validate:"unique"`
	}
	made, err := schema.For(reflect.TypeFor[args]())
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{"grades":{"type":"array","items":{"type":"string"},"uniqueItems":true}},
		"required":["grades"],"additionalProperties":false}`, string(made.JSON()))
	sent := args{[]grade{1, 2}}
	text, err := json.Marshal(sent)
	require.NoError(t, err)
	var got args
	require.NoError(t, made.Decode(text, &got))
	require.Equal(t, sent, got)
	require.ErrorContains(t, made.Decode([]byte(`{"grades":["low","none"]}`), &got), `there is no grade "none"`)
	require.ErrorContains(t, made.Decode([]byte(`{"grades":["low","low"]}`), &got), "must be unique")
	require.Error(t, made.Decode([]byte(`{"grades":"AQk="}`), &got), "there are no such grades")
}

// JSON has a negative zero, which the schema of an unsigned integer accepts.
func TestNegativeZeroIsZero(t *testing.T) {
	type args struct {
		N uint8   `json:"n"`
		L []uint  `json:"l,omitempty"`
		I int     `json:"i,omitempty"`
		F float64 `json:"f,omitempty"`
	}
	made, err := schema.For(reflect.TypeFor[args]())
	require.NoError(t, err)
	var got args
	require.NoError(t, made.Decode([]byte(`{"n":-0,"l":[-0,1],"i":-0,"f":-0}`), &got))
	require.Equal(t, []uint{0, 1}, got.L)
}

// Numbers are equal however they are written.
func TestValuesThatAreThereTwiceAreFoundInAnyNotation(t *testing.T) {
	type args struct {
		F float64 `json:"f" enum:"1,2,1.0"`
	}
	_, err := schema.For(reflect.TypeFor[args]())
	require.ErrorContains(t, err, "1.0 is there twice")
}

// The validator compares texts by their lengths, so two dates in one layout are never ordered. The
// model must not be told otherwise.
func TestComparedLengthsAreNamed(t *testing.T) {
	type args struct {
		A string `json:"a"`
		B string `json:"b,omitempty" validate:"gtfield=A"`
		C string `json:"c,omitempty" validate:"ltefield=A"`
		N int    `json:"n,omitempty" validate:"gtfield=O"`
		O int    `json:"o,omitempty"`
		E string `json:"e,omitempty" validate:"eqfield=A"`
	}
	for text, problem := range map[string]string{
		`{"a":"2026-01-02","b":"2026-01-03"}`: `b: its length must be greater than that of a, got "2026-01-03"`,
		`{"a":"","c":"x"}`:                    `c: its length must not be greater than that of a, got "x"`,
		`{"a":"","n":1,"o":2}`:                "n: must be greater than o, got 1",
		`{"a":"","e":"x"}`:                    `e: must equal a, got "x"`,
	} {
		_, err := decodeNew(t, args{}, text)
		require.EqualError(t, err, problem)
	}
}

type waits struct {
	D time.Duration               `json:"d"`
	M map[int]time.Duration       `json:"m"`
	N map[time.Month]*waitsInside `json:"n"`
}

type waitsInside struct {
	D time.Duration `json:"d"`
}

// encoding/json cannot fill an embedded pointer to a struct that is not exported, but writes it.
func TestDurationsOfEmbeddedPointersAreText(t *testing.T) {
	w := waits{
		D: time.Second, M: map[int]time.Duration{1: time.Minute},
		N: map[time.Month]*waitsInside{2: {D: time.Hour}, 3: nil},
	}
	const want = `{"d":"1s","m":{"1":"1m0s"},"n":{"2":{"d":"1h0m0s"},"3":null}}`
	for _, v := range []any{w, &w, struct{ *waits }{&w}, struct{ waits }{w}} {
		text, err := schema.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, want, string(text), "%T", v)
	}
	text, err := schema.Marshal(struct{ *waits }{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(text))
	_, err = schema.For(reflect.TypeFor[struct{ *waits }]())
	require.ErrorContains(t, err, "cannot fill an embedded pointer to an unexported struct")
}

// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type loud string

func (u *loud) UnmarshalText(text []byte) error {
	*u = loud(strings.ToUpper(string(text)))
	return nil
}

type sort string

type innermost struct {
	Deep int `json:"deep,omitempty"`
}

// mixed has fields that are stored directly, and others that are not.
type mixed struct {
	innermost
	Text    string        `json:"text,omitempty"`
	Named   sort          `json:"named,omitempty"`
	Yes     bool          `json:"yes,omitempty"`
	Int     int           `json:"int,omitempty"`
	Small   int8          `json:"small,omitempty"`
	Count   uint16        `json:"count,omitempty"`
	Half    float32       `json:"half,omitempty"`
	Float   float64       `json:"float,omitempty"`
	Upper   loud          `json:"loud,omitempty"`
	Quoted  int           `json:"quoted,omitempty,string"`
	Number  json.Number   `json:"number,omitempty"`
	Wait    time.Duration `json:"wait,omitempty"`
	Pointer *int          `json:"pointer,omitempty"`
	List    []string      `json:"list,omitempty"`
	Any     any           `json:"any,omitempty"`
	Default int           `json:"default,omitempty" jsonschema:"default=7"`
	Untagged,
	Other int
}

// TestDirectFieldsHoldWhatEncodingJSONDecodes compares documents that have no need of edits.
func TestDirectFieldsHoldWhatEncodingJSONDecodes(t *testing.T) {
	typ, err := schema.For(reflect.TypeFor[mixed]())
	require.NoError(t, err)
	values := map[string][]string{
		"text":  {`"a"`, `""`, `"é\u00e9"`, `"a\nb"`, "\"\xff\"", `"null"`, `"1"`, `3`, `null`},
		"named": {`"x"`, `"\""`, `true`},
		"yes":   {`true`, `false`, `"true"`, `0`, `null`},
		"int":   {`0`, `-0`, `1`, `-9223372036854775808`, `9223372036854775807`, `9223372036854775808`, `1.5`, `"1"`},
		"small": {`127`, `-128`, `128`, `true`},
		"count": {`0`, `65535`, `65536`, `-1`},
		"half":  {`1`, `0.1`, `-2.5e3`, `3e38`, `4e38`, `16777217`},
		"float": {`1`, `0.1`, `-0`, `1e308`, `1e309`, `123456789012345678901234567890`},
		"loud":  {`"abc"`}, "quoted": {`"5"`, `5`}, "number": {`5`, `5.50`, `"5"`},
		"pointer": {`1`, `null`}, "list": {`["a"]`, `[]`}, "any": {`{"a":[1]}`, `null`, `"x"`},
		"deep": {`3`, `"3"`}, "Untagged": {`1`}, "Other": {`2`, `null`}, "default": {`1`},
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	valid := 0
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 1))
		parts := []string{`"default":1`, `"Untagged":5`, `"Other":6`}
		for range random.IntN(4) {
			name := names[random.IntN(len(names))]
			if text := values[name]; !strings.Contains(strings.Join(parts, ","), `"`+name+`":`) {
				parts = append(parts, fmt.Sprintf("%q: %s", name, text[random.IntN(len(text))]))
			}
		}
		random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		text := []byte("{" + strings.Join(parts, ",") + "}")
		var got, want mixed
		if typ.Decode(text, &got) != nil {
			continue
		}
		valid++
		require.NoError(t, json.Unmarshal(text, &want), "%s", text)
		require.Equal(t, want, got, "%s", text)
	}
	require.Greater(t, valid, 5_000)
}

// TestDirectFieldsOfPointersAndRules decodes into a pointer, and applies rules to what was stored.
func TestDirectFieldsOfPointersAndRules(t *testing.T) {
	type ruled struct {
		Name string `json:"name" validate:"min=2"`
		N    int    `json:"n,omitempty" validate:"max=3"`
	}
	typ, err := schema.For(reflect.TypeFor[ruled]())
	require.NoError(t, err)
	kept := ruled{N: 2}
	require.NoError(t, typ.Decode([]byte(`{"name":"ab"}`), &kept))
	require.Equal(t, ruled{"ab", 2}, kept, "fields that are absent keep their values")
	var pointer *ruled
	require.NoError(t, typ.Decode([]byte(`{"name":"ab"}`), &pointer))
	require.Equal(t, &ruled{Name: "ab"}, pointer)
	require.Error(t, typ.Decode([]byte(`{"name":"a"}`), new(ruled)))
	require.Error(t, typ.Decode([]byte(`{"name":"ab","n":4}`), new(ruled)))
}

// TestDirectFieldsAllocateOnlyText holds what arguments of numbers, and of texts, allocate.
func TestDirectFieldsAllocateOnlyText(t *testing.T) {
	if raceEnabled {
		return
	}
	type pair struct {
		X int    `json:"x"`
		S string `json:"s,omitempty"`
	}
	typ, err := schema.For(reflect.TypeFor[pair]())
	require.NoError(t, err)
	var into pair
	for text, most := range map[string]float64{`{"x":1}`: 0, `{"x":1,"s":"some text"}`: 1} {
		data := []byte(text)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = typ.Decode(data, &into) }), most, text)
	}
}

// The pattern of a jsonschema tag replaces the one of the option "string", and may let through what encoding/json refuses.
func TestTextOfTheStringOptionIsNeverStoredAsItIsWritten(t *testing.T) {
	typ := tagged[string](`json:"v,string" jsonschema:"pattern=a"`)
	made, err := schema.For(typ)
	require.NoError(t, err)
	for text, want := range map[string]string{`{"v":"\"a\""}`: "a", `{"v":"a"}`: ""} {
		dst := reflect.New(typ)
		err := made.Decode([]byte(text), dst.Interface())
		if want == "" {
			require.ErrorContains(t, err, `v: is not accepted`, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, dst.Elem().Field(0).String())
	}
}

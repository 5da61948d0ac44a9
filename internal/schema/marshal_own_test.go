// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// The types with a JSON or a text form of their own write what would be a duration if it were one.
type (
	writesJSON   struct{ D time.Duration }
	writesText   struct{ D time.Duration }
	pointerJSON  struct{ D time.Duration }
	writesList   []time.Duration
	writesMap    map[string]time.Duration
	writesNumber time.Duration
	textKey      struct{ n int }
	numberKey    int
	durationRing struct {
		D    time.Duration
		Next *durationRing `json:",omitempty"`
	}
	plainRing struct {
		N    int
		Next *plainRing `json:",omitempty"`
	}
)

func (w writesJSON) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `{"D":%d}`, w.D), nil }
func (w writesText) MarshalText() ([]byte, error) { return fmt.Appendf(nil, `%d`, w.D), nil }
func (w *pointerJSON) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"D":%d}`, w.D), nil
}
func (w writesList) MarshalJSON() ([]byte, error)   { return fmt.Appendf(nil, `[%d]`, w[0]), nil }
func (w writesMap) MarshalJSON() ([]byte, error)    { return fmt.Appendf(nil, `{"a":%d}`, w["a"]), nil }
func (w writesNumber) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `%d`, w), nil }
func (k textKey) MarshalText() ([]byte, error) {
	return []byte("key <" + strconv.Itoa(k.n) + `">`), nil
}

// A duration is text wherever it is, and whatever writes itself is left as it wrote.
func TestDurationsAreTextWhereverTheyAre(t *testing.T) {
	const s = time.Second
	five := 5 * s
	for _, test := range []struct {
		value any
		want  string
	}{
		{writesJSON{s}, `{"D":1000000000}`}, {&writesJSON{s}, `{"D":1000000000}`}, {writesText{s}, `"1000000000"`}, {&writesText{s}, `"1000000000"`}, {&pointerJSON{s}, `{"D":1000000000}`}, {pointerJSON{s}, `{"D":"1s"}`},
		{writesList{s}, `[1000000000]`}, {writesMap{"a": s}, `{"a":1000000000}`}, {writesNumber(s), `1000000000`}, {[]writesNumber{writesNumber(s)}, `[1000000000]`},
		{[]any{writesJSON{s}, s, writesText{s}, &pointerJSON{s}, five, nil}, `[{"D":1000000000},"1s","1000000000",{"D":1000000000},"5s",null]`},
		{map[string]any{"a": writesList{s}, "b": s, "c": &five}, `{"a":[1000000000],"b":"1s","c":"5s"}`},
		{struct {
			A writesJSON
			B time.Duration
			C *writesText
			D *time.Duration
			E **time.Duration
			F any
		}{writesJSON{s}, s, &writesText{s}, nil, new(&five), &five}, `{"A":{"D":1000000000},"B":"1s","C":"1000000000","D":null,"E":"5s","F":"5s"}`},
		{map[textKey]time.Duration{{7}: s}, `{"key <7\">":"1s"}`}, {map[numberKey][]time.Duration{7: {s, -s}}, `{"7":["1s","-1s"]}`}, {map[int8]*time.Duration{-7: nil, 8: &five}, `{"-7":null,"8":"5s"}`}, {map[uint]time.Duration{7: 0}, `{"7":"0s"}`},
		{[0]time.Duration{}, `[]`}, {[2]time.Duration{1, 2}, `["1ns","2ns"]`}, {map[string]time.Duration{}, `{}`}, {[]time.Duration(nil), `null`}, {map[string]time.Duration(nil), `null`}, {(*durationRing)(nil), `null`}, {struct{}{}, `{}`},
		{[][]map[string]time.Duration{{{"a": s}, nil}, nil, {}}, `[[{"a":"1s"},null],null,[]]`}, {durationRing{s, &durationRing{2 * s, nil}}, `{"D":"1s","Next":{"D":"2s"}}`}, {plainRing{1, &plainRing{2, nil}}, `{"N":1,"Next":{"N":2}}`},
		{json.RawMessage(`{"D":1000000000}`), `{"D":1000000000}`}, {[]any{json.RawMessage(`1000000000`), json.Number("1000000000"), 1000000000}, `[1000000000,1000000000,1000000000]`},
		{time.Duration(-1 << 63), `"-2562047h47m16.854775808s"`}, {nil, `null`}, {"1s", `"1s"`}, {struct {
			//lint:ignore SA5008 encoding/json does not take this name, and neither may we
			A time.Duration `json:"é<\""`
			B time.Duration `json:"b,omitempty"`
			C time.Duration `json:"-"`
			//lint:ignore SA5008 this is how a field gets the name "-"
			D time.Duration `json:"-,"`
		}{A: s, C: s, D: s}, `{"A":"1s","-":"1s"}`},
		{struct {
			A any `json:"a"`
			B struct{ writesText }
			durationRing
		}{A: struct{ D time.Duration }{s}, B: struct{ writesText }{writesText{s}}, durationRing: durationRing{D: s}}, `{"a":{"D":"1s"},"B":"1000000000","D":"1s"}`},
	} {
		text, err := schema.Marshal(test.value)
		require.NoError(t, err)
		require.Equal(t, test.want, string(text), "%T", test.value)
	}
}

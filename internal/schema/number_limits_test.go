// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// keyworded is a type whose values have one keyword to keep.
type keyworded struct{ raw any }

var keywordNow func(*jsonschema.Schema)

func (keyworded) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{}
	keywordNow(s)
	return s
}

func (k *keyworded) UnmarshalJSON(text []byte) error { k.raw = string(text); return nil }

// problemWith returns what is said of a value of a type with some keywords, or nothing.
func problemWith(t *testing.T, n int, keywords func(*jsonschema.Schema), value string) string {
	t.Helper()
	keywordNow = keywords
	of := structType(reflect.StructField{Name: fmt.Sprintf("V%d", n), Type: reflectType[keyworded](), Tag: `json:"v"`})
	typ, err := schema.For(of) // a type of its own for each n
	require.NoError(t, err)
	if err := typ.Check([]byte(`{"v":` + value + `}`)); err != nil {
		return err.Error()
	}
	return ""
}

// Whether a number is a multiple is computed exactly, for steps of up to 60 bits. Those that are longer are not checked.
func TestMultiplesAreExact(t *testing.T) {
	for i, test := range []struct {
		of        string
		good, bad string // values
	}{
		{"1", "0 1 -7 1e400 18446744073709551615 18446744073709551616", "0.5 1e-400 1.0000000000000000000000000001"},
		{"3", "0 0.0 3 -3 3e20 33 111111111111111111111111111111", "1 -1 1e20 1e61 4e400 5 10 111111111111111111111111111112"},
		{"10", "0 10 1e1 100 -20", "1 5 15 1e0 0.10"},
		{"0.25", "0.25 0.5 1 1e2 -0.75 0.250", "0.1 0.26 0.125 1e-3"},
		{"1e3", "1000 1e3 5e4 0", "100 1500 999 1e2"},
		{"7", "7 49 7e59 7e61 7e4096", "8 1e59 1e60 1e61 1e4096"},
		{"576460752303423488", "576460752303423488 1e59 1e60 -1152921504606846976", "576460752303423487 1e58 576460752303423489"}, // 2^59
		{"1152921504606846975", "1152921504606846975 2305843009213693950 0", "1152921504606846974 1 1e59 576460752303423488"},     // 2^60-1
		{"1152921504606846976", "1152921504606846976 1152921504606846977 7", "1.5"},                                               // 2^60
		{"2305843009213693951", "2305843009213693951 2305843009213693952", "0.5"},                                                 // 2^61-1
	} {
		keywords := func(s *jsonschema.Schema) { s.MultipleOf = json.Number(test.of) }
		for _, value := range strings.Fields(test.good) {
			require.Empty(t, problemWith(t, 1000+i, keywords, value), "%s of %s", value, test.of)
		}
		for _, value := range strings.Fields(test.bad) {
			require.Equal(t, "v: must be a multiple of "+test.of+", got "+value, problemWith(t, 1000+i, keywords, value))
		}
	}
}

// Numbers are compared by their exact values, however they are written. All exponents beyond 2^30 count alike.
func TestNumbersAreComparedExactly(t *testing.T) {
	ordered := []string{ // from the smallest to the largest; those in one line are equal
		"-1e1073741824 -1e1073741825 -1e99999999999999999999", "-1e1073741823", "-1e30", "-18446744073709551616", "-18446744073709551615 -18446744073709551615.0", "-10.5", "-10 -1e1 -1.0E+1", "-9.5 -95e-1", "-9.25", "-1 -0.1e1",
		"-0.01 -1e-2", "-1e-1073741822", "-1e-1073741824 -1e-99999999999999999999", "0 -0 0.0 0e7 -0.000E-3", "1e-1073741824 1e-1073741825 1e-99999999999999999999", "1e-1073741822", "1e-5 0.00001", "0.01 1e-2 0.010 10e-3", "0.5", "0.99", "1 1.0 10e-1 0.1e+1",
		"1.5 15E-1", "9 9.0", "9.5", "10 1e1", "10.5 1.05e1", "11", "99", "100 1e2 1e+2 1.00e02", "18446744073709551614", "18446744073709551615 1.8446744073709551615e19", "18446744073709551616 1.8446744073709551616e19", "18446744073709551617", "1e30",
		"1e1073741823", "1e1073741824 1e1073741825 1e99999999999999999999",
	}
	for i, bounds := range ordered {
		bound := strings.Fields(bounds)[0]
		for j, values := range ordered {
			for _, value := range strings.Fields(values) {
				for k, test := range []struct {
					keyword func(*jsonschema.Schema)
					kept    bool
					said    string
				}{
					{func(s *jsonschema.Schema) { s.Minimum = json.Number(bound) }, j >= i, "at least"}, {func(s *jsonschema.Schema) { s.Maximum = json.Number(bound) }, j <= i, "at most"},
					{func(s *jsonschema.Schema) { s.ExclusiveMinimum = json.Number(bound) }, j > i, "greater than"}, {func(s *jsonschema.Schema) { s.ExclusiveMaximum = json.Number(bound) }, j < i, "less than"},
					{func(s *jsonschema.Schema) { s.Enum = []any{json.Number(bound)} }, j == i, ""},
				} {
					want := ""
					if !test.kept {
						want = fmt.Sprintf("v: must be %s %s, got %s", test.said, bound, value)
						want = strings.Replace(want, "  ", " ", 1)
					}
					require.Equal(t, want, problemWith(t, 2000+5*i+k, test.keyword, value))
				}
			}
		}
	}
}

// Items are equal if their numbers are, whatever digit they begin with.
func TestItemsAreEqualByValue(t *testing.T) {
	unique := func(s *jsonschema.Schema) { s.Type, s.UniqueItems = "array", true }
	for _, pair := range []string{"0,0.0", "1,1.0", "2,2.0", "3,3.0", "4,4.0", "5,5.0", "6,6.0", "7,7.0", "8,8.0", "9,9.0", "-1,-10e-1", "-0,0", "12e3,12000", "0.5,50e-2"} {
		require.Equal(t, "v: items must be unique, but items 0 and 1 are equal, got ["+pair+"]", problemWith(t, 3000, unique, "["+pair+"]"))
	}
	for _, pair := range []string{"0,0.1", "1,-1", "12,120", "12,1.2", "1e5,1e6", "true,false", `"t","f"`, `"1",1`, `null,"null"`, `[1],[2]`, `{"a":1},{"a":2}`, `{"a":1},{"b":1}`, `[true],[false]`, `[null],[0]`, `["a"],["b"]`} {
		require.Empty(t, problemWith(t, 3000, unique, "["+pair+"]"))
	}
}

// An integer with an exponent is written out for Go if it has up to 400 digits.
func TestIntegersOfUpTo400DigitsAreWrittenOut(t *testing.T) {
	for text, zeros := range map[string]int{"1e0": 0, "1e399": 399, "1.0e399": 399, "0.01e3": 1} {
		v, err := decode[one[*big.Int]](t, `{"v":`+text+`}`)
		require.NoError(t, err, text)
		require.Equal(t, "1"+strings.Repeat("0", zeros), v.V.String())
		v, err = decode[one[*big.Int]](t, `{"v":-`+text+`}`)
		require.NoError(t, err, text)
		require.Equal(t, "-1"+strings.Repeat("0", zeros), v.V.String())
	}
	for _, text := range []string{"1e400", "10e399", "-1e400"} {
		_, err := decode[one[*big.Int]](t, `{"v":`+text+`}`)
		require.ErrorContains(t, err, "v: is not accepted: ", text)
		require.ErrorContains(t, err, ", got "+text)
	}
}

// Lengths and bounds in tags may have all the bits of their types.
func TestBoundsMayBeLarge(t *testing.T) {
	for want, of := range map[string]reflect.Type{
		`"minLength":9223372036854775807`: tagged[string](`json:"v" validate:"min=9223372036854775807"`), `"maxItems":4611686018427387904`: tagged[[]int](`json:"v" validate:"max=4611686018427387904"`),
		`"minLength":18446744073709551615`: tagged[string](`json:"v" jsonschema:"minLength=18446744073709551615"`),
		`"maximum":18446744073709551615`:   tagged[uint64](`json:"v" validate:"max=18446744073709551615"`), `"minimum":-9223372036854775808`: tagged[int64](`json:"v" validate:"min=-9223372036854775808"`),
		`at most 2562047h47m16.854775807s`: tagged[time.Duration](`json:"v" validate:"max=9223372036854775807"`), `at least 16ns`: tagged[time.Duration](`json:"v" validate:"min=0x10"`), `at most 8ns`: tagged[time.Duration](`json:"v" validate:"max=010"`),
		`"minLength":16`: tagged[string](`json:"v" validate:"min=0x10"`), `"minimum":8`: tagged[int](`json:"v" validate:"min=010"`), `"maximum":2`: tagged[uint](`json:"v" validate:"max=0b10"`),
		`{"v":{"type":"string"}}`: tagged[string](`json:"v" validate:"min=0"`), `"properties":{"v":{"items":{"type":"integer"},"type":"array"}}`: tagged[[]int](`json:"v" validate:"gt=-1"`),
		`"maxLength":0`: tagged[string](`json:"v" validate:"max=0"`),
	} {
		typ, err := schema.For(of)
		require.NoError(t, err, want)
		require.Contains(t, string(typ.JSON()), want)
	}
	for want, of := range map[string]reflect.Type{
		`"9223372036854775808" is not a length`:             tagged[string](`json:"v" validate:"min=9223372036854775808"`),
		`"9223372036854775808" is not an integer`:           tagged[int64](`json:"v" validate:"min=9223372036854775808"`),
		`"18446744073709551616" is not an unsigned integer`: tagged[uint64](`json:"v" validate:"max=18446744073709551616"`),
		`"9223372036854775808" is not a duration`:           tagged[time.Duration](`json:"v" validate:"max=9223372036854775808"`),
		`minLength cannot be "18446744073709551616"`:        tagged[string](`json:"v" jsonschema:"minLength=18446744073709551616"`),
	} {
		_, err := schema.For(of)
		require.ErrorContains(t, err, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumbers compares what each type of number makes of numbers, and of what is none.
func TestNumbers(t *testing.T) {
	type numbers struct {
		I64 int64   `json:"i64,omitzero" acp:"strict"`
		I32 int32   `json:"i32,omitzero" acp:"strict"`
		U64 uint64  `json:"u64,omitzero" acp:"strict"`
		U32 uint32  `json:"u32,omitzero" acp:"strict"`
		U16 uint16  `json:"u16,omitzero" acp:"strict"`
		F   float64 `json:"f,omitzero" acp:"strict"`
	}
	var told strings.Builder
	for _, text := range []string{
		"0", "-0", "1", "-1", "65535", "65536", "65535.0", "65536.0", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "4294967295.0", "4294967296.0", "9007199254740991.0", "9007199254740992.0", "9007199254740993.0", "9007199254740994.0", "-9007199254740992.0", "-9007199254740994.0",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "5.0", "-5.0", "5e2", "5E-1", "0.5", "1e20", "1e308", "1e309", "-1e309", "1e-400", `"1"`, "true", "[1]", "{}",
	} {
		fmt.Fprintf(&told, "%s:", text)
		for _, name := range []string{"i64", "i32", "u64", "u32", "u16", "f"} {
			var n numbers
			err := unmarshalJSON([]byte(`{"`+name+`":`+text+`}`), &n)
			var got string
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "acp: numbers.")
			} else {
				back, err := marshalJSON(&n)
				require.NoError(t, err)
				got = strings.TrimSuffix(strings.TrimPrefix(string(back), "{"), "}")
			}
			if got == "" {
				got = name + " is zero"
			}
			fmt.Fprintf(&told, " %s;", strings.ReplaceAll(got, `"`, ""))
		}
		told.WriteString("\n")
	}
	for _, f := range []float64{0, 1e-6, 9.99e-7, -1e-6, -9e-7, 1e20, 9.99e20, 1e21, -1e21, 0.1, 100, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		data, err := marshalJSON(&numbers{F: f})
		require.NoError(t, err)
		want, err := json.Marshal(f)
		require.NoError(t, err)
		var back numbers
		require.NoError(t, unmarshalJSON(data, &back))
		require.Equal(t, f, back.F)
		fmt.Fprintf(&told, "%s as %s\n", want, data)
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := marshalJSON(&numbers{F: f})
		fmt.Fprintf(&told, "%v\n", err)
	}
	for _, n := range []int64{0, 1, -1, 40} {
		id := IntID(n)
		number, ok := StringID(id.String()).unquoted()
		require.True(t, ok)
		require.Equal(t, id, number)
	}
	for _, id := range []RequestID{{}, StringID("x"), StringID("é\n"), IntID(-7), StringID(strings.Repeat("y", 38)), StringID(strings.Repeat("y", 39)), StringID(strings.Repeat("y", 38) + "é")} {
		integer, is := id.integer()
		_, quoted := id.unquoted()
		fmt.Fprintf(&told, "id %s null %t integer %d %t unquoted %t shortened %s canonical %s\n", id, id.IsNull(), integer, is, quoted, id.shortened(), id.canonical())
	}
	require.Equal(t, StringID("a").canonical(), RequestID{raw: `"\u0061"`}.canonical())
	goldenText(t, "numbers.txt", told.String())
}

// The types of the protocol are told from others, whatever points to them.
func TestTypesOfTheProtocol(t *testing.T) {
	type named string
	for v, want := range map[any]bool{
		new(SessionID): false, new(PromptRequest): true, (*PromptRequest)(nil): false, (*RequestID)(nil): false, new(RequestID): true, new(Patch): true, new(named): false, new(int): false, "x": false, PromptRequest{}.SessionID: false, new(struct{}): false, new(TooLongError): false, new(map[string]int): false,
	} {
		require.Equal(t, want, ofProtocol(v), "%T", v)
	}
	require.False(t, ofProtocol(nil))
	for want, v := range map[string]any{
		`"s"`: SessionID("s"), `"t"`: new(SessionID("t")), `7`: IntID(7), `null`: nil, `{"type":"x"}`: map[string]string{"type": "x"}, `{"limit":1}`: struct {
			Limit int `json:"limit"`
		}{1}, `{"text":"a"}`: TextContent{Text: "a"},
	} {
		data, err := Marshal(v)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	var id SessionID
	require.NoError(t, Unmarshal([]byte(`"u"`), &id))
	require.Equal(t, SessionID("u"), id)
	require.EqualError(t, Unmarshal([]byte(`{`), new(PromptRequest)), "acp: not valid JSON")
}

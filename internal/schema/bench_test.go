// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

const weatherText = `{"city":"Oslo","days":3,"unit":"celsius"}`

func TestDecodeAllocatesLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	typ := typeFor[weatherQuery](t)
	text := []byte(weatherText)
	plain := testing.AllocsPerRun(200, func() {
		var v weatherQuery
		if json.Unmarshal(text, &v) != nil {
			t.Error("json")
		}
	})
	strict := testing.AllocsPerRun(200, func() {
		var v weatherQuery
		if typ.Decode(text, &v) != nil {
			t.Error("decode")
		}
	})
	// The walk allocates nothing; the validator allocates once for each of the three fields.
	require.LessOrEqual(t, strict, plain+3, "json.Unmarshal alone: %v", plain)
}

func TestSchemaLookupDoesNotAllocate(t *testing.T) {
	of := reflect.TypeFor[weatherQuery]()
	typeFor[weatherQuery](t)
	require.Zero(t, testing.AllocsPerRun(200, func() {
		if _, err := schema.For(of); err != nil {
			t.Error(err)
		}
	}))
}

func BenchmarkDecode(b *testing.B) {
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf(`{"city":"City %d","days":%d,"unit":"celsius"}`, i, i%14+1))
	}
	b.Run("small", func(b *testing.B) { ratio[weatherQuery](b, weatherText, weatherText) })
	list := "[" + strings.Join(items, ",") + "]"
	b.Run("list", func(b *testing.B) { ratio[[]weatherQuery](b, `{"value":`+list+`}`, list) })
	b.Run("kinds", func(b *testing.B) {
		ratio[everyKind](b, everyKindText, strings.Replace(everyKindText, `"1µs"`, "1000", 1))
	})
}

// ratio reports what Decode costs in units of what encoding/json costs alone.
func ratio[T any](b *testing.B, text, plain string) {
	typ := typeFor[T](b)
	b.ReportAllocs()
	for b.Loop() {
		var v T
		if err := typ.Decode([]byte(text), &v); err != nil {
			b.Fatal(err)
		}
	}
	strict := b.Elapsed()
	start := time.Now()
	for range b.N {
		var v T
		if err := json.Unmarshal([]byte(plain), &v); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(strict)/float64(time.Since(start)), "x-json")
}

func BenchmarkRefuse(b *testing.B) {
	typ := typeFor[weatherQuery](b)
	b.ReportAllocs()
	for b.Loop() {
		var v weatherQuery
		if typ.Decode([]byte(`{"city":"Oslo","days":20,"unit":"kelvin"}`), &v) == nil {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkFor(b *testing.B) {
	of := reflect.TypeFor[weatherQuery]()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.For(of); err != nil {
			b.Fatal(err)
		}
	}
}

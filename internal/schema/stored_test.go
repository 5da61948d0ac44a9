// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"reflect"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type everyStored struct {
	listing
	Bool    bool     `json:"bool"`
	Int     int      `json:"int"`
	Int8    int8     `json:"int8"`
	Int16   int16    `json:"int16"`
	Int32   int32    `json:"int32"`
	Int64   int64    `json:"int64"`
	Uint    uint     `json:"uint"`
	Uint64  uint64   `json:"uint64"`
	Float32 float32  `json:"float32"`
	Float64 float64  `json:"float64"`
	String  string   `json:"string"`
	Quoted  int      `json:"quoted,string"`
	Pointer *int     `json:"pointer"`
	List    []string `json:"list"`
	Any     any      `json:"any"`
	Loud    loud     `json:"loud"`
	Wait    time.Duration
	Number  json.Number
	Struct  listing
	Map     map[string]int
}

// selfDecoding reads its own JSON.
type selfDecoding struct {
	N int `json:"n"`
}

func (s *selfDecoding) UnmarshalJSON([]byte) error { s.N = 7; return nil }

func (selfDecoding) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	s.Properties.Set("n", &jsonschema.Schema{Type: "integer"})
	return s
}

// What costs encoding/json no more than a store is stored without it, which takes a fraction of the time: text, signed
// integers, floats and booleans in fields of the struct itself.
func TestFieldsOfPlainKindsAreStoredDirectly(t *testing.T) {
	require.Equal(t, "bool 1, int 2, int8 3, int16 4, int32 5, int64 6, float32 9, float64 10, string 11, Wait 17, Number 18", typeFor[everyStored](t).Stored())
	for _, of := range []reflect.Type{reflectType[string](), reflectType[map[string]int](), reflectType[selfDecoding](), reflectType[[]int]()} {
		typ, err := schema.For(of)
		require.NoError(t, err)
		require.Empty(t, typ.Stored(), of)
	}
	v, err := decode[selfDecoding](t, `{"n":1}`)
	require.NoError(t, err)
	require.Equal(t, selfDecoding{7}, v)
}

// A validator holds hundreds of rules, so types share one, unless their fields need other rules than their tags have.
func TestTypesShareAValidator(t *testing.T) {
	for tag, own := range map[reflect.StructTag]bool{
		`json:"v,omitempty" validate:"omitempty,email"`: false, `json:"v,omitempty" validate:"omitzero,email"`: false, `json:"v,omitempty" validate:"required_with=W,omitempty,email"`: false, `json:"v" validate:"email"`: false,
		`json:"v,omitempty" validate:"required_with=W"`: false, `json:"v" validate:"required,email"`: false, `json:"v"`: false, `json:"v,omitempty" validate:"email"`: false,
		`json:"v,omitempty" validate:"email,required_with=W"`: true, `json:"v,omitempty" validate:"min=2"`: true,
	} {
		typ, err := schema.For(structType(named[string]("V", tag), named[string]("W", `json:"w,omitempty"`)))
		require.NoError(t, err)
		require.Equal(t, own, typ.HasOwnValidator(), tag)
	}
}

// A text that was decoded is not kept: neither by its value nor by what works on the next one.
func TestDecodedTextIsNotKept(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	typ := typeFor[map[string]any](t)
	forgotten := func() bool {
		text := append(make([]byte, 0, 1<<20), `{"value":{"a":{"b":{"c":[1,"x"]}}}}`...)
		var v map[string]any
		require.NoError(t, typ.Decode(text, &v))
		kept := weak.Make(&text[0])
		runtime.GC() // after which a pool still has what it had
		runtime.KeepAlive(v)
		return kept.Value() == nil
	}
	for tries := 1; !forgotten(); tries++ {
		require.Less(t, tries, 3, "it is kept")
	}
}

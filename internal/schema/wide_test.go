// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// Each field of a struct is noticed if it is missing, and if it comes twice, however many there are.
func TestStructsMayHaveManyFields(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 66, 127, 128, 129, 193} {
		var fields []reflect.StructField
		var members []string
		for i := range n {
			fields = append(fields, named[int](fmt.Sprintf("F%d", i), reflect.StructTag(fmt.Sprintf(`json:"f%d"`, i))))
			members = append(members, fmt.Sprintf(`"f%d":%d`, i, i))
		}
		typ, err := schema.For(structType(fields...))
		require.NoError(t, err)
		say := func(members ...string) string {
			if err := typ.Check([]byte("{" + strings.Join(members, ",") + "}")); err != nil {
				return err.Error()
			}
			return ""
		}
		require.Empty(t, say(members...), n)
		for i := range n {
			require.Equal(t, fmt.Sprintf("f%d: required field is missing", i), say(append(append([]string(nil), members[:i]...), members[i+1:]...)...), "of %d", n)
			require.Equal(t, fmt.Sprintf("f%d: duplicate field", i), say(append(append([]string(nil), members...), members[i])...), "of %d", n)
		}
		backwards := make([]string, n)
		for i := range members {
			backwards[n-1-i] = members[i]
		}
		require.Empty(t, say(backwards...), n)
		value := reflect.New(structType(fields...))
		require.NoError(t, typ.Decode([]byte("{"+strings.Join(backwards, ",")+"}"), value.Interface()))
		for i := range n {
			require.Equal(t, int64(i), value.Elem().Field(i).Int())
		}
	}
}

// The fields of structs in structs are counted on their own.
func TestFieldsInFieldsAreCountedOnTheirOwn(t *testing.T) {
	var fields []reflect.StructField
	for i := range 70 {
		fields = append(fields, named[listing](fmt.Sprintf("F%d", i), reflect.StructTag(fmt.Sprintf(`json:"f%d,omitempty"`, i))))
	}
	typ, err := schema.For(structType(fields...))
	require.NoError(t, err)
	require.NoError(t, typ.Check([]byte(`{"f69":{"a":"x","b":1},"f0":{"a":"x"},"f1":{"b":1,"a":"x"}}`)))
	require.EqualError(t, typ.Check([]byte(`{"f69":{"a":"x","a":"y"},"f0":{"b":2},"f69":{"a":"x"}}`)), "f69.a: duplicate field; f0.a: required field is missing; f69: duplicate field")
}

// Up to eight pointers in a row lead to a type.
func TestPointersLeadToATypeOrAreRefused(t *testing.T) {
	eight, err := schema.For(reflectType[********listing]())
	require.NoError(t, err)
	require.Equal(t, typeFor[listing](t), eight)
	_, err = schema.For(reflectType[one[********listing]]())
	require.NoError(t, err)
	_, err = schema.For(reflectType[one[*********listing]]())
	require.ErrorContains(t, err, "field V: *schema_test.listing points only to pointers")
	_, err = schema.For(reflectType[one[selfPointer]]())
	require.ErrorContains(t, err, "field V: schema_test.selfPointer points only to pointers")
}

type selfPointer *selfPointer

// Keys of maps are integers of every size, and nothing else but text.
func TestKeysOfMapsAreIntegersOfAnySize(t *testing.T) {
	for _, test := range []struct {
		of        reflect.Type
		good, bad string
		why       string
	}{
		{reflectType[map[int]bool](), "0 -9223372036854775808 9223372036854775807", "9223372036854775808 -9223372036854775809", "the key must be an integer from -9223372036854775808 to 9223372036854775807"},
		{reflectType[map[int8]bool](), "-128 127", "128 -129", "the key must be an integer from -128 to 127"}, {reflectType[map[int16]bool](), "-32768 32767", "32768", "the key must be an integer from -32768 to 32767"},
		{reflectType[map[int32]bool](), "2147483647", "2147483648", "the key must be an integer from -2147483648 to 2147483647"}, {reflectType[map[int64]bool](), "9223372036854775807", "9223372036854775808", "the key must be an integer from -9223372036854775808 to 9223372036854775807"},
		{reflectType[map[uint]bool](), "0 18446744073709551615", "18446744073709551616", "the key must be an integer from 0 to 18446744073709551615"}, {reflectType[map[uint8]bool](), "255", "256", "the key must be an integer from 0 to 255"},
		{reflectType[map[uint16]bool](), "65535", "65536", "the key must be an integer from 0 to 65535"}, {reflectType[map[uint32]bool](), "4294967295", "4294967296", "the key must be an integer from 0 to 4294967295"},
		{reflectType[map[uint64]bool](), "18446744073709551615", "18446744073709551616", "the key must be an integer from 0 to 18446744073709551615"},
	} {
		typ, err := schema.For(test.of)
		require.NoError(t, err)
		for _, key := range strings.Fields(test.good) {
			require.NoError(t, typ.Check([]byte(`{"value":{"`+key+`":true}}`)), "%v", test.of)
		}
		for _, key := range strings.Fields(test.bad) {
			require.EqualError(t, typ.Check([]byte(`{"value":{"`+key+`":true}}`)), "value["+key+"]: "+test.why, "%v", test.of)
		}
	}
	for _, of := range []reflect.Type{reflectType[map[uintptr]bool](), reflectType[map[bool]bool](), reflectType[map[float32]bool](), reflectType[map[[1]int]bool](), reflectType[map[any]bool]()} {
		_, err := schema.For(of)
		require.EqualError(t, err, fmt.Sprintf("schema: %v: the keys of %v are neither strings nor integers", of, of))
	}
}

// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type badInside struct {
	A int    `json:"a" min:"1" max:"2"`
	B string `json:"b" validate:"nonsense"`
}

// Whoever repairs one field should not find the next one behind it.
func TestEveryBadFieldOfAStructIsReported(t *testing.T) {
	bad := []struct {
		field reflect.StructField
		says  []string
	}{
		{named[string]("Tag", `json:"tag" min:"1" max:"2" binding:"required"`), []string{
			"field Tag: the tag min has no effect", "field Tag: the tag max has no effect", "field Tag: the tag binding has no effect",
		}},
		{named[int]("Malformed", `json:"malformed" min:"1" validate: "min=3"`), []string{"field Malformed: the tag min", "is malformed at"}},
		{named[chan int]("Type", `json:"type"`), []string{"field Type: chan int cannot be encoded"}},
		{named[map[bool]int]("Keys", `json:"keys"`), []string{"field Keys: the keys of"}},
		{named[int]("Enum", `json:"enum" enum:"a"`), []string{"field Enum: enum tag"}},
		{named[int]("Default", `json:"default" default:"x"`), []string{"field Default: the default"}},
		{named[int]("Rule", `json:"rule" validate:"nonsense"`), []string{"field Rule: validate tag"}},
		{named[int]("Range", `json:"range" validate:"min=3,max=2"`), []string{"field Range: no value is left"}},
		{named[int]("Keyword", `json:"keyword" jsonschema:"minLength=3"`), []string{"field Keyword: jsonschema tag"}},
		{named[int]("Described", `json:"described" description:"a" jsonschema_description:"b"`), []string{"field Described: the tags"}},
		{named[string]("Twin", `json:"same"`), nil},
		{named[string]("Double", `json:"same"`), []string{`the fields Twin and Double have the same JSON name "same"`}},
		{named[badInside]("Inside", `json:"inside"`), []string{"field Inside.A: the tag min", "field Inside.A: the tag max", "field Inside.B: validate tag"}},
		{named[[]badInside]("List", `json:"list"`), []string{"field List[].A: the tag min", "field List[].B: validate tag"}},
		{named[map[string]*badInside]("Map", `json:"map"`), []string{"field Map[].A: the tag min", "field Map[].B: validate tag"}},
		{named[string]("Good", `json:"good" validate:"required"`), nil},
	}
	var fields []reflect.StructField
	for _, b := range bad {
		fields = append(fields, b.field)
	}
	for range len(fields) { // whichever comes first
		_, err := schema.For(structType(fields...))
		for _, b := range bad {
			for _, says := range b.says {
				if strings.HasPrefix(says, "the fields Twin") && fields[0].Name == "Double" {
					says = "the fields Double and Twin"
				}
				require.ErrorContains(t, err, says)
			}
		}
		require.NotContains(t, err.Error(), "field Good")
		fields = append(fields[1:], fields[0])
	}
}

// The error of a type that is too large says so once, and not for each of its parts.
func TestTypesThatAreTooLargeAreReportedOnce(t *testing.T) {
	large := reflect.TypeFor[int]()
	for range 5 {
		var fields []reflect.StructField
		for _, name := range strings.Split("ABCDEFGH", "") {
			fields = append(fields, reflect.StructField{Name: name, Type: large})
		}
		large = structType(fields...)
	}
	_, err := schema.For(large)
	require.ErrorContains(t, err, "the schema has more than")
	require.Equal(t, 1, strings.Count(err.Error(), "the schema has more than"))
}

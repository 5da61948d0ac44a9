// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

func TestDescriptionTagDescribesAField(t *testing.T) {
	type inner struct {
		A string `json:"a" description:"The \"first\", of two"`
	}
	type outer struct {
		In   inner             `json:"in" description:"A struct"`
		List []inner           `json:"list" description:"A list" validate:"min=1"`
		Map  map[string]string `json:"map" description:"A map"`
		Wait *int              `json:"wait" description:"Or null"`
	}
	text := string(typeFor[outer](t).JSON())
	for _, want := range []string{
		`"description":"The \"first\", of two"`, `"description":"A struct"`, `"description":"A list"`, `"description":"A map"`,
		`{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"Or null"}`,
	} {
		require.Contains(t, text, want)
	}
}

func TestDescriptionHasOneSource(t *testing.T) {
	type twice struct {
		A string `json:"a" description:"One" jsonschema_description:"Two"`
	}
	_, err := schema.For(reflectType[twice]())
	require.ErrorContains(t, err, "field A: the tags description and jsonschema_description both have a description")
	type mixed struct {
		A string `json:"a" description:"One" jsonschema:"title=T,description=Two"`
	}
	_, err = schema.For(reflectType[mixed]())
	require.ErrorContains(t, err, "field A: the tags jsonschema and description both have a description")
	type fine struct {
		A string `json:"a" description:"One" jsonschema:"title=T"`
	}
	require.Contains(t, string(typeFor[fine](t).JSON()), `{"type":"string","title":"T","description":"One"}`)
}

func TestStringRulesNeedStrings(t *testing.T) {
	type list struct {
		Mails []string `json:"mails" validate:"email"`
	}
	_, err := schema.For(reflectType[list]())
	require.ErrorContains(t, err, `validate tag "email": the rule applies to strings, not to []string`)
	type fine struct {
		Mails []string `json:"mails" validate:"dive,email"`
		Any   any      `json:"any" validate:"email"`
		Count int      `json:"count" validate:"number"`
	}
	typeFor[fine](t)
}

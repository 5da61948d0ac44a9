// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type WithID struct {
	ID string `json:"id" validate:"required"`
}

type OtherID struct {
	ID string `json:"id"`
}

func TestFieldsWithOneNameAreErrors(t *testing.T) {
	for name, test := range map[string]struct {
		of   reflect.Type
		want string
	}{
		"two embedded structs, one of them required": {structType(embed[WithID](""), embed[OtherID]("")),
			`the fields WithID.ID and OtherID.ID have the same JSON name "id", so encoding/json ignores both; rename one of them`},
		"an embedded pointer": {structType(embed[*Extra](""), embed[More2]("")),
			`the fields Extra.More and More2.More have the same JSON name "more"`},
		"two fields":            {structType(named[string]("A", `json:"x"`), named[string]("B", `json:"x"`)), `the fields A and B have the same JSON name "x"`},
		"a name that is no tag": {structType(named[string]("A", `json:"B"`), named[string]("C", `json:"B"`), named[int]("D", ``)), `the fields A and C have the same JSON name "B"`},
		"inside": {reflect.StructOf([]reflect.StructField{{Name: "List", Type: reflect.SliceOf(structType(embed[WithID](""), embed[OtherID]("")))}}),
			`field List[]: the fields WithID.ID and OtherID.ID`},
		"a rule of a field that another one hides": {structType(embed[WithID](""), named[int]("Other", `json:"id"`)),
			`field WithID.ID: the field Other has the same JSON name "id" and hides it, so its validate tag cannot apply`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.For(test.of)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// structType makes a struct type at run time, because go vet finds such mistakes in source text.
func structType(fields ...reflect.StructField) reflect.Type { return reflect.StructOf(fields) }

func named[T any](name string, tag reflect.StructTag) reflect.StructField {
	return reflect.StructField{Name: name, Type: reflect.TypeFor[T](), Tag: tag}
}

func embed[T any](tag reflect.StructTag) reflect.StructField {
	t := reflect.TypeFor[T]()
	name := t.Name()
	if t.Kind() == reflect.Pointer {
		name = t.Elem().Name()
	}
	return reflect.StructField{Name: name, Type: t, Tag: tag, Anonymous: true}
}

type More2 struct {
	More string `json:"more"`
}

// everyKindOfType are types of all kinds that a field may have.
var everyKindOfType = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[*string](), reflect.TypeFor[int](), reflect.TypeFor[*int8](), reflect.TypeFor[uint](), reflect.TypeFor[uint16](),
	reflect.TypeFor[float64](), reflect.TypeFor[*float32](), reflect.TypeFor[bool](), reflect.TypeFor[any](), reflect.TypeFor[time.Time](), reflect.TypeFor[*time.Time](),
	reflect.TypeFor[time.Duration](), reflect.TypeFor[[]byte](), reflect.TypeFor[[]string](), reflect.TypeFor[[]int](), reflect.TypeFor[[][]int](), reflect.TypeFor[[]any](),
	reflect.TypeFor[[2]*int](), reflect.TypeFor[map[string]int](), reflect.TypeFor[map[int]string](), reflect.TypeFor[map[string]any](), reflect.TypeFor[map[string][]int](),
	reflect.TypeFor[[]WithID](), reflect.TypeFor[WithID](), reflect.TypeFor[*WithID](), reflect.TypeFor[color](), reflect.TypeFor[shape](), reflect.TypeFor[celsius](),
	reflect.TypeFor[[]struct{ ID []int }](), reflect.TypeFor[[]struct{ ID any }](), reflect.TypeFor[map[string]struct{ ID any }](),
}

// documentsOfEveryKind are values for fields of all kinds.
var documentsOfEveryKind = []string{
	`null`, `""`, `"a"`, `"1h"`, `"2026-01-02T03:04:05Z"`, `"aGk="`, `"red"`, `0`, `1`, `3`, `1.5`, `true`, `[]`, `["a"]`, `[1]`, `[1,2]`, `[[1],[1]]`, `[[],{}]`, `[null,1]`,
	`{}`, `{"a":1}`, `{"a":[1],"b":[1]}`, `{"1":"a","2":"b"}`, `[{"id":"a"}]`, `{"id":"a"}`, `[{"ID":[1]},{"ID":[1]}]`, `{"a":{"ID":[1]},"b":{"ID":[1]}}`,
}

// Whatever the validator panics about is found when the schema is made. The test tries each rule on each kind of field,
// and then decodes.
func TestRulesThatPanicAreErrors(t *testing.T) {
	var rules []string
	for _, rule := range schema.BakedInRules() {
		for _, param := range []string{"", "=1", "=a", "=x y", "=W", "=Other", "=Other 1", "=Other 1 V", "=Other x", "=ID", "=Inner.List[0].N", "=Inner.Any.N", "=2006-01-02"} {
			rules = append(rules, rule+param)
		}
	}
	rules = append(rules, "dive", "dive,min=1", "dive,dive", "dive,unique", "dive,keys,min=1,endkeys", "dive,keys,min=1", "keys,min=1,endkeys", "min=1,endkeys", "endkeys,min=1", "min=1|email",
		"email|min=1", "omitempty,unique", "structonly", "nostructlevel", "isdefault", "omitnil,min=1")
	made, refused := 0, 0
	step := 8
	if testing.Short() {
		step = 61
	}
	for i, typ := range everyKindOfType {
		for j, rule := range rules {
			if (i+j)%step != 0 {
				continue
			}
			st := reflect.StructOf([]reflect.StructField{
				{Name: "V", Type: typ, Tag: reflect.StructTag(fmt.Sprintf(`json:"v" validate:%q`, rule))},
				{Name: "Other", Type: reflect.TypeFor[int](), Tag: `json:"other,omitempty"`},
				{Name: "Inner", Type: reflect.TypeFor[*struct {
					List []struct{ N int } `json:"list,omitempty"`
					Any  any               `json:"any,omitempty"`
				}](), Tag: `json:"inner,omitempty"`},
			})
			s, err := schema.For(st)
			if err != nil {
				refused++
				require.ErrorContains(t, err, "V", "the error names the field")
				continue
			}
			made++
			for _, value := range documentsOfEveryKind {
				for _, text := range []string{`{"v":` + value + `}`, `{"v":` + value + `,"inner":{"list":[{"N":1}],"any":1}}`} {
					err := s.Decode([]byte(text), reflect.New(st).Interface())
					if err != nil {
						require.ErrorAs(t, err, new(*schema.Error), "%v %s %s", typ, rule, text)
					}
				}
			}
		}
	}
	t.Logf("%d types were made, %d refused", made, refused)
	require.Greater(t, made, 4000/step)
	require.Greater(t, refused, 6000/step)
}

func TestRulesThatCannotWorkAreErrors(t *testing.T) {
	for name, test := range map[string]struct {
		of   reflect.Type
		want string
	}{
		"unique on lists": {reflectType[struct {
			V [][]int `validate:"unique"`
		}](), "values of type []int cannot be compared"},
		"unique on structs with lists": {reflectType[struct {
			V []struct{ W []int } `validate:"unique"`
		}](), "cannot be compared"},
		"a field that does not exist": {reflectType[struct {
			V int `validate:"gtfield=W"`
		}](), `validate tag "gtfield=W": struct { V int "validate:\"gtfield=W\"" } has no field W (rules use the names of Go fields)`},
		"a JSON name for a Go name": {reflectType[struct {
			V int `json:"v" validate:"gtfield=w"`
			W int `json:"w"`
		}](), "has no field w (rules use the names of Go fields)"},
		"another kind": {reflectType[struct {
			V int `validate:"gtfield=W"`
			W string
		}](), `field V: validate tag "gtfield=W": it does not compare int with string`},
		"bools in order": {reflectType[struct {
			V, W bool `validate:"gtfield=W"`
		}](), "it does not compare bool with bool"},
		"a condition with a bad value": {reflectType[struct {
			V int `validate:"required_if=W 1 X y"`
			W int
			X *int
		}](), `validate tag "required_if=W 1 X y": the rule does not apply to int`},
		"keys of nothing": {reflectType[struct {
			V map[string]int `validate:"keys,min=1,endkeys"`
		}](), `validate tag "keys": it must follow dive`},
		"keys of a list": {reflectType[struct {
			V []string `validate:"dive,keys,min=1,endkeys"`
		}](), "keys needs a map, not []string"},
		"keys of a list, and no more": {reflectType[struct {
			V []string `validate:"dive,keys"`
		}](), `validate tag "dive": keys needs a map, not []string`},
		"dive into a number": {reflectType[struct {
			V int `validate:"dive"`
		}](), `validate tag "dive": it needs a list or a map, not int`},
		"a rule without a name": {reflectType[struct {
			V int `validate:"=1"`
		}](), `validate tag "=1": the rule is unknown`},
		"half a condition": {reflectType[struct {
			V int `validate:"required_if=W"`
			W int
		}](), "it needs pairs of a field and a value"},
		"a field in an embedded pointer": {reflectType[struct {
			*Extra
			V string `validate:"eqfield=More"`
		}](), "nil pointer to embedded struct"},
		"in a list of lists": {reflectType[struct {
			V []struct {
				W [][][]any `validate:"dive,unique"`
			}
		}](), "field V[].W: validate tag \"unique\": values of type []interface {} cannot be compared"},
		"on the keys of a map": {reflectType[struct {
			V map[int]string `validate:"dive,keys,email,endkeys"`
		}](), "the rule applies to strings, not to int"},
		"unique by a field that cannot be compared": {reflectType[struct {
			V []struct{ W []int } `validate:"unique=W"`
		}](), "values of type []int cannot be compared"},
		"a comparison with a field of the root": {reflectType[struct { // which the validator looks for beside V
			X int
			W struct {
				V int `validate:"eqcsfield=X"`
			}
		}](), "has no field X"},
		"bounds of a number that exclude all": {reflectType[struct {
			V *int `json:"v,omitempty" validate:"min=5,max=3"`
		}](), "field V: no value is left that the rules allow"},
		"bounds of a float that touch": {reflectType[struct {
			V float64 `validate:"gt=3,lte=3"`
		}](), "field V: no value is left that the rules allow"},
		"a bound beyond the type": {reflectType[struct {
			V uint8 `validate:"min=300"`
		}](), "field V: no value is left that the rules allow"},
		"lengths that exclude all": {reflectType[struct {
			V [][]string `validate:"dive,dive,len=3,min=4"`
		}](), "field V: no value is left that the rules allow"},
		"items that exclude all": {reflectType[struct {
			V map[string][2]int `validate:"dive,min=3"`
		}](), "field V: no value is left that the rules allow"},
		"a number twice": {reflectType[struct {
			V int `validate:"oneof=1 2 1"`
		}](), `field V: validate tag "oneof=1 2 1": 1 is there twice`},
		"a text twice, as a key": {reflectType[struct {
			V map[string]int `validate:"dive,keys,oneof='a b' 'a b',endkeys"`
		}](), `"a b" is there twice`},
		"values below the bound": {reflectType[struct {
			V int `validate:"oneof=1 2,min=3"`
		}](), "field V: no value is left that the rules allow"},
		"values of another length": {reflectType[struct {
			V []string `enum:"aa,bb" validate:"dive,len=3"`
		}](), "field V: no value is left that the rules allow"},
		"values with another beginning": {reflectType[struct {
			V string `json:",omitempty" validate:"oneof=ab cd,startswith=x"`
		}](), "field V: no value is left that the rules allow"},
		"fewer values than items": {reflectType[struct {
			V []string `validate:"unique,min=3,dive,oneof=a b"`
		}](), "field V: no value is left that the rules allow"},
		"unique on values that may be null": {reflectType[struct {
			V map[string]*shape `validate:"unique"`
		}](), "values of type schema_test.shape cannot be compared"},
		"no integer between bounds": {reflectType[struct {
			V []int `validate:"dive,gt=3,lt=4"`
		}](), "field V: no value is left that the rules allow"},
		"no multiple between bounds": {reflectType[struct {
			V *int8 `jsonschema:"multipleOf=10" validate:"min=-9,max=-1"`
		}](), "field V: no value is left that the rules allow"},
		"more items than there are bools": {reflectType[struct {
			V []bool `validate:"unique,min=3"`
		}](), "field V: no value is left that the rules allow"},
		"letters that are digits": {reflectType[struct {
			V string `validate:"alphanum,alpha,numeric"`
		}](), "field V: no value is left that the rules allow"},
		"a number with and without a sign": {reflectType[struct {
			V *string `validate:"number,e164"`
		}](), "field V: no value is left that the rules allow"},
		"a required text that must be empty": {reflectType[struct {
			V string `validate:"required,isdefault"`
		}](), "field V: no value is left that the rules allow"},
		"zero above a bound": {reflectType[struct {
			V int `validate:"isdefault,min=1"`
		}](), "field V: no value is left that the rules allow"},
		"values that are no addresses": {reflectType[struct {
			V string `enum:"a,b" validate:"email"`
		}](), "field V: no value is left that the rules allow"},
		"a value that is refused": {reflectType[struct {
			V string `validate:"eq=a,ne=a"`
		}](), "field V: no value is left that the rules allow"},
		"bounds of a duration that exclude all": {reflectType[struct {
			V *time.Duration `validate:"min=5s,lt=1s"`
		}](), `field V: validate tag "lt=1s": no value is left that the rules allow`},
		"fewer keys than entries": {reflectType[struct {
			V map[string]int `validate:"min=3,dive,keys,oneof=a b,endkeys"`
		}](), "field V: no value is left that the rules allow"},
		"a number that is text": {reflectType[struct {
			V json.Number `validate:"min=3"`
		}](), "the rule counts the characters of a json.Number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.For(test.of)
			require.ErrorContains(t, err, test.want)
		})
	}
	typeFor[struct {
		A float64       `json:"a" validate:"gt=3,lt=4"`
		B int           `json:"b" validate:"gt=3,lt=5"`
		C time.Duration `json:"c" validate:"min=1s,max=1s"`
		D string        `json:"d,omitempty" validate:"omitempty,oneof=a a@b.org,email"`
		E int64         `json:"e" jsonschema:"multipleOf=10" validate:"min=-10,max=-1"`
		F int64         `json:"f" jsonschema:"multipleOf=9223372036854775807" validate:"min=-9223372036854775808,max=9223372036854775807"`
		G string        `json:"g" validate:"hexadecimal,alpha,alphanum,startswith=b"`
		H []bool        `json:"h" validate:"unique,min=2"`
		I int           `json:"i" validate:"required,isdefault"`
		J *string       `json:"j" validate:"isdefault"`
		K int64         `json:"k" jsonschema:"multipleOf=10" validate:"min=1,max=10"`
		L int64         `json:"l" jsonschema:"multipleOf=10" validate:"min=-10,max=-10"`
		M int64         `json:"m" jsonschema:"multipleOf=10" validate:"min=-9,max=0"`
	}](t)
	require.Contains(t, string(typeFor[struct {
		V int `json:"v" validate:"omitempty,oneof=0 1"`
	}](t).JSON()), `"enum":[0,1]`, "zero is not listed twice")
}

type (
	endlessList struct {
		Next *endlessList `json:"next" validate:"required"`
	}
	endlessTree struct {
		Kids []endlessTree `json:"kids" validate:"min=1"`
	}
	endlessMap struct {
		Kids map[string][1]*endlessMap `json:"kids" validate:"len=2"`
	}
	endlessPair struct {
		Other *endlessOther `json:"other" validate:"required"`
	}
	endlessOther struct {
		In struct {
			Back *endlessPair `json:"back" validate:"required"`
		} `json:"in"`
		Twice *endlessPair `json:"twice,omitempty"`
	}
	endlessBoth struct {
		First  *endingList  `json:"first" validate:"required"`
		Second *endingList  `json:"second" validate:"required"`
		Third  *endlessBoth `json:"third" validate:"required"`
	}
	endingList struct {
		Next *endingList  `json:"next"`
		Tail *endlessLike `json:"tail,omitempty" validate:"omitempty"`
		Kids []endingList `json:"kids" validate:"required,dive,required"`
		More []endingList `json:"more,omitempty" jsonschema:"minItems=0" validate:"min=1"`
	}
	endlessLike struct {
		List *endingList  `json:"list" validate:"required"`
		Same *endlessLike `json:"same" jsonschema:"nullable"`
	}
)

func TestTypesWhoseValuesHaveNoEndAreErrors(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"each schema_test.endlessList must have another one in next, so none has an end; make it optional": reflectType[endlessList](),
		"each schema_test.endlessTree must have another one in kids[]":                                     reflectType[endlessTree](),
		"each schema_test.endlessMap must have another one in kids[][]":                                    reflectType[endlessMap](),
		"field Other: each schema_test.endlessOther must have another one in in.back.other":                reflectType[struct{ Other *endlessOther }](),
		"each schema_test.endlessBoth must have another one in third":                                      reflectType[endlessBoth](),
		"field List[].V: each schema_test.endlessList must have another one in next": reflectType[struct {
			List []struct {
				V *endlessList `json:"v,omitempty"`
			}
		}](),
	} {
		_, err := schema.For(typ)
		require.ErrorContains(t, err, want)
	}
	_, err := decode[endlessLike](t, `{"list":{"next":null,"kids":[]},"same":null}`)
	require.NoError(t, err)
}

// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"flag"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

type nothing struct{}

type everyKind struct {
	Bool     bool              `json:"bool"`
	Int      int               `json:"int"`
	Int8     int8              `json:"int8"`
	Int64    int64             `json:"int64,omitempty"`
	Uint16   uint16            `json:"uint16"`
	Float32  float32           `json:"float32"`
	Float64  float64           `json:"float64,omitempty"`
	String   string            `json:"string"`
	Bytes    []byte            `json:"bytes"`
	Digest   [2]byte           `json:"digest"`
	Strings  []string          `json:"strings"`
	Grid     [][]int           `json:"grid"`
	Labels   map[string]string `json:"labels"`
	Deep     map[string][]int  `json:"deep"`
	Any      any               `json:"any"`
	Raw      json.RawMessage   `json:"raw"`
	Number   json.Number       `json:"number"`
	Big      big.Int           `json:"big"`
	Time     time.Time         `json:"time"`
	Duration time.Duration     `json:"duration"`
	Quoted   int64             `json:"quoted,string"`
	Unsigned uint8             `json:"unsigned,string"`
	Flag     bool              `json:"flag,string"`
	Nested   struct {
		Inner int `json:"inner"`
	} `json:"nested"`
	Pointer  *string `json:"pointer"`
	Optional *int    `json:"optional,omitempty"`
	Untagged string
	Hidden   string `json:"-"`
}

type everyRule struct {
	Required  string            `json:"required" validate:"required"`
	Confirmed bool              `json:"confirmed" validate:"required"`
	Count     uint              `json:"count" validate:"required"`
	Signed    int               `json:"signed" validate:"required"`
	Forced    int               `json:"forced,omitempty" validate:"required,max=9"`
	Pointer   *int              `json:"pointer" validate:"required"`
	Text      string            `json:"text" validate:"min=2,max=5"`
	Exact     string            `json:"exact" validate:"len=3"`
	Between   string            `json:"between" validate:"gt=2,lt=5"`
	Int       int               `json:"int" validate:"gte=-3,lte=0x10"`
	Float     float64           `json:"float" validate:"gt=-0.5,lt=1e3"`
	Narrow    float64           `json:"narrow" validate:"gt=0,lt=1"`
	Wait      time.Duration     `json:"wait" validate:"min=1s"`
	Tags      []string          `json:"tags" validate:"min=1,max=3,unique,dive,required,max=10"`
	Matrix    [][]int           `json:"matrix" validate:"min=2,dive,len=2,dive,min=0"`
	Sizes     map[string]int    `json:"sizes" validate:"max=2,dive,keys,alpha,endkeys,min=1"`
	Color     string            `json:"color" validate:"oneof=red 'dark blue' green"`
	Level     int               `json:"level" validate:"oneof=1 2 3"`
	Fixed     string            `json:"fixed" validate:"eq=yes"`
	Maybe     int               `json:"maybe,omitempty" validate:"omitempty,min=3,max=7"`
	Choice    string            `json:"choice" validate:"omitempty,oneof=a b"`
	Mail      string            `json:"mail" validate:"email"`
	LongMail  string            `json:"long_mail" validate:"email,min=30"`
	Link      string            `json:"link" validate:"url"`
	Secure    string            `json:"secure" validate:"http_url"`
	Resource  string            `json:"resource" validate:"uri"`
	ID        string            `json:"id" validate:"uuid4"`
	AnyID     string            `json:"any_id" validate:"uuid"`
	Address   string            `json:"address" validate:"ipv4"`
	Address6  string            `json:"address6" validate:"ipv6"`
	Host      string            `json:"host" validate:"hostname"`
	Name      string            `json:"name" validate:"fqdn"`
	Date      string            `json:"date" validate:"datetime=2006-01-02"`
	Stamp     string            `json:"stamp" validate:"datetime=2006-01-02T15:04:05Z07:00"`
	Word      string            `json:"word" validate:"alphanum"`
	Letters   string            `json:"letters" validate:"alpha,len=7"`
	Numeric   string            `json:"numeric" validate:"numeric"`
	Digits    string            `json:"digits" validate:"number,min=4"`
	Hex       string            `json:"hex" validate:"hexadecimal"`
	Phone     string            `json:"phone" validate:"e164"`
	Prefixed  string            `json:"prefixed" validate:"startswith=v1.,max=9"`
	Suffixed  string            `json:"suffixed" validate:"endswith=.go,min=6"`
	Contained string            `json:"contained" validate:"contains=@"`
	Skipped   string            `json:"skipped" validate:"-"`
	Meta      map[string]string `json:"meta,omitempty" validate:"omitempty,min=2"`
	Full      map[string]string `json:"full" validate:"min=3"`
}

type everyKeyword struct {
	Title    string   `json:"title" jsonschema:"minLength=1,maxLength=9,pattern=^[a-z]*$"`
	Plate    string   `json:"plate" jsonschema:"pattern=^[A-Z]{1\\,3}-[A-Z]{2} [1-9][0-9]{0\\,3}$"`
	Version  string   `json:"version" jsonschema:"pattern=^v(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-rc)?$,minLength=6"`
	Enum     string   `json:"enum" jsonschema:"enum=a,enum=b"`
	Number   float64  `json:"number" jsonschema:"minimum=0,exclusiveMaximum=10,multipleOf=0.5"`
	Step     int      `json:"step" jsonschema:"multipleOf=25,exclusiveMinimum=100"`
	Negative int      `json:"negative" jsonschema:"maximum=-7"`
	List     []string `json:"list" jsonschema:"minItems=1,maxItems=2,uniqueItems=true,enum=p,enum=q"`
	Distinct []int    `json:"distinct" jsonschema:"minItems=5,uniqueItems=true"`
	Forced   string   `json:"forced,omitempty" jsonschema:"required"`
	Nullable string   `json:"nullable" jsonschema:"nullable"`
}

type embedded struct {
	ID string `json:"id" validate:"required"`
}

type embedding struct {
	embedded
	*Extra
	First string `json:"first"`
}

type Extra struct {
	More string `json:"more,omitempty" validate:"omitempty,email"`
}

type tree struct {
	Name  string           `json:"name" validate:"required"`
	Left  *tree            `json:"left"`
	Kids  []tree           `json:"kids" validate:"max=2"`
	Named map[string]*tree `json:"named,omitempty"`
}

type page[T any] struct {
	Items []T    `json:"items" validate:"min=2"`
	Next  string `json:"next,omitempty"`
}

type edit struct {
	Path  string `json:"path" validate:"required,max=4096"`
	Edits []struct {
		Old string `json:"old" validate:"required"`
		New string `json:"new"`
	} `json:"edits" validate:"required,min=1,max=100"`
	DryRun bool `json:"dry_run,omitempty"`
}

// tool has the parts of a toolset.Tool that the tests need.
type tool struct {
	schema json.RawMessage
	decode func([]byte) (any, error)
}

func toolOf[In any](t *testing.T) tool {
	t.Helper()
	made := toolset.Func("tool", "", func(context.Context, *toolset.RunContext[nothing], In) (string, error) { return "", nil })
	require.NoError(t, made.Err())
	return tool{made.Def.Schema, made.Decode}
}

var argumentSeeds = flag.Uint64("argument-seeds", 20, "how many arguments TestGeneratedArgumentsAreValid makes for each type")

func TestGeneratedArgumentsAreValid(t *testing.T) {
	seeds := *argumentSeeds
	if raceEnabled { // nothing in this test is concurrent
		seeds = 5
	}
	for name, tool := range map[string]tool{
		"nothing":   toolOf[nothing](t),
		"kinds":     toolOf[everyKind](t),
		"rules":     toolOf[everyRule](t),
		"keywords":  toolOf[everyKeyword](t),
		"embedding": toolOf[embedding](t),
		"recursive": toolOf[tree](t),
		"generic":   toolOf[page[everyRule]](t),
		"nested":    toolOf[page[page[tree]]](t),
		"maps": toolOf[struct {
			M map[string]map[string]everyKeyword
		}](t),
		"edit":      toolOf[edit](t),
		"anonymous": toolOf[struct{ A, B, C struct{ X []*int } }](t),
		"pointer":   toolOf[*edit](t),
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				args := arguments(t, tool.schema, seed)
				_, err := tool.decode(args)
				require.NoError(t, err, "seed %d: %s", seed, args)
			}
		})
	}
}

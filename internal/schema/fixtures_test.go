// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type weatherQuery struct {
	City string `json:"city" jsonschema:"description=City to look up" validate:"required"`
	Days int    `json:"days,omitempty" validate:"omitempty,min=1,max=14"`
	Unit string `json:"unit,omitempty" validate:"omitempty,oneof=celsius fahrenheit"`
}

type everyKind struct {
	Bool     bool              `json:"bool"`
	Int      int               `json:"int"`
	Int8     int8              `json:"int8"`
	Uint16   uint16            `json:"uint16"`
	Float32  float32           `json:"float32"`
	String   string            `json:"string"`
	Bytes    []byte            `json:"bytes"`
	Digest   [2]byte           `json:"digest"`
	Strings  []string          `json:"strings"`
	Grid     [][]int           `json:"grid"`
	Labels   map[string]string `json:"labels"`
	Any      any               `json:"any"`
	Anys     map[string]any    `json:"anys"`
	Raw      json.RawMessage   `json:"raw" jsonschema:"description=Any JSON"`
	Number   json.Number       `json:"number"`
	Time     time.Time         `json:"time"`
	Duration time.Duration     `json:"duration" jsonschema:"description=How long"`
	Quoted   int64             `json:"quoted,string"`
	Flag     bool              `json:"flag,string"`
	Nested   struct {
		Inner int `json:"inner"`
	} `json:"nested"`
	Untagged string
	Ignored  string `json:"-"`
	//lint:ignore SA5008 this is how a field gets the name "-"
	Dash   string `json:"-,"`
	Hidden string `json:"hidden" jsonschema:"-"`
	//lint:ignore U1000 a schema must not show it
	private string
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
	Wait      time.Duration     `json:"wait" validate:"min=1s"`
	Tags      []string          `json:"tags" validate:"min=1,max=3,unique,dive,required,max=10"`
	Matrix    [][]int           `json:"matrix" validate:"dive,len=2,dive,min=0"`
	Sizes     map[string]int    `json:"sizes" validate:"max=2,dive,keys,alpha,endkeys,min=1"`
	Color     string            `json:"color" validate:"oneof=red 'dark blue' green"`
	Level     int               `json:"level" validate:"oneof=1 2 3"`
	Fixed     string            `json:"fixed" validate:"eq=yes"`
	Other     int               `json:"other" validate:"ne=5"`
	Maybe     int               `json:"maybe" validate:"omitempty,min=3,max=7"`
	Choice    string            `json:"choice" validate:"omitempty,oneof=a b"`
	Mail      string            `json:"mail" validate:"email"`
	Link      string            `json:"link" validate:"url"`
	ID        string            `json:"id" validate:"uuid4"`
	Address   string            `json:"address" validate:"ipv4"`
	Host      string            `json:"host" validate:"hostname"`
	Date      string            `json:"date" validate:"datetime=2006-01-02"`
	Word      string            `json:"word" validate:"alphanum"`
	Prefixed  string            `json:"prefixed" validate:"startswith=v1."`
	Either    string            `json:"either" validate:"ipv4|ipv6"`
	After     int               `json:"after" validate:"gtfield=Int"`
	Skipped   string            `json:"skipped" validate:"-"`
	Encoded   []byte            `json:"encoded" validate:"min=10"`
	Meta      map[string]string `json:"meta,omitempty" validate:"omitempty,min=1"`
}

type everyKeyword struct {
	Title    string   `json:"title" jsonschema:"title=The title,description=One\\, two,minLength=1,maxLength=9,pattern=^[a-z]*$,default=x,example=y"`
	Enum     string   `json:"enum" jsonschema:"enum=a,enum=b"`
	Number   float64  `json:"number" jsonschema:"minimum=0,exclusiveMaximum=10,multipleOf=0.5"`
	Level    int      `json:"level" jsonschema:"enum=1,enum=2,default=1"`
	List     []string `json:"list" jsonschema:"minItems=1,maxItems=2,uniqueItems=true,enum=p,enum=q"`
	Flag     bool     `json:"flag,omitempty" jsonschema:"default=true"`
	Forced   string   `json:"forced,omitempty" jsonschema:"required"`
	Nullable string   `json:"nullable" jsonschema:"nullable,description=May be null"`
	Long     string   `json:"long" jsonschema_description:"A text, with a comma."`
	Extra    string   `json:"extra" jsonschema_extras:"x-order=1"`
}

type base struct {
	ID     string `json:"id" validate:"required"`
	Shadow string `json:"shadow"`
}

type lower struct {
	Low int `json:"low"`
}

type embedding struct {
	First string `json:"first"`
	base
	*Extra
	lower  `json:"lower"`
	Shadow int `json:"shadow"`
}

type Extra struct {
	More string `json:"more,omitempty" validate:"omitempty,email"`
}

type optionality struct {
	Required        string  `json:"required"`
	Omitempty       string  `json:"omitempty,omitempty"`
	Omitzero        string  `json:"omitzero,omitzero"`
	Nullable        *string `json:"nullable" jsonschema:"description=Or none"`
	OptionalPointer *string `json:"optional_pointer,omitempty"`
	Struct          *base   `json:"struct"`
}

type tree struct {
	Name  string           `json:"name" validate:"required"`
	Left  *tree            `json:"left"`
	Kids  []tree           `json:"kids,omitempty" validate:"max=2"`
	Named map[string]*tree `json:"named,omitempty"`
}

type forest []forest

type color struct{ name string }

func (c *color) UnmarshalText(text []byte) error {
	if s := string(text); s != "red" && s != "green" {
		return fmt.Errorf("no color %q", s)
	}
	c.name = string(text)
	return nil
}

type shape struct{ Sides int }

func (s *shape) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &s.Sides); err != nil || s.Sides < 3 {
		return fmt.Errorf("no shape has %s sides", text)
	}
	return nil
}

type celsius float64

func (celsius) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Version: jsonschema.Version, Type: "number", Minimum: "-273.15", Description: "Degrees"}
}

type extended struct {
	A int `json:"a"`
}

func (extended) JSONSchemaExtend(s *jsonschema.Schema) { s.Description = "Extended" }

type currency string

func (currency) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Ref:         "#/$defs/currency",
		Definitions: jsonschema.Definitions{"currency": {Type: "string", Pattern: "^[A-Z]{3}$"}},
	}
}

type customTypes struct {
	From     currency         `json:"from"`
	To       currency         `json:"to"`
	Color    color            `json:"color" jsonschema:"description=Name of a color"`
	Shape    *shape           `json:"shape"`
	Celsius  celsius          `json:"celsius"`
	Extended extended         `json:"extended"`
	Big      big.Int          `json:"big"`
	Addr     netip.Addr       `json:"addr"`
	ByColor  map[string]color `json:"by_color,omitempty"`
}

type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// decode decodes text into a new T.
func decode[T any](t testing.TB, text string) (T, error) {
	t.Helper()
	var v T
	err := typeFor[T](t).Decode([]byte(text), &v)
	return v, err
}

func typeFor[T any](t testing.TB) *schema.Type {
	t.Helper()
	typ, err := schema.For(reflectType[T]())
	require.NoError(t, err)
	return typ
}

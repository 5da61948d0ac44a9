// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-playground/validator/v10"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/schema"
)

// arguments returns those with which the model calls a tool that has a schema.
func arguments(t *testing.T, schema json.RawMessage, seed uint64) json.RawMessage {
	t.Helper()
	msg, err := modeltest.Auto(modeltest.Seeded(seed)).Generate(t.Context(), &model.Request{
		Messages: []*model.Message{model.UserText("go")}, Tools: []model.ToolDef{{Name: "t", Schema: schema}},
	}, nil)
	require.NoError(t, err)
	return json.RawMessage(msg.Parts[0].Args)
}

// oneField is a struct with one field that has a validate tag.
func oneField(t reflect.Type, rule string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "V", Type: t, Tag: reflect.StructTag(`json:"v" validate:"` + rule + `"`)}})
}

func TestAutoKeepsRulesAboutStrings(t *testing.T) {
	withParam := map[string]string{
		"contains": "@x", "containsany": "!?", "containsrune": "☃", "datetime": "02 Jan 06 15:04 MST", "endsnotwith": "a", "endswith": ".go",
		"eq": "b", "eq_ignore_case": "bC", "excludes": "a", "excludesall": "abc", "excludesrune": "a", "gt": "4", "gte": "4", "len": "4", "lt": "4",
		"lte": "4", "max": "4", "min": "4", "ne": "a", "ne_ignore_case": "A", "oneof": "x 'y z'", "oneofci": "X y", "postcode_iso3166_alpha2": "DE",
		"startsnotwith": "a", "startswith": "go-", "spicedb": "id",
	}
	// What follows from other things than the text, has fields of its own to be compared with, or is no rule about a text.
	none := []string{
		"dir", "file", "image", "dirpath", "filepath", "unique", "isdefault", "port", "iso4217_numeric", "postcode_iso3166_alpha2_field", "fieldcontains", "fieldexcludes",
		"skip_unless", "required_if", "required_unless", "required_with", "required_with_all", "required_without", "required_without_all",
		"excluded_if", "excluded_unless", "excluded_with", "excluded_with_all", "excluded_without", "excluded_without_all",
	}
	rules := []string{"ipv4|ipv6", "cidrv4|semver", "iscolor", "country_code", "eu_country_code", "uuid3", "min=5,cidr", "cidr,contains=:", "alpha,lowercase,len=4", "ne=a,ne=b",
		"email,endswith=@acme.com", "url,endswith=.pdf", "hostname,endswith=.internal", "fqdn,startswith=a", "semver,contains=-",
		"e164,startswith=+49", "startswith=a,endswith=z,len=5", "startswith=a,contains=b,endswith=c", "startswith=sk-,len=20", "ip,startswith=10.", "timezone,startswith=Europe/",
	}
	registered := reflect.ValueOf(validator.New()).Elem().FieldByName("validations")
	for _, key := range registered.MapKeys() {
		rule := key.String()
		if len(rule) > 5 && rule[len(rule)-5:] == "field" || slices.Contains(none, rule) {
			continue
		}
		if param := withParam[rule]; param != "" {
			rule += "=" + param
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	said := openWording(t) // seeds give the values that they gave before
	for _, rule := range rules {
		t.Run(rule, func(t *testing.T) {
			typ, err := schema.For(oneField(reflect.TypeFor[string](), rule))
			require.NoError(t, err)
			var all []string
			for seed := range uint64(3) {
				args := arguments(t, typ.JSON(), seed)
				require.NoError(t, typ.Check(args), "%s", args)
				all = append(all, string(args))
			}
			said.same(t, rule, strings.Join(all, "\n"))
		})
	}
}

type rulesOfSeveralFields struct {
	Low      int           `json:"low" validate:"min=5"`
	High     int           `json:"high" validate:"gtfield=Low"`
	Begin    time.Time     `json:"begin"`
	End      time.Time     `json:"end" validate:"gtfield=Begin"`
	Least    time.Duration `json:"least" validate:"min=1h"`
	Most     time.Duration `json:"most" validate:"gtfield=Least,max=2h"`
	Least2   int           `json:"least2" validate:"ltfield=Most2"`
	Most2    int           `json:"most2" validate:"max=1"`
	Password string        `json:"password" validate:"min=8"`
	Again    string        `json:"again" validate:"eqfield=Password"`
	Other    string        `json:"other" validate:"nefield=Password,semver"`
	Kind     string        `json:"kind" enum:"file,url"`
	Path     string        `json:"path,omitempty" validate:"required_if=Kind file"`
	URL      *string       `json:"url,omitempty" validate:"required_if=Kind url,excluded_if=Kind file,omitempty,url"`
	A        *int          `json:"a,omitempty" validate:"required_without=B"`
	B        *int          `json:"b,omitempty" validate:"excluded_with=A"`
	Nested   []struct {
		From int    `json:"from"`
		To   int    `json:"to" validate:"gtfield=From,ne=1"`
		Net  string `json:"net" validate:"cidr"`
		Zone string `json:"zone,omitempty" validate:"timezone"`
	} `json:"nested" validate:"min=2,unique=Net"`
	Named map[string]string `json:"named" validate:"min=1,dive,keys,iso3166_1_alpha2,endkeys,iso4217"`
	Any   *rulesOfSome      `json:"any"`
}

type rulesOfSome struct {
	IP    string       `json:"ip" validate:"ip4_addr|ip6_addr"`
	Count float64      `json:"count" validate:"ne=0,ne=1"`
	Day   string       `json:"day" validate:"datetime=2006-01-02 15:04"`
	Port  uint16       `json:"port" validate:"port"`
	Money int          `json:"money" validate:"iso4217_numeric"`
	More  *rulesOfSome `json:"more,omitempty"`
}

func TestAutoKeepsRulesAboutSeveralFields(t *testing.T) {
	tool := toolOf[rulesOfSeveralFields](t)
	said := openWording(t)
	for seed := range uint64(4) {
		args := arguments(t, tool.schema, seed)
		_, err := tool.decode(args)
		require.NoError(t, err, "seed %d: %s", seed, args)
		said.same(t, fmt.Sprint("seed ", seed), string(args))
	}
	wrapped, err := schema.For(reflect.TypeFor[[]rulesOfSome]())
	require.NoError(t, err)
	args := arguments(t, wrapped.JSON(), 1)
	require.NoError(t, wrapped.Check(args))
	said.same(t, "a list", string(args))
}

func TestAutoNamesTheRuleThatItCannotKeep(t *testing.T) {
	typ, err := schema.For(oneField(reflect.TypeFor[string](), "file,endswith=.nowhere"))
	require.NoError(t, err)
	_, err = modeltest.Auto().Generate(t.Context(), &model.Request{
		Messages: []*model.Message{model.UserText("go")}, Tools: []model.ToolDef{{Name: "read", Schema: typ.JSON()}},
	}, nil)
	require.ErrorContains(t, err, `modeltest: auto: cannot generate arguments for tool "read": no value found that keeps the rule file: v: must satisfy the rule file`)
}

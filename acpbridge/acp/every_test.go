// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// roleMethods calls f for every method of both roles, with the end that calls it.
func roleMethods(a *acp.AgentConn, c *acp.ClientConn, f func(name string, method reflect.Value)) {
	for role, caller := range map[reflect.Type]any{
		reflect.TypeFor[acp.Agent]():  c,
		reflect.TypeFor[acp.Client](): a,
	} {
		for i := range role.NumMethod() {
			name := role.Method(i).Name
			f(name, reflect.ValueOf(caller).MethodByName(name))
		}
	}
}

// maxVariants is the number of variants of the largest union.
const maxVariants = 14

func TestEveryTypeSurvivesARoundTrip(t *testing.T) {
	seen := map[reflect.Type]bool{}
	check := func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		for variant := range maxVariants {
			in := reflect.New(typ)
			fill(in.Elem(), variant)
			text, err := acp.Marshal(in.Interface())
			require.NoError(t, err, typ)
			require.True(t, json.Valid(text), "%s", text)
			out := reflect.New(typ)
			require.NoError(t, acp.Unmarshal(text, out.Interface()), "%s: %s", typ, text)
			require.Equal(t, in.Interface(), out.Interface(), "%s", text)
		}
		if err := acp.Unmarshal([]byte(`{}`), reflect.New(typ).Interface()); err != nil {
			assert.Contains(t, err.Error(), typ.Name()+".", "the error names the type")
		}
	}
	roleMethods(new(acp.AgentConn), new(acp.ClientConn), func(_ string, method reflect.Value) {
		check(method.Type().In(1).Elem())
		if method.Type().NumOut() == 2 {
			check(method.Type().Out(0).Elem())
		}
	})
	assert.Len(t, seen, 45, "all parameters and results of the protocol")
}

// fill gives every field a value that is not its zero value; of a union it sets the variant.
func fill(v reflect.Value, variant int) {
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = json.RawMessage(`{"n":18446744073709551615, "s":"<>"}`)
		return
	case *acp.RequestID:
		*x = acp.IntID(int64(variant))
		return
	case *acp.Patch:
		*x = acp.Replace("patch")
		return
	case *acp.SessionConfigSelectOptions:
		if variant%2 == 0 {
			fill(reflect.ValueOf(&x.Grouped).Elem(), variant)
		} else {
			fill(reflect.ValueOf(&x.Ungrouped).Elem(), variant)
		}
		return
	case *acp.ElicitationContentValue:
		f := reflect.ValueOf(x).Elem().Field(variant % 5)
		fill(f, variant)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), variant)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), variant+i)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range 2 {
			elem := reflect.New(v.Type().Elem()).Elem()
			fill(elem, variant+i)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key \"%d\"", i)), elem)
		}
	case reflect.String:
		v.SetString("text \"ä\"\n\u0001")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Int64:
		v.SetInt(-1 << 63)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1<<v.Type().Bits() - 1)
	case reflect.Struct:
		fillStruct(v, variant)
	}
}

// fillStruct fills the fields that have a name on the wire, and one of those that do not, which are the variants.
func fillStruct(v reflect.Value, variant int) {
	var variants []reflect.Value
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Tag.Get("json") != "":
			fill(v.Field(i), variant)
		case f.Name != "Unknown":
			variants = append(variants, v.Field(i))
		}
	}
	if len(variants) > 0 {
		fill(variants[variant%len(variants)], variant)
	}
}

func TestEveryMethodReachesItsHandler(t *testing.T) {
	agent, client := acp.Pair(
		func(*acp.AgentConn) acp.Agent { return acp.UnimplementedAgent{} },
		func(*acp.ClientConn) acp.Client { return acp.UnimplementedClient{} }, nil, nil)
	serveBoth(t, agent, client)
	_, err := client.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
	require.ErrorIs(t, err, acp.ErrMethodNotFound)

	initialized, client := acp.Pair(
		func(*acp.AgentConn) acp.Agent { return onlyInitialize{} },
		func(*acp.ClientConn) acp.Client { return acp.UnimplementedClient{} }, nil, nil)
	serveBoth(t, initialized, client)
	_, err = client.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
	require.NoError(t, err)

	roleMethods(initialized, client, func(name string, method reflect.Value) {
		params := reflect.New(method.Type().In(1).Elem())
		fill(params.Elem(), 0)
		out := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), params})
		err, _ := out[len(out)-1].Interface().(error)
		switch {
		case name == "Initialize", len(out) == 1: // answered, or a notification
			assert.NoError(t, err, name)
		default:
			assert.ErrorIs(t, err, acp.ErrMethodNotFound, name)
			var call *acp.CallError
			require.ErrorAs(t, err, &call)
			assert.ErrorContains(t, call.Err, "method not found: "+call.Method, "the handler is the one of the method")
		}
	})
}

type onlyInitialize struct{ acp.UnimplementedAgent }

func (onlyInitialize) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

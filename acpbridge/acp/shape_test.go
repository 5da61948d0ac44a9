// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// everyStruct calls f with each struct that the parameters and results of the protocol are made of.
func everyStruct(f func(t reflect.Type)) {
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
		case reflect.Struct:
			if seen[t] || t == reflect.TypeFor[acp.Patch]() || t == reflect.TypeFor[acp.RequestID]() {
				return
			}
			seen[t] = true
			for i := range t.NumField() {
				visit(t.Field(i).Type)
			}
			f(t)
		}
	}
	roleMethods(new(acp.AgentConn), new(acp.ClientConn), func(_ string, method reflect.Value) {
		visit(method.Type().In(1))
		visit(method.Type().Out(0))
	})
}

// wrong returns JSON of another type than that of a field.
func wrong(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "" // any JSON is right
	case t.Kind() == reflect.String, t == reflect.TypeFor[acp.Patch](), t == reflect.TypeFor[acp.RequestID](),
		t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.String:
		return `[7]`
	}
	return `"wrong"`
}

// Whether a member may be absent, null or wrong is what the tags of its field say.
func TestMembersAreReadAsTheirTagsSay(t *testing.T) {
	members := 0
	everyStruct(func(typ reflect.Type) {
		in := reflect.New(typ)
		fill(in.Elem(), 0)
		text, err := acp.Marshal(in.Interface())
		require.NoError(t, err)
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, omitZero := strings.CutSuffix(f.Tag.Get("json"), ",omitzero")
			if name == "" {
				continue
			}
			members++
			rules := strings.Split(f.Tag.Get("acp"), ",")
			optional := omitZero || strings.HasPrefix(rules[0], "default")
			lenient := optional && !slices.Contains(rules, "strict") || slices.Contains(rules, "lenient")
			keepsNull := f.Type == reflect.TypeFor[acp.RequestID]()
			check := func(value, problem string, ok bool) {
				var whole map[string]json.RawMessage
				require.NoError(t, json.Unmarshal(text, &whole))
				if delete(whole, name); value != "" {
					whole[name] = json.RawMessage(value)
				}
				doc, err := json.Marshal(whole)
				require.NoError(t, err)
				err = acp.Unmarshal(doc, reflect.New(typ).Interface())
				if ok {
					assert.NoError(t, err, "%s", doc)
				} else {
					assert.ErrorContains(t, err, problem, "%s", doc)
				}
			}
			where := "acp: " + typ.Name() + "." + name + ": "
			check("", where+"required, but missing", optional)
			check("null", "is null, want ", optional || lenient || keepsNull || slices.Contains(rules, "nullable"))
			if bad := wrong(f.Type); bad != "" {
				check(bad, ": is ", lenient)
			}
		}
	})
	assert.Greater(t, members, 300)
}

// What is sent without the table is what the table says, whatever else the update has.
func TestTextIsSentAsTheTableSays(t *testing.T) {
	updates := []acp.SessionNotification{*text("plain"), *text("\"<ä>\"\n\xff")}
	whole := func() *acp.SessionNotification {
		n := text("text")
		n.Update.AgentMessageChunk.MessageID = "m"
		return n
	}
	updates = append(updates, *whole())
	for part := range maps.Keys(partsOf(whole())) {
		for i := range partsOf(whole())[part].NumField() {
			n := whole()
			fill(partsOf(n)[part].Field(i), 0) // a member that was not there, or a second variant
			updates = append(updates, *n)
		}
	}
	for _, n := range updates {
		params, err := acp.Marshal(&n)
		sent, failed := sentBy(t, func(conn *acp.AgentConn) error { return conn.SessionUpdate(t.Context(), &n) })
		if err != nil {
			require.ErrorContains(t, failed, strings.TrimPrefix(err.Error(), "acp: "))
			continue
		}
		require.NoError(t, failed)
		require.Equal(t, `{"jsonrpc":"2.0","method":"session/update","params":`+string(params)+"}\n", sent)
	}
}

// sentBy returns the lines that an agent sends.
func sentBy(t *testing.T, send func(conn *acp.AgentConn) error) (lines string, err error) {
	t.Helper()
	var out bytes.Buffer
	bubble(t, func(t *testing.T) {
		conn := acp.NewAgentConn(new(bytes.Buffer), &out, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, nil)
		err = send(conn)
		require.NoError(t, conn.Serve(t.Context()))
	})
	return out.String(), err
}

func TestParametersThatAreNoTypeOfTheProtocolAreAnyJSON(t *testing.T) {
	for want, params := range map[string]any{
		`{"text":"<"}`:      &acp.TextContent{Text: "<"},
		`{"text":"\u003c"}`: map[string]string{"text": "<"},
		`{"Limit":7}`:       &acp.TooLongError{Limit: 7},
		`7`:                 new(7),
		`{}`:                nil,
	} {
		sent, err := sentBy(t, func(conn *acp.AgentConn) error { return conn.Notify(t.Context(), "_x", params) })
		require.NoError(t, err)
		require.Equal(t, `{"jsonrpc":"2.0","method":"_x","params":`+want+"}\n", sent)
	}
}

// partsOf returns the structs that a piece of text is made of.
func partsOf(n *acp.SessionNotification) map[string]reflect.Value {
	chunk := n.Update.AgentMessageChunk
	parts := map[string]reflect.Value{}
	for name, part := range map[string]any{
		"notification": n, "update": &n.Update, "chunk": chunk, "block": &chunk.Content, "text": chunk.Content.Text,
	} {
		parts[name] = reflect.ValueOf(part).Elem()
	}
	return parts
}

// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// TestMembers compares what is made of each member of each type if its value is absent, null, or of
// another kind: the whole error, or the member as it is sent on.
func TestMembers(t *testing.T) {
	values := []string{"", "null", `""`, `"\u0061"`, "7", "-1", "1.5", "true", "[]", "[null]", `["a"]`, "[[]]", "{}", `{"type":"none"}`, `{"a":{"b":1}}`}
	blocks := map[string]string{}
	everyStruct(func(typ reflect.Type) {
		var told strings.Builder
		for variant := range 2 {
			in := reflect.New(typ)
			fill(in.Elem(), variant)
			text, err := acp.Marshal(in.Interface())
			require.NoError(t, err)
			var whole map[string]json.RawMessage
			if json.Unmarshal(text, &whole) != nil {
				continue // it is no object
			}
			if variant > 0 && typ.NumField() > 0 && typ.Field(0).Tag.Get("json") != "" && typ.Field(typ.NumField()-1).Tag.Get("json") != "" {
				continue // it is no union
			}
			for _, name := range slices.Sorted(maps.Keys(whole)) {
				kept := whole[name]
				var order []string
				outcomes := map[string][]string{}
				for _, value := range values {
					if whole[name] = json.RawMessage(value); value == "" {
						delete(whole, name)
						value = "absent"
					}
					doc, err := json.Marshal(whole)
					require.NoError(t, err)
					out := reflect.New(typ)
					outcome := ""
					if err := acp.Unmarshal(doc, out.Interface()); err != nil {
						outcome = "error " + strings.TrimPrefix(err.Error(), "acp: "+typ.Name()+".")
					} else if back, err := acp.Marshal(out.Interface()); err != nil {
						outcome = "cannot be sent: " + err.Error()
					} else {
						var again map[string]json.RawMessage
						require.NoError(t, json.Unmarshal(back, &again))
						if outcome = string(again[name]); outcome == "" {
							outcome = "absent"
						} else if outcome == value {
							outcome = "the same"
						}
					}
					if outcomes[outcome] == nil {
						order = append(order, outcome)
					}
					outcomes[outcome] = append(outcomes[outcome], value)
				}
				whole[name] = kept
				fmt.Fprintf(&told, "  %s:", name)
				for i, outcome := range order {
					if i > 0 {
						told.WriteString(";")
					}
					fmt.Fprintf(&told, " %s → %s", strings.Join(outcomes[outcome], " "), outcome)
				}
				told.WriteString("\n")
			}
		}
		blocks[typ.Name()] += told.String()
	})
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		fmt.Fprintf(&all, "%s\n%s", name, blocks[name])
	}
	acp.GoldenText(t, "members.txt", all.String())
}

// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Known returns the types that have a schema, of those that [For] was called with. Usually there is
// one. If the schema is the very text that [Type.JSON] returned, it is that type alone.
func Known(schema json.RawMessage) []*Type {
	seen := map[*Type]bool{}
	var same []*Type
	for _, v := range types.Range {
		switch t := v.(*Type); {
		case seen[t] || !bytes.Equal(t.json, schema):
		case &t.json[0] == &schema[0]:
			return []*Type{t}
		default:
			seen[t] = true
			same = append(same, t)
		}
	}
	return same
}

// Check reports what [Type.Decode] says of a document.
func (t *Type) Check(raw []byte) error { return t.Decode(raw, reflect.New(t.goType).Interface()) }

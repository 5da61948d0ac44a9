// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"bytes"
	"encoding/json"
)

// marshalJSON returns v as readable JSON, without HTML escaping.
func marshalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// appendJSON appends a value as JSON. Its type must be one that can always be encoded.
func appendJSON(dst []byte, v any) []byte {
	text, err := marshalJSON(v)
	if err != nil {
		panic("modeltest: " + err.Error())
	}
	return append(dst, text...)
}

// unescapeHTML reverts the escaping of <, > and & by encoding/json, for readability. Data is valid
// JSON.
func unescapeHTML(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u00`)) {
		return data
	}
	plain := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			plain = append(plain, data[i])
			continue
		}
		if i+6 <= len(data) {
			switch string(data[i : i+6]) {
			case `\u003c`:
				plain, i = append(plain, '<'), i+5
				continue
			case `\u003e`:
				plain, i = append(plain, '>'), i+5
				continue
			case `\u0026`:
				plain, i = append(plain, '&'), i+5
				continue
			}
		}
		plain, i = append(plain, data[i], data[i+1]), i+1
	}
	return plain
}

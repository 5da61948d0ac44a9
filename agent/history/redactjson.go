// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"strings"
)

// isStructured reports whether a text is JSON with something inside.
func isStructured(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[' || s[0] == '"') && json.Valid([]byte(s))
}

// data applies the rules to JSON, value by value, and to anything else as text. It returns its
// argument if nothing changes.
func (r *redactor) data(raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		s, err := r.text(string(raw))
		if err != nil || s == string(raw) {
			return raw, err
		}
		return []byte(s), nil
	}
	var out []byte // nil as long as nothing has changed
	done := 0      // how much of raw is in out, if there is out
	name := ""     // of the member that values belong to
	for i := 0; i < len(raw); {
		end := scalar(raw, i)
		if end == i {
			if raw[i] == '{' || raw[i] == '}' {
				name = ""
			}
			i++
			continue
		}
		value := string(raw[i:end])
		if raw[i] == '"' {
			if err := json.Unmarshal(raw[i:end], &value); err != nil {
				return nil, err
			}
		}
		s, err := r.text(value)
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(bytes.TrimLeft(raw[end:], " \t\r\n"), []byte(":")) {
			name = value + ": "
		} else if name != "" && s == value { // as a header, which shows by its name what it is
			line, err := r.text(name + value)
			if err != nil {
				return nil, err
			}
			if rest, ok := strings.CutPrefix(line, name); ok {
				s = rest
			}
		}
		if s != value {
			out = appendString(append(out, raw[done:i]...), s)
			done = end
		}
		i = end
	}
	if out == nil {
		return raw, nil
	}
	return append(out, raw[done:]...), nil
}

// scalar returns where the string or number ends that begins at i in valid JSON; i if none does.
func scalar(raw []byte, i int) int {
	switch c := raw[i]; {
	case c == '"':
		for i++; raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		return i + 1
	case c == '-' || '0' <= c && c <= '9':
		for i < len(raw) && bytes.IndexByte([]byte("+-.0123456789eE"), raw[i]) >= 0 {
			i++
		}
	}
	return i
}

// appendString appends a JSON string. A replaced number becomes one too.
func appendString(dst []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // strings can be encoded
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

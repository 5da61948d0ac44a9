// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

const redacted = "[secret]"

// redactor takes secrets out of messages.
type redactor struct{ secrets *strings.Replacer }

// json returns a message without secrets. Members keep their order, and numbers their digits.
func (r *redactor) json(message []byte) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(message))
	dec.UseNumber()
	var out bytes.Buffer
	if err := r.value(dec, &out, open); err != nil { // it was valid, so it nests too deep for the decoder
		return json.RawMessage(`"` + redacted + `"`)
	}
	return out.Bytes()
}

// veil marks the strings of a value that are secrets.
type veil uint8

const (
	open   veil = iota // those that are called so
	listed             // it is the value of "env" or "headers": a list of objects with names, or an object
	named              // it is an object of such a list
	hidden             // all
)

// value copies the next value.
func (r *redactor) value(dec *json.Decoder, out *bytes.Buffer, v veil) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		out.WriteRune(rune(t))
		for i := 0; dec.More(); i++ {
			if i > 0 {
				out.WriteByte(',')
			}
			inner := v
			switch {
			case t == '{':
				key, err := dec.Token()
				if err != nil {
					return err
				}
				name, _ := key.(string)
				r.text(out, r.secrets.Replace(name))
				out.WriteByte(':')
				inner = member(name, v)
			case v == listed:
				inner = named
			case v == named:
				inner = hidden
			}
			if err := r.value(dec, out, inner); err != nil {
				return err
			}
		}
		end, err := dec.Token()
		if err != nil {
			return err
		}
		delim, _ := end.(json.Delim)
		out.WriteRune(rune(delim))
	case string:
		if t = r.secrets.Replace(t); v != open && t != "" {
			t = redacted
		}
		r.text(out, t)
	case json.Number:
		out.WriteString(t.String())
	default: // true, false and null
		data, err := json.Marshal(t)
		if err != nil {
			return err
		}
		out.Write(data)
	}
	return nil
}

// member returns the veil of a member of an object.
func member(name string, of veil) veil {
	switch {
	case of == named && name == "name":
		return open
	case of != open:
		return hidden
	case name == "env" || name == "headers":
		return listed
	case secretName(name):
		return hidden
	}
	return open
}

// words finds where a word of a name in camel case begins.
var words = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// secretName reports whether a member is called like a secret: apiKey, api_key, API_KEY,
// Authorization, accessToken.
func secretName(name string) bool {
	snake := words.ReplaceAllString(name, "${1}${3}_${2}${4}")
	return local.Secret(strings.ReplaceAll(snake, "-", "_")) || strings.EqualFold(name, "authorization")
}

func (r *redactor) text(out *bytes.Buffer, s string) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings have a JSON form; the recording leaves out the line feed behind it
}

// SPDX-License-Identifier: Apache-2.0

package secrettest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"unsafe"
)

// secretName matches the names of fields that may hold secrets. The name of the type comes first, as in "HTTP.Headers".
var secretName = regexp.MustCompile(`(?i)(key|token|secret|passw(?:or)?d|credential|auth|authorization|bearer|cookie|dsn|headers?|env|environ|environment|extrabody|passphrase)s?$|(httpheader|envvariable|secrets)\.value$|authorization\.(code|state)$|^secrets`)

// addressName matches the names of fields that hold URLs, which may have secrets.
var addressName = regexp.MustCompile(`(?i)(url|address|endpoint|proxy|uri|dsn)s?$`)

// Maker makes values.
type Maker struct {
	// Pool are types that interfaces are filled with. The Nth value of a type has the Nth of those that fit.
	Pool []reflect.Type
	// Harmless reports fields that hold no secret whatever their name is, such as "model.ToolCall.Key".
	Harmless func(field string) bool
	// N selects what interfaces are filled with.
	N int
	// Seen, if not nil, gets the fields that secrets are planted in.
	Seen map[string]bool

	depth   int
	planted bool
	pending map[reflect.Type]int
}

// Make returns a value of a type, addressable, and whether a secret is planted in it.
func (m *Maker) Make(t reflect.Type) (reflect.Value, bool) {
	m.pending, m.planted, m.depth = map[reflect.Type]int{}, false, 0
	v := reflect.New(t).Elem()
	m.fill(v, t.String(), "")
	return v, m.planted
}

const maxDepth = 9

// fill fills a value of a field of the type owner.
func (m *Maker) fill(v reflect.Value, owner, field string) {
	m.depth++
	defer func() { m.depth-- }()
	t := v.Type()
	if m.depth > maxDepth || m.pending[t] > 1 {
		return
	}
	m.pending[t]++
	defer func() { m.pending[t]-- }()
	if m.known(v, owner, field) {
		return
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(m.text(owner, field))
	case reflect.Slice:
		m.fillSlice(v, owner, field)
	case reflect.Array:
		for i := range min(v.Len(), 4) {
			m.fill(v.Index(i), owner, field)
		}
	case reflect.Map:
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		m.fill(key, owner, "")
		m.fill(value, owner, field)
		if key.Comparable() {
			v.Set(reflect.MakeMap(t))
			v.SetMapIndex(key, value)
		}
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct && foreign(t.Elem()) {
			return
		}
		v.Set(reflect.New(t.Elem()))
		m.fill(v.Elem(), owner, field)
	case reflect.Struct:
		m.fillStruct(v)
	case reflect.Interface:
		m.fillInterface(v)
	}
}

// foreign reports whether a type is of another module, with internals that are not ours to fill.
func foreign(t reflect.Type) bool {
	return t.PkgPath() != "" && !strings.HasPrefix(t.PkgPath(), "github.com/ponte-go/ponte")
}

func (m *Maker) fillStruct(v reflect.Value) {
	t := v.Type()
	if foreign(t) {
		return
	}
	for i := range t.NumField() {
		f := v.Field(i)
		if !t.Field(i).IsExported() {
			f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		}
		m.fill(f, typeName(t), t.Field(i).Name)
	}
}

// typeName returns the name of a type without its parameters, as in "mcptoolset.HTTP".
func typeName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), "[")
	return name
}

func (m *Maker) fillSlice(v reflect.Value, owner, field string) {
	t := v.Type()
	if t.Elem().Kind() == reflect.Uint8 {
		text := m.text(owner, field)
		if t == reflect.TypeFor[json.RawMessage]() {
			text = `"` + text + `"`
		}
		v.SetBytes([]byte(text))
		return
	}
	v.Set(reflect.MakeSlice(t, 1, 1))
	m.fill(v.Index(0), owner, field)
}

func (m *Maker) fillInterface(v reflect.Value) {
	t := v.Type()
	if t == reflect.TypeFor[error]() {
		v.Set(reflect.ValueOf(errors.New("an error")))
		return
	}
	var fit []reflect.Type
	for _, p := range m.Pool {
		if p.Kind() == reflect.Interface || t.NumMethod() == 0 {
			continue
		}
		if p.Implements(t) {
			fit = append(fit, p)
		} else if reflect.PointerTo(p).Implements(t) {
			fit = append(fit, reflect.PointerTo(p))
		}
	}
	if len(fit) == 0 {
		return
	}
	chosen := reflect.New(fit[m.N%len(fit)]).Elem()
	m.fill(chosen, typeName(t), "")
	v.Set(chosen)
}

// known fills values of types of others that carry secrets.
func (m *Maker) known(v reflect.Value, owner, field string) bool {
	switch v.Interface().(type) {
	case http.Header:
		v.Set(reflect.ValueOf(http.Header{"X-Test": {m.secret(owner, field, "Bearer "+Secret, true)}}))
	case url.URL:
		u, _ := url.Parse(m.secret(owner, field, Address, true))
		v.Set(reflect.ValueOf(*u))
	case *url.URL:
		u, _ := url.Parse(m.secret(owner, field, Address, true))
		v.Set(reflect.ValueOf(u))
	default:
		return false
	}
	return true
}

// text returns the text for a field.
func (m *Maker) text(owner, field string) string {
	switch name := owner + "." + field; {
	case addressName.MatchString(name):
		return m.secret(owner, field, Address, true)
	case strings.HasSuffix(strings.ToLower(field), "env"):
		return m.secret(owner, field, "NAME="+Secret, true)
	default:
		return m.secret(owner, field, Secret, secretName.MatchString(name) || secretName.MatchString(field))
	}
}

func (m *Maker) secret(owner, field, text string, is bool) string {
	if !is || m.Harmless != nil && m.Harmless(owner+"."+field) {
		return "https://example.com/harmless"
	}
	m.planted = true
	if m.Seen != nil {
		m.Seen[owner+"."+field] = true
	}
	return text
}

// Locks reports whether values of a type are not copied, because they have locks: only pointers to them are printed.
func Locks(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return t.Kind() == reflect.Array && Locks(t.Elem())
	}
	if _, ok := reflect.PointerTo(t).MethodByName("Lock"); ok {
		return true
	}
	for i := range t.NumField() {
		if Locks(t.Field(i).Type) {
			return true
		}
	}
	return false
}

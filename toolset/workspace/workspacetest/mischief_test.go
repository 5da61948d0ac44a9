// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// mischief notes the calls that a sound implementation gets, and spoils one of them: it is not made,
// or one of its results is another one.
type mischief struct {
	spoil spoiled
	mu    sync.Mutex
	seen  map[string]int
	calls []called
	done  bool // the call was spoiled
}

// called is a call and the ways in which it can be spoiled.
type called struct {
	method, text string
	nth          int // of those with this text
	ways         []string
}

// spoiled is what to spoil: a call, or all calls of a method.
type spoiled struct {
	method, text string
	nth          int
	way          string
}

// notMade is the way in which any call can be spoiled.
const notMade = "not made"

// do makes a call. results point to its results, and hold them when call has returned. It reports
// whether the call was made.
func (m *mischief) do(ctx context.Context, method string, args []any, call func(), results ...any) bool {
	c := called{method: method, text: method + described(ctx, args)}
	m.mu.Lock()
	if m.seen == nil {
		m.seen = map[string]int{}
	}
	m.seen[c.text]++
	c.nth = m.seen[c.text]
	mine := m.spoil.method == method && (m.spoil.text == "" || m.spoil.text == c.text && m.spoil.nth == c.nth)
	at := len(m.calls)
	m.calls = append(m.calls, c)
	m.done = m.done || mine
	m.mu.Unlock()
	if mine && m.spoil.way == notMade {
		return false
	}
	call()
	c.ways = []string{notMade}
	for _, w := range waysOf(results) {
		c.ways = append(c.ways, w.name)
		if mine && w.name == m.spoil.way {
			w.do()
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[at] = c
	return true
}

// plain is a text that needs no quotes.
type plain string

// described returns the arguments of a call, for people.
func described(ctx context.Context, args []any) string {
	var words []string
	if ctx.Err() != nil {
		words = append(words, "ended")
	}
	for _, a := range args {
		text := fmt.Sprintf("%+q", a)
		if p, ok := a.(plain); ok {
			text = string(p)
		}
		if len(text) > 200 {
			text = fmt.Sprintf("%s… (%d bytes)", text[:60], len(text))
		}
		words = append(words, text)
	}
	return "(" + strings.Join(words, ", ") + ")"
}

type way struct {
	name string
	do   func()
}

var errSpoiled = errors.New("spoiled")

var errorType = reflect.TypeFor[error]()

// waysOf returns the ways to change the results that pointers point to.
func waysOf(results []any) (all []way) {
	for _, r := range results {
		v := reflect.ValueOf(r).Elem()
		name := v.Type().Name()
		if name == "" {
			name = v.Kind().String()
		}
		all = append(all, waysToChange(name, v)...)
	}
	return all
}

func waysToChange(name string, v reflect.Value) []way {
	set := func(how string, to any) way {
		return way{name + " " + how, func() { v.Set(reflect.ValueOf(to).Convert(v.Type())) }}
	}
	switch value := v.Interface().(type) {
	case time.Time:
		if value.IsZero() {
			return nil
		}
		return []way{set("later", value.Add(1)), set("local", value.In(time.FixedZone("here", 3600)))}
	case []byte:
		if len(value) == 0 {
			return []way{set("given", []byte("?"))}
		}
		return []way{set("longer", append(slices.Clone(value), '?')), set("shorter", slices.Clone(value[:len(value)-1]))}
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.Type() == errorType {
			return waysToFail(name, v)
		}
	case reflect.String:
		return []way{set("other", v.String()+"?")}
	case reflect.Int, reflect.Int64:
		return []way{set("more", v.Int()+1), set("less", v.Int()-1)}
	case reflect.Bool:
		return []way{set("not", !v.Bool())}
	case reflect.Uint32:
		return []way{set("other", v.Uint()^1), set("of another type", v.Uint()^uint64(fs.ModeDir))}
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return []way{set("nil", reflect.Zero(v.Type()).Interface())}
	case reflect.Slice:
		return waysOfSlice(name, v)
	case reflect.Struct:
		if v.IsZero() {
			return nil // it comes with an error
		}
		var all []way
		for i := range v.NumField() {
			all = append(all, waysToChange(v.Type().Field(i).Name, v.Field(i))...)
		}
		return all
	}
	return nil
}

func waysToFail(name string, v reflect.Value) []way {
	set := func(how string, to error) way {
		return way{name + " " + how, func() { v.Set(reflect.ValueOf(&to).Elem()) }}
	}
	if v.IsNil() {
		return []way{set("spoiled", errSpoiled)}
	}
	err := v.Interface().(error)
	all := []way{set("nil", nil), set("spoiled", errSpoiled)}
	if under := errors.Unwrap(err); under != nil {
		all = append(all, set("bare", under))
	}
	p := reflect.ValueOf(err)
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Struct {
		return all
	}
	for i := range p.Elem().NumField() {
		if f := p.Elem().Type().Field(i); f.IsExported() && f.Type != errorType && !p.Elem().Field(i).IsZero() {
			other := reflect.New(p.Elem().Type())
			other.Elem().Set(p.Elem())
			other.Elem().Field(i).SetZero()
			all = append(all, set("without "+f.Name, other.Interface().(error)))
		}
	}
	return all
}

func waysOfSlice(name string, v reflect.Value) []way {
	n := v.Len()
	if n == 0 {
		return nil
	}
	change := func(how string, do func(s reflect.Value) reflect.Value) way {
		return way{name + " " + how, func() {
			v.Set(do(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, n+1), v)))
		}}
	}
	all := []way{
		change("without the first", func(s reflect.Value) reflect.Value { return s.Slice(1, n) }),
		change("with the last twice", func(s reflect.Value) reflect.Value { return reflect.Append(s, s.Index(n-1)) }),
	}
	if n > 1 {
		all = append(
			all, change("without the last", func(s reflect.Value) reflect.Value { return s.Slice(0, n-1) }),
			change("turned", func(s reflect.Value) reflect.Value {
				swap := reflect.Swapper(s.Interface())
				for i := range n / 2 {
					swap(i, n-1-i)
				}
				return s
			}),
		)
	}
	last := reflect.New(v.Type().Elem()).Elem()
	last.Set(v.Index(n - 1))
	for _, w := range waysToChange("of the last", last) {
		all = append(all, change("with another last: "+w.name, func(s reflect.Value) reflect.Value {
			w.do()
			s.Index(n - 1).Set(last)
			return s
		}))
	}
	return all
}

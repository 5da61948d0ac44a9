// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/ponte-go/ponte/internal/schema"
	"github.com/ponte-go/ponte/toolset"
)

// outputs are the outputs of a run, and of the runs inside it, that have passed.
type outputs struct {
	mu     sync.Mutex
	passed map[string]bool
}

// passed notes that an output has passed.
func (s *state) passed(text string) {
	if s == nil {
		return
	}
	o := s.outputs
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.passed == nil {
		o.passed = map[string]bool{}
	}
	d := parse(text, true)
	if d == nil {
		o.passed[text] = true
		return
	}
	o.passed[d.content()] = true
	if d.kind == '{' && len(d.items) == 1 { // the model returns what is no struct in an object
		o.passed[d.items[0].content()] = true
	}
}

// hasPassed reports whether an output has passed before.
func (s *state) hasPassed(text string) bool {
	if s == nil {
		return false
	}
	s.outputs.mu.Lock()
	defer s.outputs.mu.Unlock()
	return s.outputs.passed[oneContent(text)]
}

// oneContent returns what a JSON document says, and any other text as it is.
func oneContent(text string) string {
	if d := parse(text, true); d != nil {
		return d.content()
	}
	return text
}

// content returns what a document says: without what is zero or empty, and with the members of
// objects in order.
func (d *document) content() string {
	if d.kind == leaf {
		return string(appendJSON(nil, d.value))
	}
	items := slices.Clone(d.items)
	if d.kind == '{' {
		items = slices.DeleteFunc(items, func(i document) bool {
			return slices.Contains([]string{"{}", "[]", `""`, "0", "false", "null"}, i.content())
		})
		slices.SortStableFunc(items, func(a, b document) int { return cmp.Compare(a.key, b.key) })
	}
	text := []byte{byte(d.kind)}
	for i := range items {
		text = append(strconv.AppendQuote(text, items[i].key), ':')
		text = append(append(text, items[i].content()...), ',')
	}
	return string(append(text, byte(d.kind)+2))
}

// output is the Output function of the policy. It checks what the response door has not seen:
// outputs of functions, and those that hooks or validators have changed.
func (g *guardrails[D]) output(
	ctx context.Context, run *toolset.RunContext[D], value any,
) (any, error) {
	if ctx.Value(ownKey{}) != nil || !g.has(func(c *Guard[D]) bool { return c.On&Output != 0 }) {
		return value, nil
	}
	s := &Subject{Stage: Output, Tool: run.Call.Tool, CallID: run.Call.ID}
	is := reflect.ValueOf(value)
	isText := is.Kind() == reflect.String
	if isText {
		s.Text, s.Tool, s.CallID = is.String(), "", ""
	} else if data, err := schema.Marshal(value); err == nil {
		s.Text, s.data = string(data), true
	} else {
		s.Text, s.Tool, s.CallID = fmt.Sprintf("%+v", value), "", ""
	}
	if s.Text == "" || g.stateOf(ctx).hasPassed(s.Text) {
		return value, nil
	}
	d, err := g.decide(ctx, run, s, nil)
	if err != nil || !d.replaced {
		return value, err
	}
	made := reflect.New(reflect.TypeOf(value))
	switch {
	case isText:
		made.Elem().SetString(d.text)
	case !s.data:
		return nil, blocked(d.by, s, "", errNoForm)
	default:
		if err := decodeInto([]byte(d.text), made); err != nil {
			return nil, blocked(d.by, s, "", fmt.Errorf("the replacement is not a valid output: %v", err)) // no news for the model
		}
	}
	return made.Elem().Interface(), nil
}

var errNoForm = errors.New("an output without a JSON form cannot be replaced")

// decodeInto reads JSON by the rules of a type or, if that is not a struct, as it stands.
func decodeInto(text []byte, into reflect.Value) error {
	typ, err := schema.For(into.Type().Elem())
	if err == nil {
		err = typ.Decode(text, into.Interface())
	}
	if err != nil && into.Elem().Kind() != reflect.Struct {
		err = json.Unmarshal(text, into.Interface())
	}
	return err
}

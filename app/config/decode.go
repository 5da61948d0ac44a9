// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/internal/nearest"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/internal/strictjson"
)

// Problem is a mistake in a configuration file.
type Problem struct {
	File string // its path
	// Line and Column are 0 if the problem is the file itself.
	Line, Column int
	// Key is the key that is wrong, empty for the file.
	Key string
	// Text describes the mistake and the allowed values.
	Text string
}

func (p *Problem) Error() string {
	text := show.Line(p.File)
	if p.Line > 0 {
		text += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	if p.Key != "" {
		text += ": " + p.Key
	}
	return text + ": " + p.Text
}

// decoder collects what is wrong with a file.
type decoder struct {
	file     string
	data     []byte
	problems []error
}

func (d *decoder) err() error { return errors.Join(d.problems...) }

func (d *decoder) bad(offset int, key, format string, args ...any) {
	line, column := strictjson.Position(d.data, offset)
	d.problems = append(d.problems, &Problem{d.file, line, column, key, fmt.Sprintf(format, args...)})
}

// top reads the text and refuses keys that may not be there. It never returns nil.
func (d *decoder) top(may func(Key) bool) *strictjson.Value {
	top, err := strictjson.Parse(d.data)
	if syntax, ok := errors.AsType[*strictjson.Error](err); ok {
		d.bad(syntax.Offset, "", "%s", syntax.Problem)
		return &strictjson.Value{}
	}
	if top.Kind != strictjson.Object {
		d.bad(top.Start, "", "want an object, not %s", top.Kind)
		return &strictjson.Value{}
	}
	var all, known []string
	for _, k := range Keys() {
		all = append(all, k.Name)
		if may(k) {
			known = append(known, k.Name)
		}
	}
	for _, m := range top.Members {
		switch {
		case slices.Contains(known, m.Name), m.Name == schemaKey:
		case slices.Contains(all, m.Name):
			d.bad(
				m.Start, m.Name, "a project cannot set this; a project's file may have %s only",
				strings.Join(known, ", "),
			)
		default:
			hint := ""
			if near := nearest.Of(m.Name, slices.Values(known)); near != "" {
				hint = fmt.Sprintf("did you mean %s? ", near)
			}
			d.bad(
				m.Start, fmt.Sprintf("%.64q", m.Name), "unknown key; %sthe keys are %s", hint,
				strings.Join(known, ", "),
			)
		}
	}
	return top
}

// fits reports whether a value has the form that its key requires.
func (d *decoder) fits(k Key, v *strictjson.Value) bool {
	kinds := map[string]strictjson.Kind{
		"a string": strictjson.String, "an object": strictjson.Object,
		"true or false": strictjson.Bool,
	}
	kind, ok := kinds[k.Want]
	if !ok {
		kind = strictjson.Array
	}
	switch {
	case v.Kind != kind:
		d.bad(v.Start, k.Name, "want %s, not %s", wanted(k), v.Kind)
	case k.Values != nil && !slices.Contains(k.Values, v.Text):
		hint := ""
		if near := nearest.Of(v.Text, slices.Values(k.Values)); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		d.bad(v.Start, k.Name, "unknown value %.64q; want %s%s", v.Text, wanted(k), hint)
	default:
		return true
	}
	return false
}

// wanted describes the value that a key requires.
func wanted(k Key) string {
	if k.Values == nil {
		return k.Want
	}
	quoted := make([]string, len(k.Values))
	for i, v := range k.Values {
		quoted[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

// model checks the name of a model without opening the model.
func (d *decoder) model(key string, v *strictjson.Value) string {
	provider, name, ok := strings.Cut(v.Text, ":")
	if v.Text != "offline" && (!ok || provider == "" || name == "") {
		d.bad(
			v.Start, key,
			`%.64q is not a model; want PROVIDER:NAME, such as "openai:gpt-5-mini", or "offline"`,
			v.Text,
		)
	}
	return v.Text
}

func (d *decoder) models(u *User, v *strictjson.Value) {
	for i, item := range v.Items {
		key := fmt.Sprintf("models[%d]", i)
		if !d.fits(Key{Name: key, Want: "a string"}, item) {
			continue
		}
		line, column := strictjson.Position(d.data, item.Start)
		u.places[key] = place{line, column}
		if name := d.model(key, item); slices.Contains(u.Models, name) {
			d.bad(item.Start, key, "%q is there twice", name)
		} else {
			u.Models = append(u.Models, name)
		}
	}
}

// env reads names of variables. "*" matches any text.
func (d *decoder) env(u *User, v *strictjson.Value) {
	for i, item := range v.Items {
		key := fmt.Sprintf("env[%d]", i)
		switch {
		case !d.fits(Key{Name: key, Want: "a string"}, item):
		case item.Text == "" || strings.ContainsAny(item.Text, "= \t\r\n\x00"):
			const problem = `%.64q is not the name of a variable; want a name, such as "GH_TOKEN"`
			d.bad(item.Start, key, problem, item.Text)
		default:
			u.Env = append(u.Env, item.Text)
		}
	}
}

func (*decoder) sandbox(u *User, v *strictjson.Value) { u.Sandbox = new(v.Text == "true") }

// permissions reads the form of package approval.
func (d *decoder) permissions(v *strictjson.Value) approval.Config {
	c, err := approval.ParseConfig(d.data[v.Start:v.End])
	if err == nil {
		return *c
	}
	line, column := strictjson.Position(d.data, v.Start)
	joined, _ := err.(interface{ Unwrap() []error })
	for _, err := range joined.Unwrap() { // ParseConfig joins its errors
		e := &Problem{File: d.file, Line: line, Column: column, Key: "permissions", Text: err.Error()}
		if wrong, ok := errors.AsType[*approval.ConfigError](err); ok {
			e.Text, e.Line = wrong.Problem, line+wrong.Line-1
			if e.Column = wrong.Column; wrong.Line == 1 {
				e.Column += column - 1
			}
			if wrong.Field != "" {
				e.Key += "." + wrong.Field
			}
		}
		d.problems = append(d.problems, e)
	}
	return approval.Config{}
}

// servers keeps MCP servers as text: not every program links the package that reads them.
func (d *decoder) servers(u *User, v *strictjson.Value) {
	text := append(append([]byte(`{"mcpServers":`), d.data[v.Start:v.End]...), '}')
	u.servers = func() []byte { return text }
}

// languageServers keeps language servers likewise.
func (d *decoder) languageServers(u *User, v *strictjson.Value) {
	text := d.data[v.Start:v.End]
	u.code = func() []byte { return text }
}

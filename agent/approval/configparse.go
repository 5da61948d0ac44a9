// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/nearest"
	"github.com/ponte-go/ponte/internal/strictjson"
)

// ConfigError is a mistake in a configuration. [ParseConfig] joins all that it finds.
type ConfigError struct {
	// Line and Column locate the mistake in the text, from 1. Columns count characters. They are 0
	// for a [Config] that was not parsed.
	Line, Column int
	// Field names the wrong field, such as "rules[2].path". It is empty if the text is not JSON.
	Field string
	// Problem describes the mistake and what is allowed.
	Problem string
}

func (e *ConfigError) Error() string {
	text := "approval: configuration: "
	if e.Line > 0 {
		text += fmt.Sprintf("line %d, column %d: ", e.Line, e.Column)
	}
	if e.Field != "" {
		text += e.Field + ": "
	}
	return text + e.Problem
}

// ParseConfig reads a configuration. Its error joins a [*ConfigError] for everything that is wrong: what, where, and how to fix it. Unknown
// members, and members that are there twice, are errors.
func ParseConfig(data []byte) (*Config, error) {
	p := configParser{data: data}
	top, err := strictjson.Parse(data)
	if syntax, ok := errors.AsType[*strictjson.Error](err); ok {
		p.bad(syntax.Offset, "", "%s; the configuration is a JSON object with mode and rules", syntax.Problem)
		return nil, errors.Join(p.errs...)
	}
	if top.Kind != strictjson.Object {
		p.bad(top.Start, "", "want an object; the configuration is a JSON object with mode and rules")
		return nil, errors.Join(p.errs...)
	}
	var c Config
	p.members("", top, "mode", "rules")
	p.text("mode", top.Get("mode"), (*string)(&c.Mode))
	if rules := top.Get("rules"); rules != nil && rules.Kind != strictjson.Array {
		p.bad(rules.Start, "rules", "want a list of rules")
	} else if rules != nil {
		for i, v := range rules.Items {
			c.Rules = append(c.Rules, p.rule(fmt.Sprintf("rules[%d]", i), v))
		}
	}
	if len(p.errs) == 0 {
		p.located(top, c.check())
	}
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	return &c, nil
}

// configParser collects what is wrong with a text.
type configParser struct {
	data []byte
	errs []error
}

func (p *configParser) bad(offset int, field, format string, args ...any) {
	e := &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)}
	e.Line, e.Column = strictjson.Position(p.data, offset)
	p.errs = append(p.errs, e)
}

// members refuses members that are not known.
func (p *configParser) members(where string, v *strictjson.Value, known ...string) {
	for _, m := range v.Members {
		if slices.Contains(known, m.Name) {
			continue
		}
		hint := ""
		if near := nearest.Of(m.Name, slices.Values(known)); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		p.bad(m.Start, where+shortened(m.Name), "unknown; use %s%s", strings.Join(known, ", "), hint)
	}
}

// shortened is a name of a member as errors show it.
func shortened(name string) string {
	text := fmt.Sprintf("%q", name)
	if inner := text[1 : len(text)-1]; inner == name && len(name) <= 64 {
		return name
	}
	return fmt.Sprintf("%.64q", name)
}

func (p *configParser) text(field string, v *strictjson.Value, to *string) {
	switch {
	case v == nil:
	case v.Kind != strictjson.String:
		p.bad(v.Start, field, "want a string")
	default:
		*to = v.Text
	}
}

func (p *configParser) rule(where string, v *strictjson.Value) (r ConfigRule) {
	if v.Kind != strictjson.Object {
		p.bad(v.Start, where, "want an object with decision and one of "+
			"tool, server, path, read, command, host and sandbox")
		return r
	}
	p.members(where+".", v,
		"decision", "tool", "server", "path", "read", "command", "dir", "host", "sandbox", "reason")
	p.text(where+".decision", v.Get("decision"), (*string)(&r.Decision))
	p.text(where+".tool", v.Get("tool"), &r.Tool)
	p.text(where+".path", v.Get("path"), &r.Path)
	p.text(where+".server", v.Get("server"), &r.Server)
	p.text(where+".read", v.Get("read"), &r.Read)
	p.text(where+".command", v.Get("command"), &r.Command)
	p.text(where+".dir", v.Get("dir"), &r.Dir)
	p.text(where+".host", v.Get("host"), &r.Host)
	p.text(where+".sandbox", v.Get("sandbox"), &r.Sandbox)
	p.text(where+".reason", v.Get("reason"), &r.Reason)
	return r
}

// located adds to errors of [Config.check] where in the text their fields are.
func (p *configParser) located(top *strictjson.Value, err error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, err := range joined.Unwrap() {
		e := err.(*ConfigError) // check makes no others
		at := top
		if e.Field == "mode" {
			at = top.Get("mode")
		}
		var i int
		if n, _ := fmt.Sscanf(e.Field, "rules[%d]", &i); n == 1 {
			at = top.Get("rules").Items[i]
			if _, name, ok := strings.Cut(e.Field, "]."); ok && at.Get(name) != nil {
				at = at.Get(name)
			}
		}
		p.bad(at.Start, e.Field, "%s", e.Problem)
	}
}

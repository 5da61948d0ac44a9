// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// clause is a rule for matching names. In the data, a string is a name, a list matches if any of
// its rules does, and an object has one field, whose name is the kind of rule.
type clause struct {
	kind  kind
	text  string
	regex *regexp.Regexp
	rules []clause
}

type kind int

const (
	equal kind = iota
	startsWith
	endsWith
	contains
	pattern
	anyOf
	allOf
	not
)

// fits reports whether a lower-case name matches the rule.
func (c *clause) fits(name string) bool {
	switch c.kind {
	case equal:
		return name == c.text
	case startsWith:
		return strings.HasPrefix(name, c.text)
	case endsWith:
		return strings.HasSuffix(name, c.text)
	case contains:
		return strings.Contains(name, c.text)
	case pattern:
		return c.regex.MatchString(name)
	case not:
		return !c.rules[0].fits(name)
	}
	for i := range c.rules {
		if c.rules[i].fits(name) == (c.kind == anyOf) {
			return c.kind == anyOf
		}
	}
	return c.kind == allOf
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *clause) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &c.text)
	case '[':
		c.kind = anyOf
		return json.Unmarshal(data, &c.rules)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != 1 {
		return fmt.Errorf("a rule with %d fields: %s", len(fields), data)
	}
	for name, value := range fields { // the only one
		switch name {
		case "starts_with", "ends_with", "contains":
			c.kind = map[string]kind{"starts_with": startsWith, "ends_with": endsWith, "contains": contains}[name]
			return json.Unmarshal(value, &c.text)
		case "regex":
			c.kind = pattern
			var err error
			if err = json.Unmarshal(value, &c.text); err == nil {
				c.regex, err = regexp.Compile(c.text)
			}
			return err
		case "and":
			c.kind = allOf
			return json.Unmarshal(value, &c.rules)
		case "not":
			c.kind, c.rules = not, make([]clause, 1)
			return json.Unmarshal(value, &c.rules[0])
		}
	}
	return fmt.Errorf("an unknown rule: %s", data)
}

// parse reads the data: a line about its origin, then a line for each provider, each followed by
// lines for its models.
func parse(data []byte) ([]provider, error) {
	var list []provider
	_, data, _ = bytes.Cut(data, []byte("\n"))
	for line := range bytes.Lines(data) {
		var found struct {
			Provider string
			Match    *clause
			Fallback []string
			Prices   []conditional
		}
		if err := json.Unmarshal(line, &found); err != nil {
			return nil, fmt.Errorf("%w in %s", err, line)
		}
		switch {
		case found.Provider != "":
			list = append(list, provider{name: found.Provider, match: found.Match, fallback: found.Fallback})
		case found.Match == nil || len(found.Prices) == 0 || len(list) == 0:
			return nil, fmt.Errorf("a model without a rule, a price or a provider: %s", line)
		default:
			p := &list[len(list)-1]
			p.list = append(p.list, entry{*found.Match, found.Prices})
		}
	}
	return list, nil
}

var compactDate = regexp.MustCompile(`-20\d{6}(?:-|:|$)`)

// dashDates converts dates in a name to the form used in the data: -20251211 becomes -2025-12-11.
func dashDates(name string) string {
	for at := 0; ; {
		found := compactDate.FindStringIndex(name[at:])
		if found == nil {
			return name
		}
		begin := at + found[0] + 1
		at = begin
		if when, err := time.Parse("20060102", name[begin:begin+8]); err == nil {
			name = name[:begin] + when.Format(time.DateOnly) + name[begin+8:]
		}
	}
}

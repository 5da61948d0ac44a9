// SPDX-License-Identifier: Apache-2.0

package command

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/internal/lazy"
)

// Rule is one line of the allow-list: what a named scope covers.
type Rule struct {
	// Words are the program and what follows it without change, such as a subcommand. "NAME"
	// matches a name that becomes part of the scope, as in "npm run NAME".
	Words []string
	// Class is "looks", "changes" or "runs": the command looks at files, changes the project's files in a way that it is known for,
	// or runs the project's own code.
	Class string
	// Root requires the command to run in one of the session's directories itself, not below.
	Root bool
	// Options are the options that are covered, each with the kind of its value: "" for none.
	Options map[string]string
	// Operands is the kind of what is not an option: "" for nothing.
	Operands string

	class    class
	single   bool // options have one dash and a name of any length, as in go and find
	optional map[string]bool
	count    bool // -5 means a number
	most     int  // operands; 0 is any number
}

type class uint8

const (
	looks class = iota
	changes
	runs
)

var classes = map[string]class{"looks": looks, "changes": changes, "runs": runs}

// kinds are what values and operands may be, besides "path": a path in the directories of the place.
var kinds = map[string]func() *regexp.Regexp{
	"number":   lazy.Regexp(`^[-+]?[0-9]+[A-Za-z]?$`),
	"duration": lazy.Regexp(`^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`),
	"word":     lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.,:+-]*$`),
	"lines":    lazy.Regexp(`^[0-9]+(,([0-9]+|\$))?p$`),
	"format":   lazy.Regexp(`^\+[ -~]+$`),
	"text":     lazy.Regexp(`(?s)^.*$`),
}

var nameRE = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9_:-]*$`)

//go:embed table.txt
var tableText string

// Table returns the allow-list: the rules of all named scopes, sorted by their words. The caller must not change it.
func Table() []*Rule { return table() }

var table = sync.OnceValue(func() []*Rule {
	var rules []*Rule
	for line := range strings.Lines(tableText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		rules = append(rules, parseRule(line))
	}
	slices.SortFunc(rules, func(a, b *Rule) int { return slices.Compare(a.Words, b.Words) })
	return rules
})

// byProgram has the rules of each program, those with more words first.
var byProgram = sync.OnceValue(func() map[string][]*Rule {
	m := map[string][]*Rule{}
	for _, r := range table() {
		m[r.Words[0]] = append(m[r.Words[0]], r)
	}
	for _, rules := range m {
		slices.SortStableFunc(rules, func(a, b *Rule) int { return len(b.Words) - len(a.Words) })
	}
	return m
})

// parseRule reads a line of the table; see there for the form. The table is part of the program, so a mistake in it panics.
func parseRule(line string) *Rule {
	columns := strings.Split(line, "|")
	if len(columns) != 4 {
		panic(fmt.Sprintf("command: table: want 4 columns: %s", line))
	}
	r := &Rule{Words: strings.Fields(columns[0]), Options: map[string]string{}, optional: map[string]bool{}}
	for _, mark := range strings.Fields(columns[1]) {
		switch mark {
		case "root":
			r.Root = true
		case "single":
			r.single = true
		default:
			c, ok := classes[mark]
			if !ok {
				panic(fmt.Sprintf("command: table: unknown mark %q: %s", mark, line))
			}
			r.Class, r.class = mark, c
		}
	}
	for _, option := range strings.Fields(columns[2]) {
		switch name, kind, valued := strings.Cut(option, "="); {
		case option == "-#":
			r.count = true
			r.Options["-#"] = "number"
		case !valued:
			r.Options[name] = ""
		default:
			name, optional := strings.CutSuffix(name, "?")
			r.optional[name] = optional
			r.Options[name] = checkKind(kind, line)
		}
	}
	if operands := strings.TrimSpace(columns[3]); operands != "none" {
		kind, most, limited := strings.Cut(operands, ":")
		if limited {
			fmt.Sscan(most, &r.most)
		}
		r.Operands = checkKind(kind, line)
	}
	return r
}

func checkKind(kind, line string) string {
	if kind != "path" && kind != "package" && kind != "sed" && kinds[kind] == nil {
		panic(fmt.Sprintf("command: table: unknown kind %q: %s", kind, line))
	}
	return kind
}

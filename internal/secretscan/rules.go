// SPDX-License-Identifier: Apache-2.0

package secretscan

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rulesFile has the default rules of gitleaks, as they are: config/gitleaks.toml of
// github.com/gitleaks/gitleaks at commit b58d3f10. Copyright (c) 2019 Zachary Rice, MIT License,
// see rules.LICENSE.
//
//go:embed rules.toml
var rulesFile string

// rule finds one kind of secret.
type rule struct {
	id       string
	pattern  string
	keywords []string // in lower case; a text without any of them has no such secret
	entropy  float64
	group    int // of the pattern that is the secret; 0 means the first one that matches
	allow    []allowlist
	compiled func() *regexp.Regexp
}

// allowlist says what is not a secret, although a rule finds it.
type allowlist struct {
	target  string // what the expressions are about: "match", "line", or the secret
	regexes []*regexp.Regexp
	stops   []string // in lower case
	all     bool     // the expressions and the stop words must both apply
	paths   bool     // it is only about some paths
}

// rules returns the rules, the one that says least last, and the allowlist of all rules.
var rules = sync.OnceValues(func() ([]*rule, []allowlist) {
	all, global, err := parse(rulesFile)
	if err != nil {
		panic("secretscan: " + err.Error()) // the file is a part of the program
	}
	all = append(all, own()...)
	general := slices.IndexFunc(all, func(r *rule) bool { return r.id == "generic-api-key" })
	return append(slices.Delete(slices.Clone(all), general, general+1), all[general]), global
})

// parse reads the rules. It knows as much of TOML as the file needs.
func parse(text string) (all []*rule, global []allowlist, err error) {
	var now *rule
	into := &global
	lines, inList := strings.Split(text, "\n"), false
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "" || line[0] == '#':
			continue
		case line == "[allowlist]":
			if into, inList = &global, true; len(global) == 0 {
				global = append(global, allowlist{})
			}
			continue
		case line == "[[rules]]":
			now = &rule{}
			all, inList = append(all, now), false
			continue
		case line == "[[rules.allowlists]]" && now != nil:
			now.allow = append(now.allow, allowlist{})
			into, inList = &now.allow, true
			continue
		}
		name, value, ok := strings.Cut(line, " = ")
		if !ok || line[0] == '[' {
			return nil, nil, fmt.Errorf("rules: line %d is not understood: %s", i+1, line)
		}
		var values []string
		switch {
		case value == "[":
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "]"; i++ {
				item := strings.TrimSuffix(strings.TrimSpace(lines[i]), ",")
				values = append(values, unquoted(item))
			}
		case value[0] == '[': // of words
			for item := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
				values = append(values, unquoted(strings.TrimSpace(item)))
			}
		default:
			values = []string{unquoted(value)}
		}
		switch {
		case i == len(lines):
			return nil, nil, errors.New("rules: the list of the last line has no end")
		case inList:
			err = (*into)[len(*into)-1].set(name, values)
		case now != nil:
			err = now.set(name, values)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("rules: line %d: %w", i+1, err)
		}
	}
	used := all[:0]
	for _, r := range all {
		if r.pattern != "" { // others are about names of files
			used = append(used, r)
		}
	}
	return used, global, nil
}

func unquoted(value string) string {
	for _, quote := range []string{"'''", `"`} {
		if inner, ok := strings.CutPrefix(value, quote); ok {
			value = strings.TrimSuffix(inner, quote)
			if quote == `"` {
				value = strings.ReplaceAll(value, `\\`, `\`)
			}
			break
		}
	}
	return value
}

func (r *rule) set(name string, values []string) (err error) {
	value := values[0]
	switch name {
	case "id":
		r.id = value
	case "regex":
		r.pattern = value
		r.compiled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(value) })
	case "entropy":
		r.entropy, err = strconv.ParseFloat(value, 64)
	case "secretGroup":
		r.group, err = strconv.Atoi(value)
	case "keywords":
		for _, word := range values {
			r.keywords = append(r.keywords, strings.ToLower(word))
		}
	case "description", "path", "tags":
	default:
		err = fmt.Errorf("%q is not known", name)
	}
	return err
}

func (a *allowlist) set(name string, values []string) error {
	switch name {
	case "regexes":
		for _, text := range values {
			expression, err := regexp.Compile(text)
			if err != nil {
				return err
			}
			a.regexes = append(a.regexes, expression)
		}
	case "stopwords":
		for _, word := range values {
			a.stops = append(a.stops, strings.ToLower(word))
		}
	case "regexTarget":
		a.target = values[0]
	case "condition":
		a.all = values[0] == "AND"
	case "paths":
		a.paths = true
	case "description":
	default:
		return fmt.Errorf("%q is not known", name)
	}
	return nil
}

// own returns rules for what those of gitleaks leave out: passwords in addresses, headers and
// settings, as they are in the transcripts of agents.
func own() []*rule {
	var all []*rule
	for _, r := range []struct{ id, pattern, keyword string }{
		{"url-password", `\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'<>]*:([^\s/@"'<>]{3,})@`, "://"},
		{"authorization-header", `(?i)\bauthorization["']?\s*[:=]\s*["']?` +
			`(?:basic|bearer|token|digest)\s+([a-z0-9+/_=.~-]{8,})`, "authorization"},
		{"bearer-token", `(?i)\bbearer\s+([a-z0-9+/_=.~-]{16,})`, "bearer"},
		{"cookie", `(?i)\b(?:set-)?cookie["']?\s*:\s*["']?` +
			`([a-z0-9_.-]{1,64}=[^\s"']{8,})`, "cookie"},
		{"password", `(?i)\b(?:[a-z0-9_.-]*(?:passw(?:or)?d|passphrase|pwd))["']?` +
			`\s*(?:[:=]|:=|=>)\s*["']?([^\s"',;<>{}()\[\]$‹›]{6,})`, "p"},
		{"command-password", `(?i)(?:--password[= ]|\bsshpass -p ?|` +
			`\bcurl .*(?:-u|--user) ?[^\s:]+:)["']?([^\s"']{4,})`, "p"},
	} {
		made := &rule{id: r.id, pattern: r.pattern, keywords: []string{r.keyword}, group: 1}
		made.compiled = sync.OnceValue(func() *regexp.Regexp {
			return regexp.MustCompile(r.pattern)
		})
		all = append(all, made)
	}
	return all
}

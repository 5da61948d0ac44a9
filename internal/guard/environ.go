// SPDX-License-Identifier: Apache-2.0

package guard

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Environ returns the variables of env that a program gets which the user has not trusted with
// secrets: those on the list of ordinary variables, and those whose names fit a pattern of pass.
//
// The list is environ.txt: what tools need to find their files, and how they talk to people. A name
// that is not on it is not passed on, because no list of names knows every secret. A listed
// variable whose value has a password in a URL, such as a proxy, is not passed on either. In
// patterns "*" stands for any text, and case makes no difference.
func Environ(env, pass []string) []string {
	kept := make([]string, 0, len(env))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if Matches(pass, name) || Ordinary(name) && !hasPassword(name, value) {
			kept = append(kept, e)
		}
	}
	return kept
}

// Ordinary reports whether a variable is on the list of those that every command gets.
func Ordinary(name string) bool {
	list := ordinary()
	return slices.Contains(list.names, strings.ToUpper(name)) || Matches(list.patterns, name)
}

//go:embed environ.txt
var ordinaryText string

// OrdinaryNames returns the list, for documentation. Names with "*" are patterns.
func OrdinaryNames() []string {
	var all []string
	for line := range strings.Lines(ordinaryText) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, strings.Fields(line)...)
		}
	}
	return all
}

// ordinary is the list, in upper case.
var ordinary = sync.OnceValue(func() (list struct{ names, patterns []string }) {
	for _, name := range OrdinaryNames() {
		if strings.Contains(name, "*") {
			list.patterns = append(list.patterns, name)
		} else {
			list.names = append(list.names, strings.ToUpper(name))
		}
	}
	return list
})

// hasPassword reports whether a value has a URL with a password, or with a user's name that may be
// a token. Proxies do without a scheme.
func hasPassword(name, value string) bool {
	between := func(r rune) bool { return strings.ContainsRune(" ,;|\t\n\"'", r) }
	for word := range strings.FieldsFuncSeq(value, between) {
		scheme, rest, ok := strings.Cut(word, "://")
		if !ok {
			scheme, rest = "", word
			if !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
				continue
			}
		}
		host, _, _ := strings.Cut(rest, "/")
		at := strings.LastIndexByte(host, '@')
		web := strings.HasPrefix(strings.ToLower(scheme), "http")
		if at >= 0 && (web || strings.Contains(host[:at], ":")) {
			return true
		}
	}
	return false
}

// Matches reports whether a name fits one of the patterns, in which "*" matches any text. Case
// makes no difference.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return fits(pattern, name) })
}

func fits(pattern, name string) bool {
	pattern, name = strings.ToUpper(pattern), strings.ToUpper(name)
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"slices"
	"strings"
)

// matcher compares the arguments of one program with the allow-list.
type matcher struct {
	place *Place
	dir   string // where the program runs
	git   bool   // the program is git, to which "@" is a commit
}

// match returns the named scope of a program with its arguments, and the rule that gives it; nil if there is none.
func (m *matcher) match(args []string) (name string, found *Rule) {
	m.git = args[0] == "git"
	for _, r := range byProgram()[args[0]] {
		words, ok := r.words(args)
		if !ok {
			continue
		}
		// The first rule that fits is the one: "git remote -v" is no "git remote" with an option.
		if r.Root && !m.place.isRoot(m.dir) || !m.rest(r, args[len(words):]) {
			return "", nil
		}
		return strings.Join(words, " "), r
	}
	return "", nil
}

// words returns the beginning of args, if it is that of the rule.
func (r *Rule) words(args []string) ([]string, bool) {
	if len(args) < len(r.Words) {
		return nil, false
	}
	for i, w := range r.Words {
		if w != args[i] && (w != "NAME" || !nameRE.MatchString(args[i])) {
			return nil, false
		}
	}
	return args[:len(r.Words)], true
}

// rest reports whether all that follows the words of a rule is covered.
func (m *matcher) rest(r *Rule, args []string) bool {
	var operands []string
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "-" || !strings.HasPrefix(a, "-") && r.Options[a] == "" && !hasOption(r, a):
			operands = append(operands, a)
			args = args[1:]
			continue
		case a == "--":
			operands = append(operands, args[1:]...)
			args = nil
			continue
		}
		var n int
		if r.single {
			n = m.singleOption(r, args)
		} else if strings.HasPrefix(a, "--") {
			n = m.longOption(r, args)
		} else {
			n = m.shortOptions(r, args)
		}
		if n == 0 {
			return false
		}
		args = args[n:]
	}
	return m.operands(r, operands)
}

func hasOption(r *Rule, a string) bool {
	_, ok := r.Options[a]
	return ok
}

// singleOption returns how many arguments the option at hand consists of, 0 if it is not covered. It may have one dash or two, and
// its value may be attached or be the next argument.
func (m *matcher) singleOption(r *Rule, args []string) int {
	name, value, attached := strings.Cut(args[0], "=")
	if strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	kind, ok := r.Options[name]
	switch {
	case !ok:
		return 0
	case kind == "" && attached:
		return one(value == "true" || value == "false")
	case kind == "":
		return 1
	case attached:
		return one(m.isKind(kind, value))
	case r.optional[name]:
		return 1
	}
	return m.nextValue(kind, args)
}

// longOption is singleOption for "--name". A value that may be left out must be attached.
func (m *matcher) longOption(r *Rule, args []string) int {
	name, value, attached := strings.Cut(args[0], "=")
	kind, ok := r.Options[name]
	switch {
	case !ok:
		return 0
	case kind == "":
		return one(!attached)
	case attached:
		return one(m.isKind(kind, value))
	case r.optional[name]:
		return 1
	}
	return m.nextValue(kind, args)
}

// shortOptions is singleOption for letters behind one dash, of which the last may have a value.
func (m *matcher) shortOptions(r *Rule, args []string) int {
	letters := args[0][1:]
	if r.count && kinds["number"]().MatchString(letters) && letters[0] >= '0' && letters[0] <= '9' {
		return 1
	}
	for i := range len(letters) {
		name := "-" + letters[i:i+1]
		kind, ok := r.Options[name]
		if !ok || name == "-#" {
			return 0
		}
		if kind == "" {
			continue
		}
		if value := letters[i+1:]; value != "" {
			return one(m.isKind(kind, value))
		}
		if r.optional[name] {
			return 1
		}
		return m.nextValue(kind, args)
	}
	return 1
}

// nextValue returns 2 if the next argument is a value of the kind. A version of the program that takes it for an operand must do no
// harm with it: text has to be good as a path too.
func (m *matcher) nextValue(kind string, args []string) int {
	switch {
	case len(args) < 2 || !m.isKind(kind, args[1]),
		kind == "text" && !m.isKind("path", args[1]),
		kind != "number" && strings.HasPrefix(args[1], "-"):
		return 0
	}
	return 2
}

func one(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

func (m *matcher) operands(r *Rule, operands []string) bool {
	kind := r.Operands
	switch {
	case len(operands) == 0:
		return kind != "sed"
	case kind == "" || r.most > 0 && len(operands) > r.most:
		return false
	case kind == "sed":
		if !kinds["lines"]().MatchString(operands[0]) {
			return false
		}
		kind, operands = "path", operands[1:]
	}
	return !slices.ContainsFunc(operands, func(o string) bool {
		return r.switched() && isSwitch(o) || o == "" ||
			o != "-" && strings.HasPrefix(o, "-") || !m.isKind(kind, o)
	})
}

// switched reports whether the words of the rule end with an option, which must stay on.
func (r *Rule) switched() bool { return strings.HasPrefix(r.Words[len(r.Words)-1], "-") }

// isSwitch reports whether some programs take a word for the value of the option before it,
// although the option needs none.
func isSwitch(word string) bool {
	switch strings.ToLower(word) {
	case "true", "false", "null", "undefined", "yes", "no", "on", "off", "0", "1":
		return true
	}
	return false
}

// isKind reports whether a value is of the kind.
func (m *matcher) isKind(kind, value string) bool {
	switch kind {
	case "path":
		if m.git && (value == "@" || strings.HasPrefix(value, "@~")) {
			value = "HEAD" + value[1:]
		}
		return value == "-" || safePath(value) && m.place.inside(absolute(m.dir, strings.TrimSuffix(value, "...")))
	case "package": // any other word names a package of a dependency, or of the standard library
		return (value == "." || strings.HasPrefix(value, "./") || filepath.IsAbs(value) || strings.HasSuffix(value, ".go")) && m.isKind("path", value)
	}
	return kinds[kind]().MatchString(value)
}

// safePath reports whether a path means one thing to every program: nothing expands it, no character at its beginning makes
// something else of it, and no ".." leads out of what a symbolic link led to.
func safePath(path string) bool {
	if path == "" || strings.ContainsAny(path[:1], "-+~@:!=") {
		return false
	}
	return !slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == filepath.Separator || r == ':' }), func(e string) bool { return e == ".." })
}

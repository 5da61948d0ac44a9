// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables are the ones that a line sets, with all values that they may have.
type variables struct {
	values map[string][]string
	// rebound is set if a program of the line may set any of them.
	rebound bool
}

// Programs that set variables to what they read or run, and programs that set those which their
// arguments name.
var (
	binders   = strings.Fields("read mapfile readarray getopts eval source . let unset trap alias")
	declarers = strings.Fields("export readonly declare typeset local")
)

// Variables with directories that are not part of a project. They are taken for nothing.
var homes = strings.Fields("HOME PWD OLDPWD TMPDIR")

// add notes a value, up to a bound.
func (v *variables) add(name, value string) {
	if v.values == nil {
		v.values = map[string][]string{}
	}
	all := v.values[name]
	if len(all) >= maxSeemings/2 || value == tooMany {
		value = Computed
	}
	if !slices.Contains(all, value) {
		v.values[name] = append(all, value)
	}
}

// environment notes the variables that a command is given.
func (v *variables) environment(env []string) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		v.add(name, value)
	}
}

// collect notes the variables that a line sets, whatever the order of its commands is.
func (v *variables) collect(file *syntax.File) {
	for range 2 { // values may be made of others that are set later
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				v.assign(n)
			case *syntax.WordIter:
				for _, w := range n.Items {
					for _, value := range v.words(w) {
						v.add(n.Name.Value, value)
					}
				}
				if len(n.Items) == 0 { // the arguments
					v.add(n.Name.Value, Computed)
				}
			case *syntax.CallExpr:
				v.binds(n.Args)
			}
			return true
		})
	}
}

// binds notes the variables that a program of the shell itself sets.
func (v *variables) binds(args []*syntax.Word) {
	for i, w := range args {
		goesOn := false // with the program that this one runs
		for _, program := range v.words(w) {
			v.setBy(program, args[i+1:])
			program = path.Base(program)
			goesOn = goesOn || program == "command" || program == "builtin" ||
				i > 0 && strings.HasPrefix(program, "-")
		}
		if !goesOn {
			break
		}
	}
}

// setBy notes the variables that one program sets.
func (v *variables) setBy(program string, args []*syntax.Word) {
	if name, value, ok := strings.Cut(program, "+="); ok { // a program, to some shells
		v.extend(name, value)
	}
	program = path.Base(program)
	v.rebound = v.rebound || slices.Contains(binders, program)
	declares := slices.Contains(declarers, program)
	for _, w := range args {
		for _, word := range v.words(w) {
			if declares {
				v.declare(word)
			} else if program == "printf" && strings.HasPrefix(word, "-v") {
				v.rebound = true
			}
		}
	}
}

// declare notes what an argument of a program such as export does.
func (v *variables) declare(word string) {
	name, value, sets := strings.Cut(word, "=")
	switch {
	case strings.Contains(name, Computed), name == tooMany:
		v.rebound = true
	case strings.HasPrefix(name, "-"):
		v.rebound = v.rebound || strings.Contains(name, "n") // names of other variables
	case sets && strings.Contains(value, Computed): // the word itself is looked at, too
		v.add(strings.TrimSuffix(name, "+"), Computed)
	case sets && strings.HasSuffix(name, "+"):
		v.extend(strings.TrimSuffix(name, "+"), value)
	case sets:
		v.add(name, value)
	}
}

func (v *variables) assign(a *syntax.Assign) {
	if a.Name == nil { // an argument of declare
		for _, word := range v.assigned(a) {
			v.declare(word)
		}
		return
	}
	name := a.Name.Value
	for _, value := range v.assigned(a) {
		if a.Append {
			v.extend(name, value)
		}
		v.add(name, value)
	}
}

// extend notes a value that is appended to the others.
func (v *variables) extend(name, value string) {
	before := slices.Clone(v.values[name])
	if len(before) == 0 {
		before = []string{"", Computed}
	}
	for _, b := range before {
		v.add(name, b+value)
	}
}

// assigned returns what the value of an assignment, or of an element of it, may be.
func (v *variables) assigned(a *syntax.Assign) (all []string) {
	if a.Value != nil {
		all = v.words(a.Value)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				all = append(all, v.words(e.Value)...)
			}
		}
	}
	return all
}

// expansions returns what a variable may expand to.
func (v *variables) expansions(p *syntax.ParamExp) []string {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	values, set := v.values[name]
	next := slices.Clone(values)
	if plain := p.Exp == nil && p.Repl == nil && p.Slice == nil && !p.Excl && !p.Length &&
		p.NestedParam == nil; !plain {
		set = false
	}
	switch {
	case set && !v.rebound:
	case slices.Contains(homes, name) && !v.rebound:
		next = append(next, "")
	default:
		next = append(next, "", Computed)
	}
	for _, value := range values {
		if p.Excl { // ${!x}
			next = append(next, v.values[value]...)
		}
		if p.Slice != nil { // ${x:1:2}
			if part, ok := sliced(p.Slice, value); ok {
				next = append(next, part)
			}
		}
	}
	if p.Exp != nil && p.Exp.Word != nil { // ${x:-word}, ${x#word}
		words := v.parts(p.Exp.Word.Parts)
		next = append(next, words...)
		for _, word := range words {
			next = append(next, cut(p.Exp.Op, word, values)...)
		}
	}
	if p.Repl != nil && p.Repl.Orig != nil { // ${x/word/other}
		with := []string{""}
		if p.Repl.With != nil {
			with = v.parts(p.Repl.With.Parts)
			next = append(next, with...)
		}
		for _, value := range values {
			for _, of := range v.parts(p.Repl.Orig.Parts) {
				if of = strings.TrimLeft(of, "#%"); of == "" { // where it is
					continue
				}
				for _, w := range with {
					next = append(next, strings.ReplaceAll(value, of, w))
				}
			}
		}
	}
	return next
}

// printed returns what the words of commands that print them may become.
func (v *variables) printed(stmts []*syntax.Stmt) (all []string) {
	if len(stmts) != 1 {
		return nil
	}
	c, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) < 2 {
		return nil
	}
	program, _ := literal(c.Args[0])
	if program != "echo" && program != "printf" {
		return nil
	}
	line := []string{""}
	for i, w := range c.Args[1:] {
		words := v.seemings(w)
		all = append(all, words...)
		if i > 0 {
			line = joined(line, []string{" "})
		}
		line = joined(line, words)
	}
	return append(all, line...)
}

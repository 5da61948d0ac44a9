// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// opaque adds the effects of a command that no table knows completely.
func (r *effectReader) opaque(words []string, depth int) {
	r.configured(words)
	r.unknown(words)
	r.readsBelow(words)
	r.nested(words, depth)
}

// nested adds the effects of a line that a command gives to a shell.
func (r *effectReader) nested(words []string, depth int) {
	for i, w := range words {
		switch path.Base(w) {
		case "sh", "bash", "dash", "zsh", "ash", "ksh":
			if j := slices.IndexFunc(words[i+1:], isCommandOption); j >= 0 {
				for _, line := range words[min(i+j+2, len(words)):] {
					r.inner(line, depth)
				}
			}
		case "eval":
			r.inner(strings.Join(words[i+1:], " "), depth)
		}
	}
}

// inner adds the effects of a line in a line.
func (r *effectReader) inner(line string, depth int) {
	if depth >= maxNested || !r.line(line, depth+1) {
		r.beyond = true
	}
}

// isCommandOption reports whether an option makes a shell run its operand.
func isCommandOption(w string) bool {
	return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c")
}

// fed adds the effects of what a statement gives to a program that does what its input says: the
// words before a pipe, and here-documents.
func (r *effectReader) fed(s *syntax.Stmt, depth int) {
	if pipe, ok := s.Cmd.(*syntax.BinaryCmd); ok && r.obeys(pipe.Y) {
		if pipe.Op == syntax.Pipe || pipe.Op == syntax.PipeAll {
			r.said(pipe.X, depth)
		}
	}
	here := slices.IndexFunc(s.Redirs, func(n *syntax.Redirect) bool { return hereText(n) != nil })
	if here >= 0 && s.Cmd != nil && r.obeys(&syntax.Stmt{Cmd: s.Cmd}) {
		for _, n := range s.Redirs {
			r.text(hereText(n), depth)
		}
	}
}

// said adds the effects of what the words of commands may become: the names of files, and lines of
// a shell.
func (r *effectReader) said(n syntax.Node, depth int) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			r.text(hereText(n), depth)
		case *syntax.CallExpr:
			var all []string
			for _, w := range n.Args {
				all = append(all, r.vars.seemings(w)...)
			}
			if r.unknown(all); depth < maxNested {
				for _, text := range all {
					if strings.ContainsAny(text, " \n") {
						r.line(text, depth+1)
					}
				}
			}
		}
		return true
	})
}

// text adds the effects of a text that may be lines of a shell, or names.
func (r *effectReader) text(w *syntax.Word, depth int) {
	if w == nil {
		return
	}
	for _, text := range r.vars.seemings(w) {
		if r.unknown(strings.Fields(text)); depth < maxNested {
			r.line(text, depth+1)
		}
	}
}

// hereText returns the text of a here-document or a here-string, nil if a redirection is none.
func hereText(n *syntax.Redirect) *syntax.Word {
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return n.Hdoc
	case syntax.WordHdoc:
		return n.Word
	}
	return nil
}

// Programs that do what their input says, or that give it to others. Those of the second list do so
// if they get no program as an argument.
var (
	obedient = strings.Fields("sh bash dash zsh ash ksh mksh fish csh tcsh pwsh eval source . " +
		"xargs parallel read mapfile readarray cpio pax patch ed ex at batch crontab su chpasswd")
	interpreters = strings.Fields("python python3 perl ruby node nodejs php lua Rscript deno bun " +
		"osascript sqlite3 psql mysql")
)

// inert are programs to which their arguments are texts.
var inert = strings.Fields("echo printf test [ : true false exit return jq")

// obeys reports whether a program of a statement does what its input says.
func (r *effectReader) obeys(s *syntax.Stmt) (found bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok || found {
			return !found
		}
		var words []string
		for _, w := range c.Args {
			words = append(words, r.vars.seemings(w)...)
		}
		for i, w := range words {
			if i > 0 && !slices.Contains(wrappers, path.Base(words[0])) {
				break
			}
			switch name := path.Base(w); {
			case slices.Contains(obedient, name):
				found = true
			case slices.Contains(interpreters, name):
				found = found || !slices.ContainsFunc(words[i+1:], isProgramOf)
			case name == "git":
				found = found || slices.ContainsFunc(words[i+1:], func(w string) bool {
					return w == "apply" || w == "am" || w == "--stdin"
				})
			}
		}
		return !found
	})
	return found
}

// isProgramOf reports whether an argument of an interpreter is, or has, a program.
func isProgramOf(arg string) bool {
	return !strings.HasPrefix(arg, "-") || hasLetter(arg, "ecrm")
}

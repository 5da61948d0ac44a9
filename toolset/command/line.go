// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ponte-go/ponte/internal/show"
)

// step is one program that a command runs.
type step struct {
	args []string
	// piped is set if its input comes from the previous step.
	piped bool
	// alone is set if it has no redirection: later steps run where it changes to.
	alone bool
}

// isUnsafe reports whether an argument would run another command, or become another one, should a client that starts the program forget
// to quote it. A dollar sign at its end, as in a regular expression, would not.
func isUnsafe(arg string) bool {
	return strings.ContainsAny(arg, "|&;<>`\n\r") || strings.Contains(strings.TrimSuffix(arg, "$"), "$")
}

// steps returns the programs that a command runs; ok is false if it cannot be told for certain.
func steps(c *Command) (all []step, ok bool) {
	if c.Line == "" {
		for _, a := range c.Args {
			if isUnsafe(a) || !show.Plain(a) {
				return nil, false
			}
		}
		return []step{{args: c.Args}}, c.Args[0] != ""
	}
	if !show.Plain(c.Line) { // line breaks too: what comes behind one is easily overlooked
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true)).Parse(strings.NewReader(c.Line), "")
	if err != nil {
		return nil, false
	}
	r := reader{sequence: len(file.Stmts) > 1}
	for _, s := range file.Stmts {
		if !r.statement(s, false) {
			return nil, false
		}
	}
	if r.sequence && r.changesDir { // what follows runs in the one directory or in the other
		return nil, false
	}
	return r.steps, true
}

// reader collects the steps of a line. Its methods report false at the first thing that is not plain.
type reader struct {
	steps      []step
	sequence   bool // something runs even if what is before it fails
	changesDir bool
}

func (r *reader) statement(s *syntax.Stmt, piped bool) bool {
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Comments) > 0 {
		return false
	}
	for _, redirect := range s.Redirs {
		if !discards(redirect) {
			return false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.call(c, piped, len(s.Redirs) == 0)
	case *syntax.BinaryCmd:
		if len(s.Redirs) > 0 {
			return false
		}
		switch c.Op {
		case syntax.AndStmt:
			return !piped && r.statement(c.X, false) && r.statement(c.Y, false)
		case syntax.OrStmt:
			r.sequence = true
			return !piped && r.statement(c.X, false) && r.statement(c.Y, false)
		case syntax.Pipe:
			return r.pipe(c.X, piped) && r.pipe(c.Y, true)
		}
	}
	return false
}

// pipe reads one side of a pipe: a program, or another pipe.
func (r *reader) pipe(s *syntax.Stmt, piped bool) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		before := len(r.steps)
		if !r.statement(s, piped) {
			return false
		}
		return r.steps[before].args[0] != "cd"
	case *syntax.BinaryCmd:
		return c.Op == syntax.Pipe && r.statement(s, piped)
	}
	return false
}

func (r *reader) call(c *syntax.CallExpr, piped, alone bool) bool {
	if len(c.Assigns) > 0 || len(c.Args) == 0 {
		return false
	}
	s := step{piped: piped, alone: alone}
	for _, w := range c.Args {
		text, ok := literal(w)
		if !ok {
			return false
		}
		s.args = append(s.args, text)
	}
	r.changesDir = r.changesDir || s.args[0] == "cd"
	r.steps = append(r.steps, s)
	return s.args[0] != ""
}

// discards reports whether a redirection throws output away or joins the two outputs.
func discards(r *syntax.Redirect) bool {
	from := "1"
	if r.N != nil {
		from = r.N.Value
	}
	to, ok := literal(r.Word)
	if !ok || from != "1" && from != "2" {
		return false
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut:
		return to == "/dev/null"
	case syntax.DplOut:
		return to == "1" || to == "2"
	}
	return false
}

// literal returns the text of a word in which no shell finds anything to expand.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if !bareWord(p.Value, b.Len() == 0) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || strings.ContainsAny(lit.Value, "$`\"!") || escapes(lit.Value) {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// escapes reports whether a backslash between double quotes, with no quotes and expansions, is more
// than itself.
func escapes(text string) bool {
	return strings.Contains(text, `\\`) || strings.Contains(text, "\\\n")
}

// bareWord reports whether every shell takes the text, without quotes, for itself. A tilde is
// literal only after a letter or a digit, as in HEAD~1; first is set if the text begins the word.
func bareWord(text string, first bool) bool {
	before := rune(0)
	for i, r := range text {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("_-./:@%+,", r):
		case r == '=' && (i > 0 || !first):
		case (r == '~' || r == '^') && (isAlphanumeric(before) || before == r):
		case r >= 0x80 && show.Visible(r):
		default:
			return false
		}
		before = r
	}
	return true
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

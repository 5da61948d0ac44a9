// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Pattern reads the commands that a rule is about, as a shell reads them: the words of a command,
// or of several commands joined by pipes. It returns an error for a command that no rule can match.
func Pattern(text string) ([][]string, error) {
	file, _ := parseLine(text)
	switch {
	case file == nil:
		return nil, errors.New("a shell cannot read it")
	case len(file.Stmts) == 0:
		return nil, errors.New("it has no command")
	case len(file.Stmts) > 1:
		return nil, errors.New("it has several commands; make a rule of each")
	}
	return stages(file.Stmts[0])
}

func stages(s *syntax.Stmt) ([][]string, error) {
	switch {
	case len(s.Redirs) > 0:
		return nil, errors.New("it has a redirection; " +
			"make a rule with path of the file that is written")
	case s.Negated || s.Background || s.Coprocess || s.Disown:
		return nil, errors.New(`it has "!" or "&"; leave that out`)
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			return nil, errors.New("it has several commands; make a rule of each")
		}
		before, err := stages(c.X)
		if err != nil {
			return nil, err
		}
		after, err := stages(c.Y)
		return append(before, after...), err
	case *syntax.CallExpr:
		return words(c)
	}
	return nil, errors.New("it is more than a command with its words")
}

func words(c *syntax.CallExpr) ([][]string, error) {
	if len(c.Assigns) > 0 {
		return nil, errors.New("it sets a variable; leave that out: the command is found with any")
	}
	var all []string
	for _, w := range c.Args {
		text, ok := literal(w)
		if !ok {
			seems := new(variables).seemings(w)
			if len(seems) != 1 || !plainLiteral(w) {
				return nil, errors.New("it has a word that a shell would work out; " +
					"write each command as it is run")
			}
			text = seems[0]
		}
		if strings.ContainsAny(text, "*?[") && !ok {
			return nil, fmt.Errorf("%q has a wildcard, which has no meaning here; "+
				"leave it out: a rule covers what follows its words", text)
		}
		all = append(all, text)
	}
	return [][]string{all}, nil
}

// plainLiteral reports whether a word consists of literals and quotes only.
func plainLiteral(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
		case *syntax.SglQuoted:
			if p.Dollar {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"errors"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// ParseCommand reads a command line: words, with quotes as a shell has them. Variables at its
// beginning, as in "DEBUG=1 my-agent", are added to the agent's environment. Nothing is expanded.
func ParseCommand(line string) (acpclient.Command, error) {
	words, err := split(line)
	if err != nil {
		return acpclient.Command{}, err
	}
	var c acpclient.Command
	for len(words) > 0 && isAssignment(words[0]) {
		c.Env, words = append(c.Env, words[0]), words[1:]
	}
	if len(words) == 0 || words[0] == "" {
		return acpclient.Command{}, errors.New("there is no command")
	}
	c.Path, c.Args = words[0], words[1:]
	return c, nil
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// split cuts a line into words. Everything in single quotes is literal. In double quotes a
// backslash escapes " and \; elsewhere it escapes blanks, quotes and itself. Other backslashes are
// literal, as in Windows paths.
func split(line string) (words []string, err error) {
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		next := byte(0)
		if i+1 < len(line) {
			next = line[i+1]
		}
		switch {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == c:
			quote = 0
		case quote == 0 && c == '\\' && next != 0 && strings.IndexByte(" \t\"'\\", next) >= 0, quote == '"' && c == '\\' && (next == '"' || next == '\\'):
			word.WriteByte(next)
			i++
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// matcher finds lines. It is safe for concurrent use.
type matcher struct {
	literal []byte         // if re is nil
	rare    int            // the position in literal, or in prefix, of its rarest byte
	folded  bool           // literal is in lower case, and so must be what is searched
	re      *regexp.Regexp // matches within one line
	prefix  []byte         // what every match of re begins with
}

// newMatcher makes a matcher. The error is for the model.
func newMatcher(pattern string, literal, ignoreCase bool) (*matcher, error) {
	if literal {
		if bytes.ContainsAny([]byte(pattern), "\r\n") {
			return nil, fmt.Errorf("pattern must not contain line breaks: lines are searched one by one")
		}
		switch {
		case !ignoreCase:
			return literalMatcher(pattern), nil
		case isASCII(pattern):
			m := literalMatcher(strings.ToLower(pattern))
			m.folded = true
			return m, nil
		}
		pattern = regexp.QuoteMeta(pattern)
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
		return nil, fmt.Errorf("pattern is not a valid regular expression: %s. Set literal to search for the text as it is", syntaxError(err))
	}
	flags := "(?m)"
	if ignoreCase {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern is not a valid regular expression: %s", syntaxError(err))
	}
	m := &matcher{re: re}
	if prefix, complete := re.LiteralPrefix(); complete && !bytes.ContainsAny([]byte(prefix), "\r\n") && prefix != "" {
		return literalMatcher(prefix), nil
	} else if prefix != "" {
		m.prefix, m.rare = []byte(prefix), rarest([]byte(prefix))
	}
	return m, nil
}

func literalMatcher(text string) *matcher {
	return &matcher{literal: []byte(text), rare: rarest([]byte(text))}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// appendLower appends text with the letters of ASCII in lower case. Its length stays.
func appendLower(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[at:] {
		if 'A' <= c && c <= 'Z' {
			dst[at+i] = c | 0x20
		}
	}
	return dst
}

func syntaxError(err error) string {
	if e, ok := err.(*syntax.Error); ok {
		return fmt.Sprintf("%s: `%s`", e.Code, e.Expr)
	}
	return err.Error()
}

// rareIn returns which byte of the literal, or of the prefix, to look for in a block.
func (m *matcher) rareIn(block []byte) int {
	const large, sample = 64 << 10, 4 << 10
	text := m.literal
	if m.re != nil {
		text = m.prefix
	}
	if len(block) < large || len(text) < 2 {
		return m.rare
	}
	from := len(block)/2 - sample/2
	return rarestIn(block[from:from+sample], text)
}

// candidate returns the position in block, which is made of whole lines, of a line that may
// match, or -1. Lines before it do not match.
func (m *matcher) candidate(block []byte, rare int) int {
	if m.re == nil {
		return indexRare(block, m.literal, rare)
	}
	if m.prefix != nil {
		return indexRare(block, m.prefix, rare)
	}
	loc := m.re.FindIndex(block)
	if loc == nil {
		return -1
	}
	return loc[0]
}

// match returns where a line, without its ending, matches; -1 if it does not.
func (m *matcher) match(line []byte) int {
	if m.re == nil {
		return bytes.Index(line, m.literal)
	}
	if loc := m.re.FindIndex(line); loc != nil {
		return loc[0]
	}
	return -1
}

// byLine reports whether a block must be searched line by line, because an end of a line is not
// where the expression expects it.
func (m *matcher) byLine(block []byte) bool {
	return m.re != nil && m.prefix == nil && bytes.IndexByte(block, '\r') >= 0
}

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
			return &matcher{literal: []byte(pattern)}, nil
		case isASCII(pattern):
			return &matcher{literal: []byte(strings.ToLower(pattern)), folded: true}, nil
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
		return &matcher{literal: []byte(prefix)}, nil
	} else if prefix != "" {
		m.prefix = []byte(prefix)
	}
	return m, nil
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

// candidate returns the position in block, which is made of whole lines, of a line that may match, or -1. Lines before it do not match.
func (m *matcher) candidate(block []byte) int {
	if m.re == nil {
		return bytes.Index(block, m.literal)
	}
	if m.prefix != nil {
		return bytes.Index(block, m.prefix)
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

// byLine reports whether a block must be searched line by line, because an end of a line is not where the expression expects it.
func (m *matcher) byLine(block []byte) bool {
	return m.re != nil && m.prefix == nil && bytes.IndexByte(block, '\r') >= 0
}

// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// cursor reads a clause from its beginning to its end. Every token is read by a rule; a clause with
// unread tokens is not understood.
type cursor struct {
	clause
	at int
}

func (k *cursor) more() bool { return k.at < len(k.tokens) }

// peek returns the token n places further on, or a comma at the end.
func (k *cursor) peek(n int) token {
	if k.at+n < len(k.tokens) {
		return k.tokens[k.at+n]
	}
	return token{kind: comma}
}

func (k *cursor) is(words ...string) bool { return k.peek(0).is(words...) }

// accept reads a token if it is one of the words.
func (k *cursor) accept(words ...string) bool {
	if k.more() && k.is(words...) {
		k.at++
		return true
	}
	return false
}

// phrase reads several words in a row.
func (k *cursor) phrase(words string) bool {
	list := strings.Fields(words)
	for i, w := range list {
		if !k.peek(i).is(w) {
			return false
		}
	}
	k.at += len(list)
	return true
}

// skip reads all tokens that are one of the words.
func (k *cursor) skip(words ...string) {
	for k.accept(words...) {
	}
}

// skipMost is skip, but leaves a token.
func (k *cursor) skipMost(words ...string) {
	for k.at < len(k.tokens)-1 && k.accept(words...) {
	}
}

// take reads a token other than punctuation.
func (k *cursor) take() (token, bool) {
	if !k.more() || !k.peek(0).isText() {
		return token{}, false
	}
	k.at++
	return k.tokens[k.at-1], true
}

// done reports whether all has been read but commas.
func (k *cursor) done() bool {
	for k.more() && k.peek(0).kind == comma {
		k.at++
	}
	return !k.more()
}

// rest returns the source of what has not been read.
func (k *cursor) rest() string { return k.raw(k.at, len(k.tokens)) }

// index returns where the first of the words stands, n places further on or later, or -1.
func (k *cursor) index(n int, words ...string) int { return index(k.tokens, k.at+n, words...) }

// lastIndex returns where the last of the words stands, n places further on or later, or -1.
func (k *cursor) lastIndex(n int, words ...string) int { return lastIndex(k.tokens, k.at+n, words...) }

// courtesies are polite words after a request. They do not change it.
var courtesies = []string{
	"please", "thanks", "thank you", "for me", "again", "once more", "right now", "now", "too",
	"as well", "everyone",
}

// trimCourtesy takes courtesies off the end of a clause, unless nothing would be left.
func (c clause) trimCourtesy() clause {
	for again := true; again; {
		again = false
		for n := len(c.tokens); n > 1 && c.tokens[n-1].kind == comma; n-- {
			c.tokens = c.tokens[:n-1]
		}
		for _, phrase := range courtesies {
			words := strings.Fields(phrase)
			from := len(c.tokens) - len(words)
			if from < 1 {
				continue
			}
			k := cursor{clause: c, at: from}
			if k.phrase(phrase) {
				c.tokens, again = c.tokens[:from], true
				break
			}
		}
	}
	return c
}

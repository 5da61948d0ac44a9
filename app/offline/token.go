// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/lazy"
)

// A token is a word, a quoted text or a mark of punctuation of the user's request.
type token struct {
	// text is the word, or what stood between the quotes.
	text string
	kind tokenKind
	// start and end are its place in the source, quotes included.
	start, end int
	// newline is set if it follows a line break.
	newline bool
}

type tokenKind int

const (
	word tokenKind = iota
	quoted
	object // a JSON object: the arguments of a tool
	comma
	semicolon
)

// isText reports whether t is not punctuation.
func (t token) isText() bool { return t.kind <= object }

// is reports whether t is one of the words, ignoring case and trailing punctuation.
func (t token) is(words ...string) bool {
	if t.kind != word {
		return false
	}
	plain := t.plain()
	for _, w := range words {
		if plain == w {
			return true
		}
	}
	return false
}

// plain returns a word as the grammar's own words are written.
func (t token) plain() string {
	if t.kind != word {
		return ""
	}
	s := strings.ToLower(strings.ReplaceAll(t.text, "’", "'"))
	if cut := strings.TrimRight(s, ":!?."); cut != "" {
		return cut
	}
	return s
}

// fileLink is how a mention of a file reaches a model: a Markdown link to a file URI.
var fileLink = lazy.Regexp(`^\[(?:[^\]\n\\]|\\.){0,255}\]\((?:(file://[^)\s]{1,1000})|<(file://[^>\n]{1,1000})>)\)`)

var closing = map[rune]string{'"': `"`, '\'': `'`, '`': "`", '“': "”", '‘': "’", '«': "»", '„': "“"}

// tokenize cuts src into tokens. It never fails: an unterminated quotation is a word.
func tokenize(src string) []token {
	var tokens []token
	newline := false
	objects := 20                     // how often to look for a JSON object, which may lead to the end of src
	unclosed := make(map[string]bool) // marks that occur no more, so that nothing is searched for twice
	for at := 0; at < len(src); {
		r, size := utf8.DecodeRuneInString(src[at:])
		if unicode.IsSpace(r) {
			newline = newline || r == '\n'
			at += size
			continue
		}
		t, ok := quotation(src, at, unclosed)
		if !ok && src[at] == '{' && objects > 0 && namesTool(tokens) {
			objects--
			t, ok = jsonObject(src, at)
		}
		if !ok {
			t = bareWord(src, at)
			n := len(tokens)
			follows := n > 0 && tokens[n-1].kind == quoted && tokens[n-1].end == at
			if follows && strings.Trim(t.text, ".!?") == "" {
				t.kind = semicolon // the end of a sentence
			}
		}
		t.newline = newline
		newline = false
		tokens = append(tokens, t)
		at = t.end
	}
	return tokens
}

// namesTool reports whether the tokens end with what may be the name of a tool that is to be
// called.
func namesTool(tokens []token) bool {
	n := len(tokens)
	if n == 0 {
		return false
	}
	if tokens[n-1].kind == word && strings.Contains(tokens[n-1].text, "_") {
		return true
	}
	for _, t := range tokens[max(n-6, 0):] {
		if t.is("use", "call") {
			return true
		}
	}
	return false
}

// jsonObject reads the JSON object that begins at src[at].
func jsonObject(src string, at int) (token, bool) {
	var raw json.RawMessage
	d := json.NewDecoder(strings.NewReader(src[at:]))
	if d.Decode(&raw) != nil {
		return token{}, false
	}
	return token{text: string(raw), kind: object, start: at, end: at + int(d.InputOffset())}, true
}

// quotation reads a quoted text, a fenced block or a link to a file that begins at src[at].
func quotation(src string, at int, unclosed map[string]bool) (token, bool) {
	const fence = "```"
	if body, ok := strings.CutPrefix(src[at:], fence); ok && !unclosed[fence] {
		unclosed[fence] = !strings.Contains(body, fence)
		if end := strings.Index(body, fence); end >= 0 {
			inner := body[:end]
			if eol := strings.IndexByte(inner, '\n'); eol >= 0 { // the first line names the language
				inner = inner[eol+1:]
			}
			return token{text: inner, kind: quoted, start: at, end: at + 3 + end + 3}, true
		}
	}
	if m := fileLink().FindStringSubmatch(src[at:]); m != nil {
		if u, err := url.Parse(m[1] + m[2]); err == nil && u.Path != "" {
			return token{text: u.Path, kind: quoted, start: at, end: at + len(m[0])}, true
		}
	}
	open, size := utf8.DecodeRuneInString(src[at:])
	mark, ok := closing[open]
	if !ok || unclosed[mark] {
		return token{}, false
	}
	body := src[at+size:]
	for from := 0; ; {
		i := strings.Index(body[from:], mark)
		if i < 0 {
			unclosed[mark] = true
			return token{}, false
		}
		i += from
		from = i + len(mark)
		if open == '"' && escaped(body[:i]) || !endsWord(body[from:]) {
			continue
		}
		text := body[:i]
		if open == '"' {
			text = unescape.Replace(text)
		}
		return token{text: text, kind: quoted, start: at, end: at + size + from}, true
	}
}

// unescape are the escapes known between double quotes; any other backslash is literal.
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t")

func escaped(before string) bool {
	n := len(before) - len(strings.TrimRight(before, `\`))
	return n%2 == 1
}

// endsWord reports whether a word may end before rest: at a space, at the end, or at punctuation before either.
func endsWord(rest string) bool {
	for most := 8; most > 0 && rest != "" && strings.IndexByte(",;.:!?)", rest[0]) >= 0; most-- {
		rest = rest[1:]
	}
	if rest == "" {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsSpace(r)
}

// bareWord reads the word or punctuation at src[at], which must not be a space.
func bareWord(src string, at int) token {
	switch src[at] {
	case ',':
		return token{text: ",", kind: comma, start: at, end: at + 1}
	case ';':
		return token{text: ";", kind: semicolon, start: at, end: at + 1}
	}
	end := at
	for end < len(src) {
		r, size := utf8.DecodeRuneInString(src[end:])
		if unicode.IsSpace(r) {
			break
		}
		if r == '"' && end > at { // --flag="two words"
			if i := strings.IndexByte(src[end+1:], '"'); i >= 0 && !strings.Contains(src[end+1:end+1+i], "\n") {
				end += i + 2
				continue
			}
		}
		if (r == ',' || r == ';') && endsWord(src[end:]) {
			break
		}
		end += size
	}
	return token{text: src[at:end], kind: word, start: at, end: end}
}

// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// string appends a string: one of the format, or one that matches the pattern, or else letters.
func (g *generator) string(n *node) error {
	k := g.choose(1000)
	least, most := limit(n.MinLength, 0), limit(n.MaxLength, maxCount)
	if least > most || least > maxOutput {
		return fmt.Errorf("%w: no string has a length from %d to %d", errNoValue, least, most)
	}
	var s string
	var ok bool
	switch {
	case n.Encoding == "base64":
		s, ok = n.firstFit(func(i int) string { return base64.StdEncoding.EncodeToString([]byte(sized(word(k), i+1, i+1))) })
	case formats[n.Format] != nil:
		s, ok = n.firstFit(func(i int) string { return formats[n.Format](k+i, sized(word(k), i+1, maxOutput)) })
	case len(n.Patterns) == 0:
		s, ok = sized(word(k), least, most), true
	}
	if !ok && len(n.Patterns) > 0 {
		var err error
		if s, err = n.matching(k); err != nil {
			return err
		}
	} else if !ok {
		return fmt.Errorf("%w: no string of format %q with a length from %d to %d", errNoValue, cmp.Or(n.Format, n.Encoding), least, most)
	}
	g.out = appendString(g.out, s)
	return nil
}

// firstFit returns the first of some strings that keeps the rules of n.
func (n *node) firstFit(candidate func(i int) string) (string, bool) {
	for i := range 200 {
		if s := candidate(i); n.acceptString(s) {
			return s, true
		}
	}
	return "", false
}

// word is the k-th word of lower-case letters: a to z, then aa.
func word(k int) string {
	var letters []byte
	for k++; k > 0; k = (k - 1) / 26 {
		letters = append(letters, byte('a'+(k-1)%26))
	}
	slices.Reverse(letters)
	return string(letters)
}

// sized repeats or cuts an ASCII text until its length is within bounds.
func sized(text string, least, most int) string {
	if len(text) < least {
		text = strings.Repeat(text, least/len(text)+1)[:least]
	}
	return text[:min(len(text), most)]
}

// formats make the k-th string of a format, k from 0 to some thousands, with a word of letters in
// it where there is room. Hosts and addresses come from the ranges reserved for documentation (RFC
// 2606, 5737, 3849).
var formats = map[string]func(k int, word string) string{
	"date-time":     func(k int, _ string) string { return day(k).Format(time.RFC3339) },
	"date":          func(k int, _ string) string { return day(k).Format(time.DateOnly) },
	"time":          func(k int, _ string) string { return day(k).Format("15:04:05Z") },
	"duration":      func(k int, _ string) string { return fmt.Sprintf("P%dD", k+1) },
	"email":         mailAddress,
	"idn-email":     mailAddress,
	"hostname":      host,
	"idn-hostname":  host,
	"uri":           link,
	"url":           link,
	"iri":           link,
	"uri-reference": path,
	"iri-reference": path,
	"json-pointer":  path,
	"byte":          func(_ int, word string) string { return base64.StdEncoding.EncodeToString([]byte(word)) }, // OpenAPI's
	"uuid":          func(k int, _ string) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", k+1) },
	"ipv4":          func(k int, _ string) string { return fmt.Sprintf("192.0.2.%d", k%254+1) },
	"ipv6":          func(k int, _ string) string { return fmt.Sprintf("2001:db8::%x", k+1) },
}

func mailAddress(_ int, word string) string { return word + "@example.com" }
func host(_ int, word string) string        { return "h" + word + ".example.com" }
func link(_ int, word string) string        { return "https://example.com/" + word }
func path(_ int, word string) string        { return "/" + word }

func day(k int) time.Time { return time.Date(2026, 1, 2+k, 15, 4, 5, 0, time.UTC) }

// maxMatching bounds what is tried, in characters and steps, to find a string that matches a pattern.
const maxMatching = 1 << 18

// matching returns a string that matches all patterns of n and has a fitting length. It is made of
// the first pattern, and of the shortest strings for the others at its beginning or end.
func (n *node) matching(k int) (string, error) {
	for _, p := range n.Patterns {
		if _, err := regexp.Compile(p); err != nil {
			return "", fmt.Errorf("the pattern %q cannot be read: %w", p, err)
		}
	}
	re, err := syntax.Parse(n.Patterns[0], syntax.Perl)
	if err != nil {
		return "", err
	}
	least, most := limit(n.MinLength, 0), limit(n.MaxLength, maxCount)
	// How often to repeat what may be repeated: as little as possible, but an empty string is the last resort.
	repeats := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64, least - 2, least - 1, least, most}
	work, empty := 0, false
	others := matcher{choice: k}
	for _, p := range n.Patterns[1:] {
		if other, err := syntax.Parse(p, syntax.Perl); err != nil || !others.write(other) {
			others.b.Reset()
		}
	}
	more := []rune(others.b.String())
	for _, repeat := range repeats {
		if repeat < 0 || repeat > maxOutput {
			continue
		}
		for turn := range 4 {
			m := matcher{choice: k + turn, repeat: repeat}
			ok := m.write(re)
			// Repetitions within repetitions make long strings, and one after the other the same or longer ones.
			if work += m.steps + m.b.Len(); work > maxMatching {
				return "", fmt.Errorf("%w: no short string found that matches %q", errNoValue, n.Patterns)
			}
			if !ok {
				continue
			}
			text := m.b.String()
			pad := strings.Repeat("a", max(0, least-len([]rune(text)))) // for patterns that are not anchored
			candidates := []string{text, text + pad, pad + text}
			if runes := []rune(text); len(more) > 0 {
				between := strings.Repeat("a", max(0, least-len(runes)-len(more)))
				over := max(0, len(runes)-len(more))
				first := string(more)
				candidates = append(candidates, first+string(runes[len(runes)-over:]),
					string(runes[:over])+first, text+between+first, first+between+text)
			}
			for _, s := range candidates {
				switch fits := n.acceptString(s); {
				case fits && s != "":
					return s, nil
				case fits:
					empty = true
				}
			}
		}
	}
	if empty {
		return "", nil
	}
	return "", fmt.Errorf("%w: no string found that matches %q with a length from %d to %d", errNoValue, n.Patterns, least, most)
}

// matcher writes a string that matches an expression, but for anchors and word boundaries, which it takes to hold.
type matcher struct {
	b      strings.Builder
	choice int // of alternatives and characters
	repeat int
	steps  int
}

// write reports whether there was a string, and a small enough one.
func (m *matcher) write(re *syntax.Regexp) bool {
	if m.steps++; m.steps > maxOutput || m.b.Len() > maxOutput {
		return false
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			m.b.WriteRune(r)
		}
	case syntax.OpCharClass:
		return m.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.b.WriteByte(byte('a' + m.choice%26))
	case syntax.OpStar:
		return m.times(re.Sub[0], m.repeat)
	case syntax.OpPlus:
		return m.times(re.Sub[0], max(1, m.repeat))
	case syntax.OpQuest:
		return m.times(re.Sub[0], min(1, m.repeat))
	case syntax.OpRepeat:
		n := max(re.Min, m.repeat)
		if re.Max >= 0 {
			n = min(n, re.Max)
		}
		return m.times(re.Sub[0], n)
	case syntax.OpAlternate:
		return m.write(re.Sub[m.choice%len(re.Sub)])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			if !m.write(sub) {
				return false
			}
		}
	}
	return true
}

func (m *matcher) times(re *syntax.Regexp, n int) bool {
	for range n {
		if !m.write(re) {
			return false
		}
	}
	return true
}

// legible are the preferred characters of a class. Zero is last, which keeps numbers from beginning
// with it.
const legible = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890-_ "

func (m *matcher) class(ranges []rune) bool {
	if len(ranges) == 0 {
		return false
	}
	var choices []rune
	for _, r := range legible {
		for i := 0; i < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				choices = append(choices, r)
			}
		}
	}
	if len(choices) > 1 && choices[len(choices)-1] == '0' {
		choices = choices[:len(choices)-1]
	}
	if len(choices) == 0 {
		choices = ranges[:1]
	}
	m.b.WriteRune(choices[m.choice%len(choices)])
	return true
}

// appendString appends a string as JSON, without escapes for HTML.
func appendString(dst []byte, s string) []byte {
	text, _ := plainjson.Marshal(s) // a string always has a JSON form
	return append(dst, text...)
}

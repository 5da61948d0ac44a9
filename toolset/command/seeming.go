// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Computed is text, in the words, paths and hosts of effects, that is only known when the command
// runs, as in ".env…" for ".env$X". It may be any text, and none.
const Computed = "…"

// tooMany is a word instead of those that are beyond the bound.
const tooMany = "\x00"

// seemings returns what a word seems to be, to a reader who works out quotes, escapes, braces and
// the variables that the line sets. What else is computed is taken for nothing, and also for
// [Computed], if a part of the word is known. It may be several words.
func (v *variables) seemings(w *syntax.Word) []string {
	return slices.DeleteFunc(v.words(w), func(word string) bool {
		return strings.Contains(word, Computed) &&
			!slices.ContainsFunc(strings.Split(word, "/"), func(element string) bool {
				known := strings.ReplaceAll(element, Computed, "")
				return known != "" && element != "." && element != ".."
			})
	})
}

// words returns all that a word may be.
func (v *variables) words(w *syntax.Word) []string {
	split := *w
	split.Parts = append([]syntax.WordPart(nil), w.Parts...)
	syntax.SplitBraces(&split)
	return v.parts(split.Parts)
}

// known returns the words of which nothing is left open.
func known(words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool {
		return strings.Contains(w, Computed) || w == tooMany
	})
}

func (v *variables) parts(parts []syntax.WordPart) []string {
	all := []string{""}
	for i, part := range parts {
		next := []string{""}
		switch p := part.(type) {
		case *syntax.Lit:
			text := unescaped(p.Value)
			// $'…', as a POSIX shell does not read it
			if i+1 < len(parts) && strings.HasSuffix(text, "$") {
				if q, ok := parts[i+1].(*syntax.SglQuoted); ok && !q.Dollar {
					next = []string{strings.TrimSuffix(text, "$"), text}
					break
				}
			}
			next = []string{text}
			if rest, ok := strings.CutPrefix(text, "~+/"); ok && i == 0 { // the working directory
				next = append(next, "./"+rest)
			} else if dir, rest, ok := strings.Cut(text, "/"); ok && i == 0 && isVisited(dir) {
				next = append(next, Computed+"/"+rest)
			}
			if before, ok := strings.CutSuffix(text, "$"); ok && i+1 < len(parts) {
				next = append(next, before+Computed) // as in $[1+1], which is for some shells only
			}
		case *syntax.SglQuoted:
			next = []string{p.Value}
			if ansi := ansiC(p.Value); ansi != p.Value {
				next = append(next, ansi)
			}
		case *syntax.DblQuoted:
			next = v.parts(p.Parts)
		case *syntax.BraceExp:
			next = nil
			if p.Sequence {
				next = append(next, Computed)
			}
			for _, e := range p.Elems {
				next = append(next, v.parts(e.Parts)...)
			}
		case *syntax.ParamExp:
			next = v.expansions(p)
		case *syntax.CmdSubst:
			next = append([]string{"", Computed}, v.printed(p.Stmts)...)
		case *syntax.ArithmExp:
			next = []string{"", Computed}
		case *syntax.ExtGlob: // such as @(a|b)
			next = append(strings.Split(unescaped(p.Pattern.Value), "|"), "", Computed)
		}
		if computed(part) && i+1 < len(parts) && goesBelow(parts[i+1]) {
			next = append(next, ".") // such as $PWD/FILE
		}
		all = joined(all, next)
	}
	return all
}

// isVisited reports whether a text stands for a directory that the shell was in, as "~-" and "~2" do.
func isVisited(text string) bool {
	digits, tilde := strings.CutPrefix(text, "~")
	number := strings.TrimLeft(digits, "+-")
	return tilde && digits != "" && strings.Trim(number, "0123456789") == ""
}

// computed reports whether a shell works out a part of a word.
func computed(part syntax.WordPart) bool {
	switch part.(type) {
	case *syntax.ParamExp, *syntax.CmdSubst:
		return true
	}
	q, ok := part.(*syntax.DblQuoted)
	return ok && len(q.Parts) == 1 && computed(q.Parts[0])
}

// goesBelow reports whether a part of a word begins with a slash.
func goesBelow(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		return strings.HasPrefix(p.Value, "/")
	case *syntax.SglQuoted:
		return strings.HasPrefix(p.Value, "/")
	case *syntax.DblQuoted:
		return len(p.Parts) > 0 && goesBelow(p.Parts[0])
	}
	return false
}

// joined puts each of the ends behind each of the beginnings, up to a bound.
func joined(beginnings, ends []string) (all []string) {
	for _, a := range beginnings {
		for _, b := range ends {
			if len(all) == maxSeemings {
				return append(all, tooMany)
			}
			if word := a + b; !strings.Contains(word, tooMany) {
				all = append(all, word)
			} else if !slices.Contains(all, tooMany) {
				all = append(all, tooMany)
			}
		}
	}
	return all
}

// unescaped removes the backslashes of a text, and escaped line breaks.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// ansiC works out the escapes of $'…'.
func ansiC(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		digits, base := 0, 16
		switch text[i] {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			digits, base = 3, 8
			i--
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(text[i])
		}
		end := i + 1
		for end < len(text) && end <= i+digits && isDigit(text[end], base) {
			end++
		}
		n, err := strconv.ParseUint(text[i+1:end], base, 32)
		switch {
		case err != nil:
		case digits > 3:
			b.WriteRune(rune(n))
		default:
			b.WriteByte(byte(n))
		}
		i = end - 1
	}
	return b.String()
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return '0' <= c && c <= '7'
	}
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

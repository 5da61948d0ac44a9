// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/command"
)

// FuzzScope checks that no line gets a named scope if it has what no such line may have, and that the programs in it are those of its
// scopes. It looks at the line alone: it shares nothing with the parser.
func FuzzScope(f *testing.F) {
	for _, pair := range slices.Concat(pairs(everyday), pairs(dangerous)) {
		f.Add(pair[0])
		f.Add(pair[1])
	}
	f.Add("tr a b d /")
	f.Add("echo x | grep -e /etc a")
	f.Add("echo'' grep:-e /")
	place := project(f)
	programs := map[string]bool{"cd": true}
	for _, r := range command.Table() {
		programs[r.Words[0]] = true
	}
	f.Fuzz(func(t *testing.T, line string) {
		s := command.ScopeOf(at(place, line), place)
		require.NotEmpty(t, s.Scope)
		require.NotEmpty(t, s.Title)
		for _, r := range s.Title {
			require.True(t, unicode.IsGraphic(r), "%q", s.Title)
		}
		if len(s.Covers)+len(s.Parts) == 0 {
			require.True(t, strings.HasPrefix(s.Scope, "exactly "))
			return
		}
		require.False(t, strings.ContainsFunc(line, unicode.IsControl))
		require.False(t, strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.Cf, r) }))
		bare := withoutQuotes(t, line)
		require.False(t, strings.ContainsAny(bare, "`$*?[]{}()<#\n\\!"), bare)
		for _, output := range strings.Split(bare, ">")[1:] {
			target := strings.TrimSpace(output)
			require.True(t, strings.HasPrefix(target, "/dev/null") || strings.HasPrefix(target, "&1") || strings.HasPrefix(target, "&2"), bare)
		}
		for _, one := range strings.FieldsFunc(strings.NewReplacer(">&1", "", ">&2", "").Replace(bare), func(r rune) bool { return strings.ContainsRune("|&;", r) }) {
			if words := strings.Fields(one); len(words) > 0 && !strings.Contains(words[0], "Q") && !strings.Contains(words[0], ">") {
				require.True(t, programs[words[0]], bare)
			}
		}
		words := strings.Fields(bare)
		for i, word := range words {
			if filepath.IsAbs(word) && word != "/dev/null" && !isText(words, i) {
				require.True(t, strings.HasPrefix(word, place.Roots[0]) || strings.HasPrefix(word, place.Roots[1]), word)
			}
			require.False(t, slices.Contains(strings.Split(word, "/"), ".."), bare)
		}
		for _, exact := range s.Covers {
			require.True(t, strings.HasPrefix(exact, "exactly "))
		}
	})
}

// isText reports whether a word may be a text that no program opens: of a program that takes texts only, or behind an option with a text.
func isText(words []string, i int) bool {
	for first := i; first >= 0; first-- {
		program := strings.ReplaceAll(words[first], "Q", "") // quotes around nothing
		for _, r := range command.Table() {
			if r.Words[0] == program && (r.Operands == "text" || i > first && r.Options[words[i-1]] == "text") {
				return true
			}
		}
		if strings.ContainsAny(words[first], "|&;") {
			return false
		}
	}
	return false
}

// withoutQuotes replaces what is quoted by Q.
func withoutQuotes(t *testing.T, line string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(line, `'"`)
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:i] + "Q")
		_, rest, ok := strings.Cut(line[i+1:], line[i:i+1])
		require.True(t, ok)
		line = rest
	}
}

// pairs reads lines of the form "allowed => next".
func pairs(text string) (all [][2]string) {
	for line := range strings.Lines(text) {
		if allowed, next, ok := strings.Cut(strings.TrimSpace(line), " => "); ok {
			all = append(all, [2]string{allowed, next})
		}
	}
	return all
}

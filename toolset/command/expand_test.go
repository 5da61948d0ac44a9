// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// What an expansion makes of a value that the line has is among the words of the command. The last
// word of each line is the one that bash makes of it.
func TestExpansionsOfValuesInALine(t *testing.T) {
	for line, want := range map[string]string{
		"f=a.b.c; rm ${f#*.}": "b.c", "f=a.b.c; rm ${f##*.}": "c", "f=a.b.c; rm ${f%.*}": "a.b", "f=a.b.c; rm ${f%%.*}": "a", "f=a/b/c; rm ${f##*/}": "c", "f=a/b/c; rm ${f%/*}": "a/b", "f=abc; rm ${f#a?}": "c", "f=abc; rm ${f%[bc]}": "ab", "f=abc; rm ${f#x}": "abc", "f=abc; rm ${f%abc}z": "z",
		"f=abcdef; rm ${f:2}": "cdef", "f=abcdef; rm ${f:2:3}": "cde", "f=abcdef; rm ${f:0:1}": "a", "f=abcdef; rm ${f: -2}": "ef", "f=abcdef; rm ${f:1:-2}": "bcd", "f=abcdef; rm ${f: -3:2}": "de", "f=abcdef; rm ${f: -3:-1}": "de", "f=abcdef; rm ${f:4:9}": "ef", "f=äöü; rm ${f:1:1}": "ö", "f=abc; rm ${f:0:0}z": "z",
		"f=abca; rm ${f/a/x}": "xbcx", "f=abc; rm ${f/b}": "ac", "f=abc; rm ${f/#a/x}": "xbc", "f=abc; rm ${f/%c/x}": "abx", "f=abc; rm ${f//b/}": "ac", "g=abc; f=g; rm ${!f}": "abc", "rm @(ab|cd)": "cd", "rm x+(ab)y": "xaby", "rm ${f:-abc}": "abc", "rm ${f:=abc}d": "abcd",
	} {
		var words []string
		for _, e := range command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{}) {
			words = append(words, e.Argv...)
		}
		assert.Contains(t, words, want, line)
	}
	for _, line := range []string{"f=abc; rm ${f:x}", "f=abc; rm ${f:2:9223372036854775807}", "f=abc; rm ${f:9223372036854775807:1}", "f=abc; rm ${f: -9223372036854775807:1}", "f=abc; rm ${f:99999999999999999999}", "f=; rm ${f:0:1}", "f=abc; rm ${f:1+1}", "f=abc; rm ${f: -9}", "f=abc; rm ${f:9}", "f=abc; rm ${f:1:x}", "f=abc; rm ${f:2:-2}", "f=abc; rm ${f#[}", "f=abc; rm ${f:-1:1}", "rm ${f#x}", "rm ${f:1}"} {
		assert.NotEmpty(t, command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{}), line)
	}
}

func TestPatternsThatNoCommandFitsAreErrors(t *testing.T) {
	for text, want := range map[string]string{"echo 'x": "cannot read it", "": "no command", "a; b": "several commands", "a && b": "several commands", "a >b": "redirection", "! a": "leave that out"} {
		_, err := command.Pattern(text)
		assert.ErrorContains(t, err, want, text)
	}
}

// What is left of a long value is not worked out, which takes the square of its length: it may be
// any file.
func TestLongValuesAreNotCut(t *testing.T) {
	for long, want := range map[int]bool{1000: false, 1025: true, 200_000: true} {
		line := "f=" + strings.Repeat("a", long) + "; cat ${f#*b}"
		got := command.Effects(command.Command{Line: line}, command.Place{})
		all := func(e model.Effect) bool { return e.Kind == model.EffectRead && e.Path == "/" }
		assert.Equal(t, want, slices.ContainsFunc(got, all), long)
	}
}

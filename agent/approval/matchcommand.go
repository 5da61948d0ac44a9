// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/lazy"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// compiled is a rule in the form that it is matched in.
type compiled struct {
	ConfigRule
	stages [][]string // of a rule that denies or asks about commands: their words, as tokens
	answer *Rule      // of an answer "always", whose scope is compared

	path, readPath, dir    pattern
	foldedPath, foldedRead pattern // in lower case
}

// compile reads the commands of a rule. It returns an error for a command that never matches.
func (r *ConfigRule) compile() (compiled, error) {
	c := compiled{ConfigRule: *r}
	c.path, c.foldedPath = patternOf(r.Path)
	c.readPath, c.foldedRead = patternOf(r.Read)
	c.dir, _ = patternOf(r.Dir)
	if r.Command == "" || r.Decision == toolset.VerdictAllow {
		return c, nil
	}
	stages, err := command.Pattern(r.Command)
	for _, words := range stages {
		var tokens []string
		for _, w := range words {
			tokens = append(tokens, tokensOf(strings.ToLower(w))...)
		}
		if len(tokens) > 0 {
			c.stages = append(c.stages, tokens)
		}
	}
	return c, err
}

// tokensOf takes a text apart into the words that rules are compared with.
func tokensOf(text string) []string {
	tokens := make([]string, 0, 1+len(text)/6)
	begin := -1 // of a word
	for i, r := range text {
		if r < utf8.RuneSelf && separates[r] || r >= utf8.RuneSelf && !show.Visible(r) {
			if begin >= 0 {
				tokens = append(tokens, text[begin:i])
			}
			begin = -1
		} else if begin < 0 {
			begin = i
		}
	}
	if begin >= 0 {
		tokens = append(tokens, text[begin:])
	}
	return tokens
}

// separates are the characters of ASCII that end a word.
var separates = func() (all [utf8.RuneSelf]bool) {
	for r := range rune(utf8.RuneSelf) {
		all[r] = strings.ContainsRune(" ;&|()<>`$={},", r) || !show.Visible(r)
	}
	return all
}()

// commandWords are the words of a command, in each of the ways to read them.
type commandWords struct {
	readings []reading
	piped    bool
	computed bool
}

// reading is the words of one program, or of a whole line.
type reading struct {
	tokens []string
	dir    string
	line   bool // of a whole line, in which anything may stand in front of a program
}

// Quotes are left out, and a backslash is nothing, or separates names.
var withoutQuotes = [2]*strings.Replacer{
	strings.NewReplacer(`'`, "", `"`, "", `\`, ""),
	strings.NewReplacer(`'`, "", `"`, "", `\`, "/"),
}

// fed finds a shell that reads its commands from a pipe, a here-document or a file, where a word
// may be put together.
var fed = lazy.Regexp(
	`(?i)(^|[|&;( /])((ba|da|z|k|a)?sh(\.exe)?)( +-[a-z]+)*\s*($|[;&|)\n<])`)

func mayFeed(text string) bool {
	for i := 1; i < len(text); i++ {
		if h, before := text[i]|0x20, text[i-1]|0x20; h != 'h' || before != 's' {
			continue
		}
		if i+1 == len(text) || strings.IndexByte(". \t\n\f\r\v;&|)<", text[i+1]) >= 0 {
			return fed().MatchString(text)
		}
	}
	return false
}

var brackets = strings.NewReplacer("[", " ", "]", " ", ":", " ", "+", " ", "@", " ")

func (c *call) read() *commandWords {
	if c.words != nil {
		return c.words
	}
	w := &commandWords{}
	for i, e := range c.programs {
		if i > 0 && e.Dir == c.programs[i-1].Dir && slices.Equal(e.Argv, c.programs[i-1].Argv) {
			continue // a program and what is unknown of it
		}
		var tokens []string
		for _, a := range e.Argv {
			tokens = append(tokens, tokensOf(strings.ToLower(a))...)
		}
		if len(tokens) > 0 {
			w.readings = append(w.readings, reading{tokens: tokens, dir: strings.ToLower(e.Dir)})
		}
	}
	if c.command != nil {
		text := c.command.Line
		if text == "" {
			text = strings.Join(c.command.Args, " ")
		}
		text = strings.ReplaceAll(text, "\\\n", "")
		w.piped, w.computed = strings.Contains(text, "|"), computes(text) || mayFeed(text)
		lower := strings.ToLower(text)
		for i, quotes := range withoutQuotes {
			if i > 0 && !strings.Contains(lower, `\`) {
				break // it is the same
			}
			plain := quotes.Replace(lower)
			tokens := tokensOf(plain)
			dir := strings.ToLower(c.command.Dir)
			w.readings = append(w.readings, reading{tokens: tokens, dir: dir, line: true})
			if strings.ContainsAny(plain, "[]:+@") { // a list of another language
				tokens = tokensOf(brackets.Replace(plain))
				w.readings = append(w.readings, reading{tokens: tokens, line: true})
			}
		}
	}
	c.words = w
	return w
}

// forbidsCommand compares words. The words of the rule may stand anywhere in a command, in their
// order, with or without others between them. What a shell computes may be any word.
func (r *compiled) forbidsCommand(c *call) fit {
	w := c.read()
	switch {
	case len(r.stages) == 1:
		if slices.ContainsFunc(w.readings, func(read reading) bool {
			return c.mentions(&read, r.stages[0])
		}) {
			return yes
		}
	case w.piped && c.pipes(w.readings, r.stages):
		return yes
	}
	if w.computed {
		return perhaps
	}
	return no
}

// pipes reports whether programs, or lines, mention the stages of a pipe in their order.
func (c *call) pipes(readings []reading, stages [][]string) bool {
	rest := stages
	for _, read := range readings {
		if read.line {
			tokens := read.tokens
			left := stages
			for len(left) > 0 {
				i := slices.IndexFunc(tokens, func(t string) bool { return isProgram(t, left[0][0]) })
				if i < 0 || !follow(tokens[i+1:], left[0][1:]) {
					break
				}
				tokens, left = tokens[i+1:], left[1:]
			}
			if len(left) == 0 {
				return true
			}
		} else if c.mentions(&read, rest[0]) {
			if rest = rest[1:]; len(rest) == 0 {
				return true
			}
		}
	}
	return false
}

// mentions reports whether a command may contain the words, in their order. The first one may have
// a path before it, or an ending such as ".exe".
func (c *call) mentions(read *reading, words []string) bool {
	for i, token := range read.tokens {
		rest, words := read.tokens[i+1:], words
		switch {
		case c.isNamed(token, read.dir, words[0]):
			words = words[1:]
		case len(words) > 1 && isProgram(token, words[0]+"-"+words[1]): // such as git-push
			words = words[2:]
		default:
			continue
		}
		if follow(rest, words) || !read.line && hasWords(rest, words) {
			return true
		}
	}
	return false
}

// hasWords reports whether the arguments of one program contain words: options in any order and
// form, and the others in their order.
func hasWords(tokens, words []string) bool {
	var operands []string
	for _, w := range words {
		if len(w) < 2 || w[0] != '-' {
			operands = append(operands, w)
		} else if !hasOption(tokens, w) {
			return false
		}
	}
	return follow(tokens, operands)
}

// hasOption reports whether arguments have an option: as it is, abbreviated, or as letters of other
// options.
func hasOption(tokens []string, option string) bool {
	if slices.ContainsFunc(tokens, func(t string) bool {
		return isWord(t, option) || len(t) > 3 && strings.HasPrefix(t, "--") && strings.HasPrefix(option, t)
	}) {
		return true
	}
	letters := option[1:]
	if short := shortOptions[option]; short != "" {
		letters = short
	} else if strings.HasPrefix(option, "--") || len(letters) > 3 {
		return false
	}
	return !strings.ContainsFunc(letters, func(letter rune) bool {
		return !slices.ContainsFunc(tokens, func(t string) bool {
			if strings.HasPrefix(t, "--") {
				long := longOptions[letter]
				return len(t) > 3 && strings.HasPrefix(long, t)
			}
			return strings.HasPrefix(t, "-") && len(t) < 8 && strings.ContainsRune(t[1:], letter)
		})
	})
}

// Options that nearly all programs have in two forms.
var (
	shortOptions = map[string]string{"--force": "f", "--recursive": "r"}
	longOptions  = map[rune]string{'f': "--force", 'r': "--recursive"}
)

// isNamed reports whether a token is a program by the name that a rule has for it. A rule that
// names a file is about that file, by whichever path.
func (c *call) isNamed(token, dir, name string) bool {
	if isProgram(token, name) {
		return true
	}
	if !strings.Contains(name, "/") || !strings.Contains(token, path.Base(name)) {
		return false
	}
	if isAbsolute(name) {
		return isProgram(token, path.Base(name))
	}
	token, name = slashed(token), path.Clean(name)
	if token == name || strings.HasSuffix(token, "/"+name) {
		return true
	}
	return dir != "" && strings.HasSuffix(path.Join(slashed(dir), token), "/"+name)
}

// isProgram reports whether a token is a program of this name, with or without a path in front.
func isProgram(token, name string) bool {
	if isPlain(token) {
		return token == name
	}
	program := strings.TrimSuffix(token[strings.LastIndexByte(token, '/')+1:], ".exe")
	return isWord(program, name) || isWord(token, name)
}

// isPlain reports whether a token has no path, ending or glob, and so is one word only.
func isPlain(token string) bool {
	for i := range len(token) {
		switch token[i] {
		case '/', '.', '*', '?', '[':
			return false
		}
	}
	return true
}

// isWord reports whether a token, in which a shell may find a glob, may be a word.
func isWord(token, word string) bool {
	if isPlain(token) {
		return token == word
	}
	if token == word || strings.Contains(token, "/") && path.Clean(token) == path.Clean(word) {
		return true
	}
	if !strings.ContainsAny(token, "*?[") {
		return false
	}
	ok, err := path.Match(token, word)
	return ok || err != nil
}

// follow reports whether the tokens contain the words in order.
func follow(tokens, words []string) bool {
	for _, token := range tokens {
		if len(words) > 0 && isWord(token, words[0]) {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// computes reports whether a shell would compute a part of a command, which could hide a word.
func computes(text string) bool {
	for i := range len(text) - 1 {
		if text[i] == '$' && !strings.ContainsRune(" |)\"'", rune(text[i+1])) {
			return true
		}
	}
	return strings.Contains(text, "`")
}

// onlyReads reports whether all known effects of a call are reads, whatever kind its tool claims.
func onlyReads(a *toolset.Approval) bool {
	return !slices.ContainsFunc(effectsOf(a, ""), func(e model.Effect) bool {
		return e.Kind != model.EffectRead
	})
}

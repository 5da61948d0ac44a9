// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"path"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// The styles of code.
var (
	commentStyle  = text.Style{Color: text.Gray, Italic: true}
	keywordStyle  = text.Style{Color: text.Magenta}
	stringStyle   = text.Style{Color: text.Green}
	numberStyle   = text.Style{Color: text.Cyan}
	functionStyle = text.Style{Color: text.Blue}
	deletedStyle  = text.Style{Color: text.Red}
	insertedStyle = text.Style{Color: text.Green}
)

// syntax describes a language for coloring. It is far from a grammar: a mistake only costs a color.
type syntax struct {
	comments []string  // that end with the line
	block    [2]string // begin and end of a comment
	quotes   string    // that strings begin and end with
	long     []string  // quotes of strings that go over lines
	keywords map[string]bool
	anyCase  bool // keywords in upper case are keywords too
	tags     bool // names after "<" are tags
	lines    bool // a diff: the first character of a line decides
}

// syntaxes returns the languages by their names, and by the endings of files. They are made when
// they are needed first, because most runs of the program show no code.
var syntaxes = sync.OnceValue(func() map[string]*syntax {
	all := map[string]*syntax{}
	add := func(names string, s syntax, keywords string) {
		s.keywords = map[string]bool{}
		for _, k := range strings.Fields(keywords) {
			s.keywords[k] = true
		}
		for _, n := range strings.Fields(names) {
			all[n] = &s
		}
	}
	c := syntax{comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`}
	hash := syntax{comments: []string{"#"}, quotes: `"'`}
	goes, script, python, sql, lua := c, c, hash, c, c
	goes.long, script.long, python.long = []string{"`"}, []string{"`"}, []string{`"""`, "'''"}
	sql.comments, sql.anyCase = []string{"--"}, true
	lua.comments, lua.block = []string{"--"}, [2]string{"--[[", "]]"}
	const common = "break case continue default do else for if return switch while true false "
	const classes = common + "abstract as async await catch class const enum extends final finally implements import in instanceof interface let new null " +
		"package private protected public static super this throw throws try var void yield "
	add("go golang go.mod", goes, "break case chan const continue default defer else fallthrough for func go goto if import interface map module nil package "+
		"range replace require return select struct switch toolchain type var true false iota")
	add("c h cc cpp c++ hpp cxx objective-c m", c, classes+"auto bool char delete double explicit extern float friend goto inline int long namespace nullptr operator override "+
		"register short signed sizeof struct template typedef typename union unsigned using virtual volatile #include #define #if #ifdef #ifndef #else #endif #pragma")
	add("java kotlin kt kts scala groovy gradle csharp cs c# swift dart", c, classes+"assert bool boolean byte char companion data def double extension float fun func guard int internal "+
		"is long mutating namespace native nil object open override record sealed short struct synchronized trait transient typealias using val volatile when where")
	add("javascript js jsx mjs cjs typescript ts tsx", script, classes+"any boolean constructor debugger declare delete export from function get keyof namespace never number of "+
		"readonly set string symbol type typeof undefined unknown")
	add("rust rs", syntax{comments: c.comments, block: c.block, quotes: `"`}, common+"as async await const crate dyn enum extern fn impl in let loop match mod move mut pub ref self Self "+
		"static struct super trait type unsafe use where")
	add("php", syntax{comments: []string{"//", "#"}, block: c.block, quotes: `"'`}, classes+"array echo elseif endif foreach function global isset list namespace require require_once trait use")
	add("zig v", c, common+"comptime const defer enum errdefer error export fn orelse pub struct test try union usingnamespace var")
	add("css scss less", syntax{block: c.block, quotes: `"'`}, "important")
	add("proto protobuf thrift graphql", c, "bool enum extend import int32 int64 message oneof option optional package repeated required returns rpc service string syntax type input query mutation")
	add("python py python3 pyi bazel bzl", python, "and as assert async await break class continue def del elif else except finally for from global if import in is lambda None nonlocal not or "+
		"pass raise return try while with yield True False self match case")
	add("ruby rb", hash, "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require")
	add("sh bash shell zsh console fish", hash, "case do done elif else esac exit export fi for function if in local return set shift source then until while")
	add("makefile make mk dockerfile cmake gitignore", hash, "FROM RUN COPY ADD CMD ENTRYPOINT ENV ARG WORKDIR EXPOSE USER VOLUME AS ifeq ifneq else endif include define endef")
	add("yaml yml toml ini conf properties hcl tf terraform", hash, "true false null yes no on off")
	add("json jsonc json5 jsonl", c, "true false null")
	add("perl pl r julia jl elixir ex exs powershell ps1 nix", hash, common+"and begin def defmodule do elsif end fn foreach function in let my not or package param sub then unless until use using with")
	add("sql psql postgresql mysql sqlite", sql, "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop "+
		"else end exists foreign from full grant group having in index inner insert into is join key left like limit not null offset on or order outer primary references returning right "+
		"rollback select set table then transaction trigger union unique update using values view when where with")
	add("lua haskell hs elm", lua, common+"and class data deriving elseif end function import in instance let local module nil not of or repeat then type until where")
	add(
		"clojure clj lisp scheme el", syntax{comments: []string{";"}, quotes: `"`},
		"def defn defun fn if let lambda nil cond when",
	)
	add("html xml svg vue svelte xhtml", syntax{block: [2]string{"<!--", "-->"}, quotes: `"`, tags: true}, "")
	add("diff patch udiff", syntax{lines: true}, "")
	return all
})

// syntaxOf returns the syntax of a language or a file, nil if it is not known.
func syntaxOf(language string) *syntax {
	name := strings.ToLower(path.Base(language))
	if s := syntaxes()[name]; s != nil {
		return s
	}
	return syntaxes()[strings.TrimPrefix(path.Ext(name), ".")]
}

// colored calls add with the pieces of code and their styles. Together they are the code.
func (s *syntax) colored(code string, add func(piece string, style text.Style)) {
	if s.lines {
		for line := range strings.Lines(code) {
			style := text.Style{}
			switch line[0] {
			case '-':
				style = deletedStyle
			case '+':
				style = insertedStyle
			case '@':
				style = numberStyle
			}
			add(line, style)
		}
		return
	}
	var left open
	for plain := 0; plain < len(code); {
		end, next, style := plain, plain, text.Style{}
		for end < len(code) {
			if next, style = s.token(code, end, &left); next > end {
				break
			}
			_, size := utf8.DecodeRuneInString(code[end:])
			end += size
		}
		if end > plain {
			add(code[plain:end], text.Style{})
		}
		if next > end {
			add(code[end:next], style)
			plain = next
		} else {
			plain = end
		}
	}
}

// open says up to where a quote is not looked at, because one before did not end within the line.
type open [utf8.RuneSelf]int

// token returns the end of what begins at a place, and its style. The end is the place itself if
// nothing begins there.
func (s *syntax) token(code string, at int, left *open) (end int, style text.Style) {
	rest := code[at:]
	if s.block[0] != "" && strings.HasPrefix(rest, s.block[0]) {
		return at + through(rest, len(s.block[0]), s.block[1]), commentStyle
	}
	for _, c := range s.comments {
		if strings.HasPrefix(rest, c) && (c != "#" || at == 0 || strings.IndexByte(" \t\n", code[at-1]) >= 0) {
			line, _, _ := strings.Cut(rest, "\n")
			return at + len(line), commentStyle
		}
	}
	for _, q := range s.long {
		if strings.HasPrefix(rest, q) {
			return at + through(rest, len(q), q), stringStyle
		}
	}
	if strings.IndexByte(s.quotes, rest[0]) >= 0 && at >= left[rest[0]] {
		i := 1
		for ; i < len(rest) && rest[i] != '\n'; i++ {
			switch rest[i] {
			case '\\':
				i++
			case rest[0]:
				return at + i + 1, stringStyle
			}
		}
		left[rest[0]] = at + i
		return at, style // it does not end: it is an apostrophe
	}
	if s.tags && rest[0] == '<' {
		if n := word(strings.TrimLeft(rest[1:], "/")); n > 0 {
			return at + 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], "/")) + n, functionStyle
		}
		return at, style
	}
	if before, _ := utf8.DecodeLastRuneInString(code[:at]); at > 0 && isWord(before) {
		return at, style
	}
	n := word(rest)
	switch {
	case n == 0:
		return at, style
	case '0' <= rest[0] && rest[0] <= '9':
		return at + n, numberStyle
	case s.keywords[rest[:n]], s.anyCase && s.keywords[strings.ToLower(rest[:n])]:
		return at + n, keywordStyle
	case strings.HasPrefix(rest[n:], "("):
		return at + n, functionStyle
	}
	return at, style
}

// through returns the end of a token that ends with the text end, which is sought after the token's
// beginning. An unterminated token extends to the end.
func through(s string, from int, end string) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

// word returns the length of the word that a text begins with.
func word(s string) int {
	for i, r := range s {
		if !isWord(r) && (i > 0 || r != '#') {
			return i
		}
	}
	return len(s)
}

func isWord(r rune) bool {
	return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

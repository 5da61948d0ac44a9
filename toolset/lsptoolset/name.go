// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/lsp"
)

// namePath splits the name of a symbol into its elements, however a person or a server writes it:
// Agent.Run, Agent/Run, Agent::Run, (*Agent[D]).Run, run(int, string), (get) value. Of a name in
// brackets, such as [Symbol.iterator] and <function>, what is in them is left.
func namePath(name string) []string {
	var b strings.Builder
	depth, params := 0, 0
	for _, accessor := range []string{"(get) ", "(set) "} { // as TypeScript's server writes them
		name = strings.TrimPrefix(name, accessor)
	}
	for _, r := range name {
		switch {
		case r == '(' &&
			(params > 0 || depth == 0 && b.Len() > 0 && !strings.HasSuffix(b.String(), ".")):
			params++
		case params > 0:
			if r == ')' {
				params--
			}
		case (r == '[' || r == '<') && depth == 0 &&
			(b.Len() == 0 || strings.HasSuffix(b.String(), ".")):
		case r == '[' || r == '<':
			depth++
		case r == ']' || r == '>':
			depth = max(depth-1, 0)
		case depth > 0 || r == '(' || r == ')' || r == '*' || r == '&' || r == '#' || unicode.IsSpace(r):
		case r == '.' || r == '/' || r == ':' || r == '\\':
			b.WriteByte('.')
		default:
			b.WriteRune(r)
		}
	}
	return slices.DeleteFunc(strings.Split(b.String(), "."), func(s string) bool { return s == "" })
}

// symbolPath is namePath for the name of a symbol, which may be of other characters: "*" in JSON.
func symbolPath(name string) []string {
	if path := namePath(name); len(path) > 0 {
		return path
	}
	return []string{name}
}

// endsWith reports whether a name path ends with another one.
func endsWith(path, end []string) bool {
	return len(end) > 0 && len(path) >= len(end) && slices.Equal(path[len(path)-len(end):], end)
}

// endsWithFold is endsWith without regard to case.
func endsWithFold(path, end []string) bool {
	return len(end) > 0 && len(path) >= len(end) &&
		slices.EqualFunc(path[len(path)-len(end):], end, strings.EqualFold)
}

// isWord reports whether a character belongs to a name.
func isWord(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// words returns where a name occurs in a text as a whole word, in bytes.
func words(text, name string) []int {
	var all []int
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		at := from + i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if (at == 0 || !isWord(before)) && (at+len(name) == len(text) || !isWord(after)) {
			all = append(all, at)
		}
		from = at + len(name)
	}
	return all
}

// mentions returns where the last element of a name path occurs in a text, in bytes: where the
// elements before it are in front of it, or else everywhere.
func mentions(text string, path []string) []int {
	all := words(text, path[len(path)-1])
	if len(path) == 1 {
		return all
	}
	var qualified []int
	for _, at := range all {
		before := strings.TrimRight(text[:at], ".:>/- \t")
		if strings.HasSuffix(before, path[len(path)-2]) {
			qualified = append(qualified, at)
		}
	}
	if len(qualified) > 0 {
		return qualified
	}
	return all
}

var kinds = map[lsp.SymbolKind]string{
	lsp.SymbolFile: "file", lsp.SymbolModule: "module", lsp.SymbolNamespace: "namespace", lsp.SymbolPackage: "package",
	lsp.SymbolClass: "class", lsp.SymbolMethod: "method", lsp.SymbolProperty: "property", lsp.SymbolField: "field",
	lsp.SymbolConstructor: "constructor", lsp.SymbolEnum: "enum", lsp.SymbolInterface: "interface", lsp.SymbolFunction: "function",
	lsp.SymbolVariable: "variable", lsp.SymbolConstant: "constant", lsp.SymbolString: "string", lsp.SymbolNumber: "number",
	lsp.SymbolBoolean: "boolean", lsp.SymbolArray: "array", lsp.SymbolObject: "object", lsp.SymbolKey: "key", lsp.SymbolNull: "null",
	lsp.SymbolEnumMember: "enum member", lsp.SymbolStruct: "struct", lsp.SymbolEvent: "event", lsp.SymbolOperator: "operator",
	lsp.SymbolTypeParameter: "type parameter",
}

// kindName returns a kind in a word.
func kindName(k lsp.SymbolKind) string {
	if name := kinds[k]; name != "" {
		return name
	}
	return "symbol"
}

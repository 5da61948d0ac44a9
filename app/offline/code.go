// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// The tools for code that the model knows.
const (
	toolDefinition  = "find_definition"
	toolReferences  = "find_references"
	toolRename      = "rename_symbol"
	toolDiagnostics = "get_diagnostics"
)

// whoCalls understands "NAME".
func (p *parser) whoCalls(k *cursor) ([]step, string) {
	k.skipMost("the", "function", "method")
	t, ok := k.take()
	if !ok || k.more() || t.is(determiners...) {
		return nil, ""
	}
	return []step{{act: actCallers, text: path(t)}}, ""
}

// rename understands "A to B" without a file: the whole project is meant.
func (p *parser) rename(k *cursor) ([]step, string) {
	if k.lastIndex(1, "in", "inside", "within") >= 0 {
		return p.change(k)
	}
	k.skipMost("the", "function", "method", "type", "symbol", "variable")
	from, ok := k.take()
	if !ok || !k.accept("to", "into", "->", "→") {
		return nil, inWhichFile
	}
	to, ok := k.take()
	if !ok || k.more() && !k.accept("everywhere") || strings.ContainsAny(to.text, "./\\ ") {
		return nil, inWhichFile // or files are meant
	}
	return []step{{act: actRename, text: path(from), with: path(to)}}, ""
}

// diagnose understands nothing more than its verbs, with "here".
func (p *parser) diagnose(k *cursor) ([]step, string) {
	k.accept("here", "now")
	return []step{{act: actDiagnose}}, ""
}

type symbolArgs struct {
	Symbol  string `json:"symbol"`
	Path    string `json:"path,omitempty"`
	Kind    string `json:"kind,omitempty"`
	NewName string `json:"new_name,omitempty"`
}

// definition finds a definition by a language server, or by a search if there is none.
func (s *script) definition(st step) bool {
	if !slices.Contains(s.tools, toolDefinition) {
		return s.search(st)
	}
	where := st.path
	if where == "." {
		where = ""
	}
	return s.show(st, toolDefinition, symbolArgs{Symbol: st.text, Path: where}, quote(st.text)+" is defined here:")
}

func (s *script) callers(st step) bool {
	if !slices.Contains(s.tools, toolReferences) {
		return s.search(step{act: actSearch, path: ".", text: st.text})
	}
	args := symbolArgs{Symbol: st.text, Kind: "callers"}
	return s.show(st, toolReferences, args, quote(st.text)+" is called here:")
}

func (s *script) rename(st step) bool {
	args := symbolArgs{Symbol: st.text, NewName: st.with}
	return s.show(st, toolRename, args, "I renamed "+quote(st.text)+" to "+quote(st.with)+":")
}

func (s *script) diagnose() bool {
	return s.show(step{act: actDiagnose}, toolDiagnostics, struct{}{}, "The language servers report:")
}

// show calls a tool and shows its result.
func (s *script) show(st step, tool string, args any, title string) bool {
	found, ok := s.call(tool, st.String(), args)
	if !ok {
		return false
	}
	shown, left := head(strings.TrimRight(found, "\n"), 20)
	s.say("%s\n\n%s", title, block("", shown))
	if left > 0 {
		s.say("… and %s more.\n\n", count(left, "line"))
	}
	return true
}

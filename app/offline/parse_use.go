// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"strings"
)

// callsTool reports whether what follows "use" names a tool: something in backquotes, with
// arguments, or with a name that has an underscore.
func callsTool(rest []token) bool {
	k := &cursor{clause: clause{tokens: rest}}
	k.skipMost("the", "tool", "function")
	t := k.peek(0)
	return t.kind == quoted || t.kind == word && (strings.Contains(t.text, "_") || hasObject(rest) || len(rest) == k.at+1)
}

func hasObject(tokens []token) bool {
	for _, t := range tokens[:min(len(tokens), 100)] {
		if t.kind == object {
			return true
		}
	}
	return false
}

// use understands "TOOL {json}", with the name or all of it in backquotes, and TOOL alone, which
// has no arguments.
func (p *parser) use(k *cursor) ([]step, string) {
	k.skipMost("the", "tool", "function")
	t, _ := k.take()
	name, raw := trimSentence(t.text), ""
	if t.kind == quoted {
		if i := strings.IndexByte(name, '{'); i >= 0 {
			name, raw = name[:i], name[i:]
		}
		name = strings.TrimSpace(name)
	}
	name = strings.TrimSuffix(name, ":")
	if raw == "" {
		k.skip("with", "the", "arguments", "args", "on", ":")
		switch next := k.peek(0); next.kind {
		case object:
			raw = next.text
			k.at++
		case quoted:
			raw = next.text
			k.at++
		}
	}
	if raw == "" {
		if k.more() {
			return nil, "the arguments of " + code(name) + " are not a JSON object: " + quote(k.rest())
		}
		raw = "{}"
	}
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &arguments); err != nil {
		return nil, "the arguments of " + code(name) + " are not a JSON object: " + err.Error()
	}
	if name == "" || strings.ContainsAny(name, " \t\n") {
		return nil, "which tool should I use?"
	}
	return []step{{act: actTool, tool: name, args: json.RawMessage(raw)}}, ""
}

// lastChanges are words for what the last turn did.
var lastChanges = []string{
	"it", "that", "this", "the last change", "the last changes", "my last change", "your last change", "your last changes", "last change", "the last edit",
	"your last edit", "the last turn", "the change", "the changes", "your change", "your changes", "what you did", "what you just did", "your edits", "the edit",
}

// undo understands "undo", "undo that", "revert the last change" and "take that back".
func (p *parser) undo(k *cursor) ([]step, string) {
	verb := k.tokens[k.at-1]
	read := !k.more()
	for _, what := range lastChanges {
		at := k.at
		if k.phrase(what) && (!k.more() || verb.is("take") && k.is("back")) {
			read = true
			break
		}
		k.at = at
	}
	switch {
	case verb.is("take") && !(read && k.accept("back")), verb.is("revert") && k.at == 1:
		return nil, ""
	case !read:
		return nil, "I can undo the last changes only; I did not understand " + quote(k.rest())
	}
	return []step{{act: actUndo}}, ""
}

// redo understands "redo" and "redo it".
func (p *parser) redo(k *cursor) ([]step, string) {
	k.accept("it", "that", "this")
	return []step{{act: actRedo}}, ""
}

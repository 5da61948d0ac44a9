// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"strings"
)

const fence = "```"

// TrimFences returns the JSON document in a model's text, without surrounding space and without a markdown
// code fence around it. A fence that is not closed is removed too, so a text cut off within it is incomplete
// rather than invalid. The result shares memory with text.
func TrimFences(text []byte) []byte {
	text = bytes.TrimSpace(text)
	inner, fenced := bytes.CutPrefix(text, []byte(fence))
	if !fenced {
		return text
	}
	inner = bytes.TrimSuffix(inner, []byte(fence))
	word := inner[:len(inner)-len(bytes.TrimLeftFunc(inner, isWord))]
	rest := inner[len(word):]
	// Without a line break the word may be the document: true, 42.
	if len(rest) > 0 && (rest[0] == '\n' || rest[0] == '\r') || strings.EqualFold(string(word), "json") {
		inner = rest
	}
	return bytes.TrimSpace(inner)
}

// isWord reports whether r may be part of the language name that follows a fence.
func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '+'
}

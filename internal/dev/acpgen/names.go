// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"unicode"
)

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]string{
	"id": "ID", "ids": "IDs", "uri": "URI", "url": "URL", "mcp": "MCP", "http": "HTTP", "sse": "SSE", "mime": "MIME", "fs": "FS", "acp": "ACP", "llm": "LLM", "api": "API",
}

// methodNames are the Go names of methods whose parameter type does not give a good one.
var methodNames = map[string]string{
	"session/update": "SessionUpdate",
}

// variantNames are the Go names of union variants whose title does not give a good one.
var variantNames = map[string]string{
	"TextResourceContents": "Text",
	"BlobResourceContents": "Blob",
}

// goName turns a name of the schema (fooBar, FooBar, foo_bar, foo-bar, _meta) into an exported Go
// name.
func goName(s string) string {
	var b strings.Builder
	for _, w := range words(s) {
		if up, ok := initialisms[strings.ToLower(w)]; ok {
			b.WriteString(up)
			continue
		}
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// words splits a name at underscores, hyphens and before each capital letter.
func words(s string) []string {
	var out []string
	start := 0
	flush := func(end int) {
		if end > start {
			out = append(out, s[start:end])
		}
		start = end
	}
	for i, r := range s {
		switch {
		case r == '_' || r == '-' || r == ' ':
			flush(i)
			start = i + 1
		case unicode.IsUpper(r):
			flush(i)
		}
	}
	flush(len(s))
	return out
}

// SPDX-License-Identifier: Apache-2.0

// Package markdown writes pieces of Markdown.
package markdown

import "strings"

// Fence returns backticks that do not occur in a text, and at least so many: a code block is fenced with three.
func Fence(text string, least int) string {
	longest, run := least-1, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clipOutput bounds an output: of a longer one it keeps a beginning, a quarter, and the end, where errors are. It cuts at lines
// where they are near.
func clipOutput(s string, limit int) (clipped string, cut bool) {
	if len(s) <= limit {
		return s, false
	}
	head := s[:limit/4]
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i+1]
	}
	for head != "" && !utf8.RuneStart(s[len(head)]) {
		head = head[:len(head)-1]
	}
	tail := s[len(s)-(limit-limit/4):]
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	between := ""
	if head != "" && !strings.HasSuffix(head, "\n") {
		between = "\n"
	}
	return fmt.Sprintf("%s%s[%d bytes left out here]\n%s", head, between, len(s)-len(head)-len(tail), tail), true
}

// SPDX-License-Identifier: Apache-2.0

// Package header checks HTTP headers before net/http does, which would report them as network errors.
package header

import (
	"maps"
	"slices"
	"strings"
)

// Valid reports whether a header with this name and value can be sent (RFC 9110, section 5).
func Valid(name, value string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return name != ""
}

// Invalid returns the name of a header that cannot be sent, the first one in order.
func Invalid(headers map[string][]string) (name string, found bool) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			if !Valid(name, value) {
				return name, true
			}
		}
	}
	return "", false
}

// SPDX-License-Identifier: Apache-2.0

// Package header checks HTTP headers before net/http does, which would report them as network errors.
package header

import "strings"

// Valid reports whether a header with this name and value can be sent (RFC 9110, section 5).
func Valid(name, value string) bool {
	badName := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r) }
	badValue := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return name != "" && !strings.ContainsFunc(name, badName) && !strings.ContainsFunc(value, badValue)
}

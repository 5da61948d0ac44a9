// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/header"
)

// TestHeadersHaveTheBytesOfTheRFC has every byte in a name and in a value (RFC 9110, sections 5.1 and 5.5).
func TestHeadersHaveTheBytesOfTheRFC(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	token := "!#$%&'*+-.^_`|~0123456789" + letters + strings.ToLower(letters)
	for c := range 256 {
		b := string([]byte{byte(c)})
		for _, at := range []string{b, b + "a", "a" + b} {
			require.Equal(t, strings.Contains(token, b), header.Valid(at, "v"), "a name with %#x", c)
			require.Equal(t, c == '\t' || c >= ' ' && c != 0x7f, header.Valid("a", at), "a value with %#x", c)
		}
	}
	require.True(t, header.Valid("a", ""), "an empty value")
	require.False(t, header.Valid("", "v"), "no name")
}

func TestTheFirstInvalidHeaderIsNamed(t *testing.T) {
	name, found := header.Invalid(map[string][]string{"b": {"good", "\n"}, "a": {"good", "good"}, "c d": {"good"}})
	require.True(t, found)
	require.Equal(t, "b", name)
	name, found = header.Invalid(map[string][]string{"a": {"good"}, "c d": nil})
	require.False(t, found)
	require.Empty(t, name)
}

// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestErrorsOfPeersControlNoTerminal(t *testing.T) {
	const text = "a\x1b[2J\u202eb\nc"
	for _, err := range []error{
		&acp.Error{Code: 1, Message: text}, &acp.CallError{Method: "m", Err: &acp.Error{Message: text}}, &acp.AnswerError{Problem: text},
		&acp.DecodeError{Type: "T", Problem: text}, &acp.DecodeError{Type: "T", Field: "f", Problem: text},
	} {
		require.Contains(t, err.Error(), "a⟨ESC⟩[2J⟨U+202E⟩b⟨LF⟩c", "%T", err)
	}
}

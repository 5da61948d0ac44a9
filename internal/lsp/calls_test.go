// SPDX-License-Identifier: Apache-2.0

package lsp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
)

// A connection makes many calls, each of which gets its own answer.
func TestCallsGetTheirOwnAnswers(t *testing.T) {
	a, b, _ := pair(t)
	for i := range 120 {
		for _, c := range []*lsp.Conn{a, b} {
			var got string
			want := fmt.Sprint("call ", i)
			require.NoError(t, c.Call(t.Context(), "echo", want, &got))
			require.Equal(t, want, got)
		}
	}
}

// A stream that ends in the middle of a header says with what, up to eighty bytes of it.
func TestStreamsThatEndInAHeader(t *testing.T) {
	long := strings.Repeat("C", 81)
	for sent, want := range map[string]string{
		"C": `it has ended with "C"`, "Co": `it has ended with "Co"`, long[1:]: `it has ended with "` + long[1:] + `"`, long: `it has ended with "` + long[1:] + `"`, ":\n": "unexpected EOF", "\n": "it has sent a message without Content-Length",
	} {
		stream := &script{Reader: strings.NewReader(sent), closed: make(chan struct{})}
		conn := lsp.NewConn(stream, &handler{}, lsp.Limits{})
		<-conn.Done()
		require.EqualError(t, conn.Err(), "the connection to the language server has ended: "+want, "%.40q", sent)
		conn.Close()
	}
}

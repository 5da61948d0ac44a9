// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A keyring that asks its user for a password may take for ever.
func TestKeyringThatDoesNotAnswerIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked, answer, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		<-asked
		cancel()
	}()
	_, err := within(ctx, func() (string, error) {
		defer close(left)
		close(asked)
		<-answer
		return "late", nil
	})
	require.ErrorIs(t, err, context.Canceled)
	close(answer)
	<-left
}

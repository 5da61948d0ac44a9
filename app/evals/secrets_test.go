// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Values of at least eight bytes are secrets if the name of their variable says so.
func TestSecretsOfTheEnvironment(t *testing.T) {
	require.Equal(t, []string{"12345678", "a=b=c=d=", "abcdefghi", "correct horse", "battery staple"}, environmentSecrets([]string{
		"SHOP_API_KEY=12345678", "SHORT_KEY=1234567", "MY_TOKEN=a=b=c=d=", "Some_Secret_Of=abcdefghi",
		"PASSWORD=correct horse", "the_password_key_token=battery staple", "HOME=/home/ann/and/more", "EMPTY_KEY=", "KEY",
	}))
	require.Nil(t, environmentSecrets(nil))
}

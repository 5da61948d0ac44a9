// SPDX-License-Identifier: Apache-2.0

package confine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A policy arrives as it was sent, also texts that are no UTF-8.
func TestPoliciesArriveAsTheyWere(t *testing.T) {
	for _, p := range []Policy{
		{Read: []string{"/usr", "/a\xff"}, Write: []string{"/tmp"}, Devices: []string{"/dev/null"}, Filter: []byte{1, 2, 255}, Program: "/bin/\xfe", Args: []string{"", "a b"}, Env: []string{"A=\xff", "B="}, Dir: "/d\x80"},
		{Read: []string{}, Write: []string{}, Devices: []string{}, Args: []string{}, Env: []string{}},
	} {
		data, err := Encode(&p)
		require.NoError(t, err)
		got, err := decode(data)
		require.NoError(t, err)
		require.Equal(t, &p, got)
	}
	_, err := decode([]byte("{"))
	require.EqualError(t, err, "unexpected end of JSON input")
	require.Equal(t, []string{"ponte-confined-command"}, Args())
}

// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

func TestKeyringsAreChecked(t *testing.T) {
	key := func(id string, n int) session.Key { return session.Key{ID: id, Secret: make([]byte, n)} }
	for want, k := range map[string]session.Keyring{
		"":                       {Index: make([]byte, 32), Keys: []session.Key{key(strings.Repeat("a", 64), 32), key("B-9.z", 32)}},
		"the keyring has no key": {Index: make([]byte, 32)},
		"the id of key 0 must be 1 to 64 letters, digits, dots and hyphens": {Index: make([]byte, 32), Keys: []session.Key{key(strings.Repeat("a", 65), 32)}},
		"the id of key 1 must be 1 to 64 letters, digits, dots and hyphens": {Index: make([]byte, 32), Keys: []session.Key{key("a", 32), key("", 32)}},
		"the id of key 2 must be 1 to 64 letters, digits, dots and hyphens": {Index: make([]byte, 32), Keys: []session.Key{key("a", 32), key("b", 32), key("c:", 32)}},
		`two keys have the id "a"`:                 {Index: make([]byte, 32), Keys: []session.Key{key("a", 32), key("a", 32)}},
		`key "a" has 31 bytes, must have 32`:       {Index: make([]byte, 32), Keys: []session.Key{key("a", 31)}},
		`key "a" has 33 bytes, must have 32`:       {Index: make([]byte, 32), Keys: []session.Key{key("a", 33)}},
		"the index key has 31 bytes, must have 32": {Index: make([]byte, 31), Keys: []session.Key{key("a", 32)}},
		"the index key has 33 bytes, must have 32": {Index: make([]byte, 33), Keys: []session.Key{key("a", 32)}},
	} {
		_, sealErr := k.Seal([]byte("x"), "p")
		_, parseErr := session.ParseKeyring(k.Reveal())
		if want == "" {
			require.NoError(t, sealErr)
			require.NoError(t, parseErr)
			continue
		}
		require.EqualError(t, sealErr, "session: encrypt: invalid argument: "+want)
		require.EqualError(t, parseErr, "session: read keyring: invalid argument: "+want)
	}
}

// TestSealedDataIsOpenedByItsKeyAlone has what is said of data that cannot be opened.
func TestSealedDataIsOpenedByItsKeyAlone(t *testing.T) {
	secret := func(b byte) []byte { return []byte(strings.Repeat(string(rune(b)), 32)) }
	k := session.Keyring{Index: secret(1), Keys: []session.Key{{ID: "new", Secret: secret(2)}, {ID: "old", Secret: secret(3)}}}
	made, err := k.Seal([]byte("text"), "p")
	require.NoError(t, err)
	data, err := k.Open(made, "p")
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	old := session.Keyring{Index: secret(1), Keys: k.Keys[1:]}
	madeOld, err := old.Seal([]byte("old text"), "p")
	require.NoError(t, err)
	data, err = k.Open(madeOld, "p")
	require.NoError(t, err)
	require.Equal(t, "old text", string(data))
	changed := strings.Replace(string(made), "ponte-sealed:1:new:", "ponte-sealed:1:old:", 1)
	for _, c := range []struct {
		data, purpose, says string
		is                  error
	}{
		{string(made), "q", `the data is damaged: it was not encrypted with key "new", or was changed since`, session.ErrCorrupt},
		{changed, "p", `the data is damaged: it was not encrypted with key "old", or was changed since`, session.ErrCorrupt},
		{"text", "p", "the data is damaged: it is not encrypted", session.ErrCorrupt},
		{"ponte-sealed:1:new", "p", "the data is damaged: it is not encrypted", session.ErrCorrupt},
		{"ponte-sealed:1:new:?", "p", "the data is damaged: it is not the base64 of a ciphertext", session.ErrCorrupt},
		{"ponte-sealed:1:new:" + strings.Repeat("A", 20), "p", "the data is damaged: it is not the base64 of a ciphertext", session.ErrCorrupt},
		{"ponte-sealed:1:new:" + strings.Repeat("A", 22), "p", `the data is damaged: it was not encrypted with key "new", or was changed since`, session.ErrCorrupt},
		{"ponte-sealed:1:other:AAAA", "p", `the keyring does not have the key "other"`, session.ErrKey},
	} {
		_, err := k.Open([]byte(c.data), c.purpose)
		require.EqualError(t, err, "session: decrypt: "+c.says)
		require.ErrorIs(t, err, c.is)
	}
	require.Equal(t, k.Hide("name", "p"), old.Hide("name", "p"))
	require.NotEqual(t, k.Hide("name", "p"), k.Hide("name", "q"))
	require.Len(t, k.Hide("name", "p"), 64)
}

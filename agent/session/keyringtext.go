// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Rotated returns a keyring with a new random key before the others. Of the zero Keyring it makes
// one with an index key.
func (k Keyring) Rotated(id string) (Keyring, error) {
	random := func() []byte {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		return secret
	}
	k.Keys = slices.Insert(slices.Clone(k.Keys), 0, Key{ID: id, Secret: random()})
	if len(k.Index) == 0 && len(k.Keys) == 1 {
		k.Index = random()
	}
	return k, k.check()
}

// keyringJSON is a keyring as text.
type keyringJSON struct {
	Index []byte    `json:"index"`
	Keys  []keyJSON `json:"keys"`
}

type keyJSON struct {
	ID     string `json:"id"`
	Secret []byte `json:"secret"`
}

// Reveal returns the keyring with its secrets as a line of text, for [ParseKeyring].
func (k Keyring) Reveal() string {
	text := keyringJSON{Index: k.Index}
	for _, key := range k.Keys {
		text.Keys = append(text.Keys, keyJSON(key))
	}
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // it is made of strings and bytes
	}
	return string(data)
}

// ParseKeyring reads what [Keyring.Reveal] returns. Its errors have nothing of the text in them.
func ParseKeyring(text string) (Keyring, error) {
	var parsed keyringJSON
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&parsed); err != nil || d.More() {
		return Keyring{}, fail("read keyring", "", fmt.Errorf("%w: it is not the text of a keyring, "+
			`{"index":"BASE64","keys":[{"id":"NAME","secret":"BASE64"}]}`, ErrInvalid))
	}
	k := Keyring{Index: parsed.Index}
	for _, key := range parsed.Keys {
		k.Keys = append(k.Keys, Key(key))
	}
	if err := k.check(); err != nil {
		return Keyring{}, fail("read keyring", "", err)
	}
	return k, nil
}

// Seal encrypts data as [Encrypted] does. It is opened under the same purpose only, which is
// authenticated and not kept.
func (k Keyring) Seal(data []byte, purpose string) ([]byte, error) {
	if err := k.check(); err != nil {
		return nil, fail("encrypt", "", err)
	}
	text, err := k.seal(data, "data "+purpose)
	return []byte(text), err
}

// Open decrypts what [Keyring.Seal] has made. Its errors wrap [ErrKey] or [ErrCorrupt].
func (k Keyring) Open(data []byte, purpose string) ([]byte, error) {
	opened, err := k.open(string(data), "data "+purpose)
	if err != nil {
		return nil, fail("decrypt", "", err)
	}
	return opened, nil
}

// Hide returns the HMAC of a name under the index key, in hexadecimal, which says only whether two
// names are the same.
func (k Keyring) Hide(name, purpose string) string {
	return hex.EncodeToString(k.mac(name, "data "+purpose))
}

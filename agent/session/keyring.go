// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Key is a key of a [Keyring].
type Key struct {
	// ID names the key in what it has encrypted: 1 to 64 letters, digits, dots and hyphens. It is
	// never used for another key.
	ID string
	// Secret is 32 random bytes.
	Secret []byte
}

// Keyring has the keys of [Encrypted].
type Keyring struct {
	// Keys are the keys. The first one encrypts, all of them decrypt: to rotate keys, put a new one
	// before the others.
	Keys []Key
	// Index is 32 random bytes, for finding sessions by directory, owner and tenant. It cannot be
	// rotated: with another one, the sessions of before are not found by these any more.
	Index []byte
}

func (k Keyring) describe() string {
	ids := make([]string, len(k.Keys))
	for i := range k.Keys {
		ids[i] = k.Keys[i].ID
	}
	return fmt.Sprintf("keyring of %q", ids)
}

// Format writes the ids of the keys. It never shows a key.
func (k Keyring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.describe()) }

// LogValue is like Format.
func (k Keyring) LogValue() slog.Value { return slog.StringValue(k.describe()) }

// MarshalText is like Format.
func (k Keyring) MarshalText() ([]byte, error) { return []byte(k.describe()), nil }

func (k Key) describe() string { return fmt.Sprintf("key %q", k.ID) }

// Format writes the id of the key. It never shows the key.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.describe()) }

// LogValue is like Format.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.describe()) }

// MarshalText is like Format.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.describe()), nil }

const keyLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"

func (k *Keyring) check() error {
	if len(k.Keys) == 0 {
		return fmt.Errorf("%w: the keyring has no key", ErrInvalid)
	}
	seen := map[string]bool{}
	for i := range k.Keys {
		key := &k.Keys[i]
		switch {
		case len(key.ID) > 64 || strings.ContainsFunc(key.ID, func(r rune) bool { return !strings.ContainsRune(keyLetters, r) }) || key.ID == "":
			return fmt.Errorf("%w: the id of key %d must be 1 to 64 letters, digits, dots and hyphens", ErrInvalid, i)
		case seen[key.ID]:
			return fmt.Errorf("%w: two keys have the id %q", ErrInvalid, key.ID)
		case len(key.Secret) != 32:
			return fmt.Errorf("%w: key %q has %d bytes, must have 32", ErrInvalid, key.ID, len(key.Secret))
		}
		seen[key.ID] = true
	}
	if len(k.Index) != 32 {
		return fmt.Errorf("%w: the index key has %d bytes, must have 32", ErrInvalid, len(k.Index))
	}
	return nil
}

// sealed begins everything that is encrypted. Then come the id of the key, a colon, and in base64
// the salt, the nonce and the ciphertext.
const sealed = "ponte-sealed:1:"

const saltSize = 16

// aead returns the cipher for one text. Each has a key of its own, made of the salt, so that
// nonces do not repeat however much a key encrypts.
func (k *Key) aead(salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, k.Secret, salt, "ponte session", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a text. It can be opened under the same purpose only.
func (k *Keyring) seal(text []byte, purpose string) (string, error) {
	key := &k.Keys[0]
	salt := make([]byte, saltSize, saltSize+12+len(text)+16)
	_, _ = rand.Read(salt) // it never fails
	c, err := key.aead(salt)
	if err != nil {
		return "", err
	}
	return sealed + key.ID + ":" + base64.RawStdEncoding.EncodeToString(c.Seal(salt, nil, text, []byte(purpose))), nil
}

// open decrypts what seal has made.
func (k *Keyring) open(text, purpose string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, sealed)
	id, body, found := strings.Cut(rest, ":")
	if !ok || !found {
		return nil, fmt.Errorf("%w: it is not encrypted", ErrCorrupt)
	}
	for i := range k.Keys {
		if k.Keys[i].ID != id {
			continue
		}
		data, err := base64.RawStdEncoding.DecodeString(body)
		if err != nil || len(data) < saltSize {
			return nil, fmt.Errorf("%w: it is not the base64 of a ciphertext", ErrCorrupt)
		}
		c, err := k.Keys[i].aead(data[:saltSize])
		if err != nil {
			return nil, err
		}
		if data, err = c.Open(data[saltSize:saltSize], nil, data[saltSize:], []byte(purpose)); err != nil {
			return nil, fmt.Errorf("%w: it was not encrypted with key %q, or was changed since", ErrCorrupt, id)
		}
		return data, nil
	}
	return nil, fmt.Errorf("%w %q", ErrKey, id)
}

// sealText and openText are for texts that may be empty, which tells nothing.
func (k *Keyring) sealText(text, purpose string) (string, error) {
	if text == "" {
		return "", nil
	}
	return k.seal([]byte(text), purpose)
}

func (k *Keyring) openText(text, purpose string) (string, error) {
	if text == "" {
		return "", nil
	}
	data, err := k.open(text, purpose)
	return string(data), err
}

// sealJSON and openJSON are for documents, which become strings. They may be nil.
func (k *Keyring) sealJSON(data json.RawMessage, purpose string) (json.RawMessage, error) {
	if data == nil {
		return nil, nil
	}
	if len(data) > 0 && !json.Valid(data) {
		return nil, fmt.Errorf("%w: the data is not a JSON document", ErrInvalid)
	}
	text, err := k.seal(data, purpose)
	return json.RawMessage(`"` + text + `"`), err
}

func (k *Keyring) openJSON(data json.RawMessage, purpose string) (json.RawMessage, error) {
	if len(data) == 0 {
		return data, nil
	}
	return k.open(string(bytes.Trim(data, `"`)), purpose)
}

// index returns what a name is found by. Equal names have equal ones.
func (k *Keyring) index(name, purpose string) string {
	if name == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(k.mac(name, purpose)[:16])
}

func (k *Keyring) mac(name, purpose string) []byte {
	h := hmac.New(sha256.New, k.Index)
	h.Write([]byte(purpose + "\x00" + name))
	return h.Sum(nil)
}

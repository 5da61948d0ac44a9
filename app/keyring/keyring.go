// SPDX-License-Identifier: Apache-2.0

// Package keyring has programs of package app keep API keys in the system's keyring, where there is
// one. Import it for that effect:
//
//	import _ "github.com/ponte-go/ponte/app/keyring"
//
// Without it, keys are in a file that only the user can read.
package keyring

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	ring "github.com/zalando/go-keyring"

	"github.com/ponte-go/ponte/app/internal/keys"
)

func init() {
	keys.Keyring = func(program string, getenv func(string) string) keys.Place {
		if !hasKeyring(getenv) {
			return nil
		}
		return system(program)
	}
}

// system is the system's keyring. It is the owner of the keys, as the keyring shows it.
type system string

func (system) String() string { return "the system's keyring" }

func (r system) Get(name string) (string, error) {
	key, err := ring.Get(string(r), name)
	return key, none(err)
}

func (r system) Set(name, key string) error { return ring.Set(string(r), name, key) }

func (r system) Remove(name string) error { return none(ring.Delete(string(r), name)) }

func none(err error) error {
	if errors.Is(err, ring.ErrNotFound) {
		return keys.ErrNone
	}
	return err
}

// hasKeyring reports whether there is a keyring to ask. On a Unix with D-Bus it would be started
// otherwise, on machines without a desktop too.
func hasKeyring(getenv func(string) string) bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus"))
	return err == nil
}

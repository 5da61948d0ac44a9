// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/zalando/go-keyring"
)

// service is the owner of the keys as the keyring shows it.
const service = "ideagent"

// ring is the system's keyring.
type ring struct{}

func (ring) String() string { return "the system's keyring" }

func (ring) get(name string) (string, error) {
	key, err := keyring.Get(service, name)
	return key, none(err)
}

func (ring) set(name, key string) error { return keyring.Set(service, name, key) }

func (ring) remove(name string) error { return none(keyring.Delete(service, name)) }

func none(err error) error {
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrNone
	}
	return err
}

// hasKeyring reports whether there is a keyring to ask. On a Unix with D-Bus it would be started otherwise, on machines without a desktop
// too.
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

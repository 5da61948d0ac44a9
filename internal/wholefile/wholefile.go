// SPDX-License-Identifier: Apache-2.0

// Package wholefile replaces files as a whole.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file in a directory that exists. Whoever reads it meanwhile, or after a crash,
// gets the old content or the new one. Until it is complete, only the user can read it.
func Write(file string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

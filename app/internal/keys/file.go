// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ponte-go/ponte/internal/wholefile"
)

// file is a file of keys that only its owner can read.
type file string

func (f file) String() string { return string(f) }

func (f file) Get(name string) (string, error) {
	all, err := f.read()
	if err != nil {
		return "", err
	}
	if all[name] == "" {
		return "", ErrNone
	}
	return all[name], nil
}

func (f file) Set(name, key string) error {
	all, err := f.read()
	if err != nil {
		return err
	}
	all[name] = key
	return f.write(all)
}

func (f file) Remove(name string) error {
	all, err := f.read()
	switch {
	case err != nil:
		return err
	case all[name] == "":
		return ErrNone
	}
	delete(all, name)
	return f.write(all)
}

// read returns what the file holds. No error quotes any of it.
func (f file) read() (map[string]string, error) {
	info, err := os.Stat(string(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]string{}, nil
	case err != nil:
		return nil, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("other users can read it: replace the keys in it, and run chmod 600 %s", f)
	}
	data, err := os.ReadFile(string(f))
	if err != nil {
		return nil, err
	}
	var all map[string]string
	if json.Unmarshal(data, &all) != nil || all == nil {
		return nil, errors.New("it is not a JSON object of strings")
	}
	return all, nil
}

// write replaces the file. Whoever reads it meanwhile gets the old one or the new one.
func (f file) write(all map[string]string) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return err
	}
	return wholefile.Write(string(f), append(data, '\n'), 0o600)
}

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package local

import (
	"io/fs"
	"os"
)

// readDir lists a directory, in any order.
func readDir(dir *os.File, _ func(name string) (fs.FileInfo, error)) ([]entry, error) {
	all, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	list := make([]entry, len(all))
	for i, e := range all {
		list[i] = entry{e.Name(), e.Type()}
	}
	return list, nil
}

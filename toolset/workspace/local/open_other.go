// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package local

import (
	"io/fs"
	"os"
)

// openNoWait keeps an open from waiting for the other end of a pipe.
const openNoWait = 0

// openDirectory keeps an open from succeeding for anything but a directory.
const openDirectory = 0

// keepOwner gives a file the owner of another, if that is allowed.
func keepOwner(*os.File, fs.FileInfo) {}

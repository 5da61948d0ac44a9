// SPDX-License-Identifier: Apache-2.0

package local

import (
	"runtime"
	"strings"
	"sync"
)

// locks are held while a file is replaced, by its path without links. They are shared by all
// workspaces of the process.
var locks struct {
	sync.Mutex
	held map[string]*heldLock
}

type heldLock struct {
	sync.Mutex
	users int
}

// lock locks a path and returns what unlocks it.
func lock(path string) (unlock func()) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		path = strings.ToLower(path) // file systems may take names that differ in case for one
	}
	locks.Lock()
	l := locks.held[path]
	if l == nil {
		l = &heldLock{}
		if locks.held == nil {
			locks.held = map[string]*heldLock{}
		}
		locks.held[path] = l
	}
	l.users++
	locks.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		locks.Lock()
		defer locks.Unlock()
		if l.users--; l.users == 0 {
			delete(locks.held, path)
		}
	}
}

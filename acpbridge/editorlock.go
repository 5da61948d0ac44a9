// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"reflect"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// writing are the files that are being compared and written, in all sessions of the process: two
// sessions may work on one file.
var writing struct {
	sync.Mutex
	files map[writtenFile]*fileLock
}

// writtenFile identifies a file: by its path without links on this machine, and by its client
// elsewhere.
type writtenFile struct {
	client acp.Client
	path   string
}

type fileLock struct {
	token chan struct{} // full while the file is locked
	users int
}

// lock keeps other writers out while a file is compared and written.
func (e *editor) lock(ctx context.Context, path string) (unlock func(), err error) {
	at, wrong := e.locate(path)
	if wrong != nil {
		at.real = path // the caller finds the error
	}
	key := writtenFile{path: at.real}
	if !e.here {
		key.client = identityOf(e.Client)
	}
	writing.Lock()
	l := writing.files[key]
	if l == nil {
		l = &fileLock{token: make(chan struct{}, 1)}
		if writing.files == nil {
			writing.files = map[writtenFile]*fileLock{}
		}
		writing.files[key] = l
	}
	l.users++
	writing.Unlock()
	leave := func() {
		writing.Lock()
		defer writing.Unlock()
		if l.users--; l.users == 0 {
			delete(writing.files, key)
		}
	}
	select {
	case l.token <- struct{}{}:
		return func() {
			<-l.token
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// identityOf returns the client of the connection, which its sessions share. Clients that cannot be
// compared count as one.
func identityOf(c acp.Client) acp.Client {
	if s, ok := c.(*sessionClient); ok {
		c = s.Client
	}
	if c == nil || !reflect.TypeOf(c).Comparable() {
		return nil
	}
	return c
}

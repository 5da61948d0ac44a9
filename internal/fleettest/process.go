// SPDX-License-Identifier: Apache-2.0

// Package fleettest has people talk with agents through pages, editors and chat clients, while the
// processes that serve them are killed.
package fleettest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/webbridge"
)

const (
	env   = "PONTE_TEST_FLEET"
	token = "0123456789abcdef"
)

// Roles of a process.
const (
	roleEditor = "editor" // the agent of an editor
	rolePage   = "page"   // a server of pages
	roleChat   = "chat"   // a server of chat clients
)

// Child does the work of a process, if this is one. TestMain calls it first, and ends if it returns
// true.
func Child(open func(spec string) (session.Store, error)) bool {
	role, rest, ok := strings.Cut(os.Getenv(env), "|")
	if !ok {
		return false
	}
	marks, spec, _ := strings.Cut(rest, "|")
	err := serve(role, marks, func() (session.Store, error) { return open(spec) })
	fmt.Fprintln(os.Stderr, role, err)
	os.Exit(1)
	return true
}

func serve(role, marks string, open func() (session.Store, error)) error {
	store, err := open()
	for tries := 0; err != nil && tries < 300; tries++ { // the database may be away
		time.Sleep(100 * time.Millisecond)
		store, err = open()
	}
	if err != nil {
		return err
	}
	var h *webbridge.Handler
	switch role {
	case roleEditor:
		return acpbridge.Serve(context.Background(), acpbridge.Config[deps.ACPDeps, string]{
			Host: hostOf(store, marks),
		})
	case rolePage:
		h, err = newPages(store, marks)
	default:
		h, err = newChats(store, func(name, key string) error { return mark(marks, name, key) })
	}
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = h.Serve(context.Background()) }()
	fmt.Println(l.Addr())
	return http.Serve(l, h)
}

func hostOf(store session.Store, marks string) host.Config[deps.ACPDeps, string] {
	return host.Config[deps.ACPDeps, string]{
		Agent: newAgent(marks), Store: store, Attempts: 1000, Logger: slog.New(slog.DiscardHandler),
		Runner: runnerOf(store),
	}
}

// newPages is a server of pages.
func newPages(store session.Store, marks string) (*webbridge.Handler, error) {
	c := hostOf(store, marks)
	c.Deps = func(context.Context, *host.Session) (deps.ACPDeps, error) { return deps.ACPDeps{}, nil }
	return webbridge.New(webbridge.Config[deps.ACPDeps, string]{
		Host: c, Options: webbridge.Options{
			Token: token, Dirs: []string{filepath.Dir(marks)}, Logger: c.Logger,
		},
	})
}

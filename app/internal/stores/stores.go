// SPDX-License-Identifier: Apache-2.0

// Package stores opens the stores of sessions that the -store flag names: a directory, or a
// database of a kind that the program links.
package stores

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/session"
)

// Open opens a store: in a directory, or the database of an address. Its errors must not have a
// password in them.
type Open func(ctx context.Context, address string) (session.Store, error)

// kinds open stores by the scheme of their addresses, in lower case, such as "postgres".
// Directories have the empty scheme.
var kinds sync.Map

// Register has addresses with a scheme opened by a function. The empty scheme is for directories.
func Register(scheme string, open Open) {
	if _, twice := kinds.LoadOrStore(strings.ToLower(scheme), open); twice {
		panic(fmt.Sprintf("stores: %q is registered twice", scheme))
	}
}

func opener(scheme string) Open {
	open, _ := kinds.Load(scheme)
	f, _ := open.(Open)
	return f
}

// Directories reports whether sessions can be kept in a directory.
func Directories() bool { return opener("") != nil }

// Place is where sessions are kept. Its address may have a password, so it has no method that
// returns it.
type Place struct {
	dir, kind, rest string // dir is set, or the others are
}

// At returns the place that a flag names: the address of a database, which has "://" in it, or a
// directory. Errors have nothing in them that could be a password.
func At(name string) (Place, error) {
	kind, rest, ok := strings.Cut(name, "://")
	switch {
	case ok && isScheme(kind):
		kind = strings.ToLower(kind)
		if opener(kind) == nil {
			return Place{}, fmt.Errorf("-store: this program has no stores of the kind %q: see docs/app.md", kind)
		}
		return Place{kind: kind, rest: rest}, nil
	case ok, mistaken(name):
		return Place{}, errors.New("-store: give a directory, or the address of a database in the form postgres://user@host/database")
	}
	if !Directories() {
		return Place{}, errors.New("-store: this program keeps sessions in memory: import package app/sqlite to keep them in a directory")
	}
	dir, err := filepath.Abs(name)
	return Place{dir: dir}, err
}

// Dir returns the directory, or "" if the place is a database.
func (p Place) Dir() string { return p.dir }

// Open opens the store. That of a directory is made if it does not exist.
func (p Place) Open(ctx context.Context) (session.Store, error) {
	if p.kind == "" {
		return opener("")(ctx, p.dir)
	}
	return opener(p.kind)(ctx, p.kind+"://"+p.rest)
}

// String returns the directory, or the kind of the database.
func (p Place) String() string { return cmp.Or(p.dir, "the "+p.kind+" database") }

// Key returns a name for the database that is the same for all addresses with the same server and
// database, and reveals nothing of the address. It goes into the names of directories. getenv
// returns the variables of libpq, which complete the address.
func (p Place) Key(getenv func(string) string) string {
	rest, query, _ := strings.Cut(p.rest, "?")
	user := ""
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		user, _, _ = strings.Cut(rest[:i], ":")
		rest = rest[i+1:]
	}
	values, _ := url.ParseQuery(query)
	host, database, _ := strings.Cut(rest, "/")
	parts := []string{
		cmp.Or(host, values.Get("host"), getenv("PGHOST")), cmp.Or(values.Get("port"), getenv("PGPORT")),
		cmp.Or(
			database, values.Get("dbname"), values.Get("database"), getenv("PGDATABASE"), user,
			values.Get("user"), getenv("PGUSER"),
		),
		cmp.Or(values.Get("service"), getenv("PGSERVICE")),
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// Mask returns an argument of a command line that is going to be shown, without what could be the
// rest of a database's address.
func Mask(arg string) string {
	before, _, ok := strings.Cut(arg, "://")
	switch {
	case ok && isScheme(before):
		return before + "://…"
	case ok, mistaken(arg):
		return "…"
	}
	return arg
}

func isScheme(s string) bool {
	for i, c := range []byte(strings.ToLower(s)) {
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || !strings.ContainsRune("0123456789+.-", rune(c))) {
			return false
		}
	}
	return s != ""
}

// mistaken reports whether a name is an address in another form, which must not be taken for a
// directory: names of directories are shown.
func mistaken(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, prefix := range []string{"postgres:", "postgresql:", "jdbc:"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	_, value, ok := strings.Cut(name, "password")
	return ok && strings.HasPrefix(strings.TrimSpace(value), "=")
}

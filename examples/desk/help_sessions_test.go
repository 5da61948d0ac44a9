// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// promisedOfSessions has the rows of the command sessions: see promised.
var promisedOfSessions = map[string]func(v visitor){
	"sessions": func(v visitor) {
		_, stderr, code := v.tries("", "sessions")
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "list, show, export, import, salvage, purge or key")
	},
	"sessions key": func(v visitor) {
		key := filepath.Join(v.dir, "key")
		require.Contains(v, v.does("sessions", "key", "-encrypt", key), "Keep a copy")
		_, stderr, code := v.tries("", "sessions", "key", "-encrypt", key)
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "-rotate adds a new one")
	},
	"sessions key -rotate": func(v visitor) {
		key := filepath.Join(v.dir, "key")
		v.does("sessions", "key", "-encrypt", key)
		v.does("chat", "-yes", "-store", v.store(), "-encrypt", key, hello)
		before, err := os.ReadFile(key)
		require.NoError(v, err)
		v.does("sessions", "key", "-rotate", "-encrypt", key)
		after, err := os.ReadFile(key)
		require.NoError(v, err)
		require.NotEqual(v, string(before), string(after))
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store(), "-encrypt", key))
	},
	"sessions list": func(v visitor) {
		require.Len(v, strings.Fields(v.asked(hello)), 1)
	},
	"sessions list -dir": func(v visitor) {
		v.asked(hello, "-dir", v.dir)
		require.Empty(v, v.does("sessions", "list", "-store", v.store(), "-dir", v.Name()))
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store(), "-dir", v.dir))
	},
	"sessions list -json": func(v visitor) {
		v.asked(hello)
		require.True(v, json.Valid([]byte(v.does("sessions", "list", "-json", "-store", v.store()))))
	},
	"sessions show": func(v visitor) {
		require.Contains(v, v.does("sessions", "show", v.asked(hello), "-store", v.store()), "a lamp")
	},
	"sessions show -json": func(v visitor) {
		require.True(v, json.Valid([]byte(v.does("sessions", "show", "-json", v.asked(hello), "-store", v.store()))))
	},
	"sessions export": func(v visitor) {
		id := v.asked(hello)
		other := v.asked(`use order {"number":"18"}`)
		one := v.does("sessions", "export", id, "-store", v.store())
		require.Contains(v, one, "a lamp")
		require.NotContains(v, one, other)
		require.Contains(v, v.does("sessions", "export", "-store", v.store()), other)
	},
	"sessions export -as": func(v visitor) {
		id := v.asked(hello)
		require.Contains(v, v.does("sessions", "export", "-as", "case", id, "-store", v.store()), "cases:\n")
		_, stderr, code := v.tries("", "sessions", "export", "-as", "song", id, "-store", v.store())
		require.Equal(v, 2, code)
		require.Contains(v, stderr, "must be test or case")
	},
	"sessions export -dir": func(v visitor) {
		v.asked(`use order {"number":"18"}`)
		v.asked(hello, "-dir", v.dir)
		out := v.does("sessions", "export", "-dir", v.dir, "-store", v.store())
		require.Contains(v, out, "a lamp")
		require.NotContains(v, out, "a chair")
	},
	"sessions export -out": func(v visitor) {
		v.exportsTest()
	},
	"sessions export -package": func(v visitor) {
		require.Contains(v, v.exportsTest("-package", "shop_test"), "package shop_test")
	},
	"sessions export -setup": func(v visitor) {
		require.Contains(v, v.exportsTest("-setup", "makeDesk"), "makeDesk")
	},
	"sessions import": func(v visitor) {
		file := v.file("export", v.does("sessions", "export", v.asked(hello), "-store", v.store()))
		other := filepath.Join(v.dir, "other")
		v.does("sessions", "import", file, "-store", other)
		require.NotEmpty(v, v.does("sessions", "list", "-store", other))
		text, err := os.ReadFile(file)
		require.NoError(v, err)
		third := filepath.Join(v.dir, "third")
		_, stderr, code := v.tries(string(text), "sessions", "import", "-", "-store", third)
		require.Zero(v, code, stderr)
		require.Contains(v, v.does("sessions", "export", "-store", third), "a lamp")
	},
	"sessions salvage": func(v visitor) {
		id := v.asked(hello)
		_, stderr, code := v.tries("", "sessions", "salvage", id, "-store", v.store())
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "the session is not damaged")
		v.does("chat", "-store", v.store(), "-resume", id, `use order {"number":"18"}`)
		v.damages("a chair, on its way")
		_, stderr, code = v.tries("", "sessions", "show", id, "-store", v.store())
		require.Equal(v, 1, code)
		require.Contains(v, stderr, "the data is damaged")
		made := strings.Fields(v.does("sessions", "salvage", id, "-store", v.store()))[0]
		require.NotEqual(v, id, made)
		out := v.does("sessions", "show", made, "-store", v.store())
		require.Contains(v, out, "a lamp")
		require.NotContains(v, out, "a chair")
		require.Contains(v, v.does("sessions", "list", "-store", v.store()), id, "it is kept")
	},
	"sessions purge": func(v visitor) {
		id, other := v.asked(hello), v.asked(hello)
		require.Equal(v, "Removed: 1\n", v.does("sessions", "purge", id, "-store", v.store()))
		left := v.does("sessions", "list", "-store", v.store())
		require.Contains(v, left, other)
		require.NotContains(v, left, id)
	},
	"sessions purge -all": func(v visitor) {
		v.asked(hello)
		v.asked(hello, "-dir", v.dir)
		v.does("sessions", "purge", "-all", "-store", v.store())
		require.Empty(v, v.does("sessions", "list", "-store", v.store()))
	},
	"sessions purge -dir": func(v visitor) {
		id := v.asked(hello)
		v.asked(hello, "-dir", v.dir)
		v.does("sessions", "purge", "-dir", v.dir, "-store", v.store())
		left := v.does("sessions", "list", "-store", v.store())
		require.Len(v, strings.Split(strings.TrimSpace(left), "\n"), 1)
		require.Contains(v, left, id)
	},
	"sessions purge -older": func(v visitor) {
		v.asked(hello)
		v.does("sessions", "purge", "-older", "10m", "-store", v.store())
		require.NotEmpty(v, v.does("sessions", "list", "-store", v.store()))
		v.does("sessions", "purge", "-older", "1ns", "-store", v.store())
		require.Empty(v, v.does("sessions", "list", "-store", v.store()))
	},
}

// exportsTest exports a session as a test, and returns the test.
func (v visitor) exportsTest(args ...string) string {
	v.Helper()
	at := filepath.Join(v.dir, "tests")
	require.NoError(v, os.MkdirAll(at, 0o700))
	v.does(append([]string{"sessions", "export", "-as", "test", "-out", at, v.asked(hello), "-store", v.store()}, args...)...)
	files, err := filepath.Glob(filepath.Join(at, "*_test.go"))
	require.NoError(v, err)
	require.Len(v, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(v, err)
	return string(data)
}

// damages flips a bit of what the store keeps.
func (v visitor) damages(text string) {
	v.Helper()
	store, err := sqlitestore.Open(v.store(), sqlitestore.Options{})
	require.NoError(v, err)
	require.NoError(v, store.Compact(v.Context())) // so that all is in one file
	require.NoError(v, store.Close())
	file := filepath.Join(v.store(), "sessions.db")
	data, err := os.ReadFile(file)
	require.NoError(v, err)
	at := bytes.Index(data, []byte(text))
	require.Positive(v, at)
	for at >= 0 { // wherever it is
		data[at] ^= 1
		at = bytes.Index(data, []byte(text))
	}
	require.NoError(v, os.WriteFile(file, data, 0o600))
}

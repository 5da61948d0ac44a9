// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/app/internal/stores"
)

// links has the program link what encrypts, for a test.
func links(t *testing.T, with *linked.WithEncryption) {
	before := linked.Encryption
	linked.Encryption = with
	t.Cleanup(func() { linked.Encryption = before })
}

func encryption() *linked.WithEncryption {
	return &linked.WithEncryption{Encrypted: sessions.Encrypted, Parse: sessions.ParseKeyring, Rotated: sessions.Keyring.Rotated}
}

// listing is a store that may fail to list, and counts how often it is closed.
type listing struct {
	sessions.Store
	err    error // of the n-th request
	fail   int
	asked  []sessions.Query
	closed int
	last   error
}

func (l *listing) List(ctx context.Context, q sessions.Query) (sessions.Page, error) {
	if l.asked = append(l.asked, q); len(l.asked) == l.fail {
		return sessions.Page{}, l.err
	}
	return l.Store.List(ctx, q)
}

func (l *listing) Close() error { l.closed++; return l.last }

func ringOf(t *testing.T, id string) sessions.Keyring {
	ring, err := sessions.Keyring{}.Rotated(id)
	require.NoError(t, err)
	return ring
}

// All sessions of a store are encrypted, or none.
func TestStoresAreEncryptedOrNot(t *testing.T) {
	ctx, ring, other := t.Context(), ringOf(t, "one"), ringOf(t, "two")
	hold := func(n *sessions.New, with *sessions.Keyring) *listing {
		memory := new(sessions.Memory)
		store := sessions.Store(memory)
		if with != nil {
			var err error
			store, err = sessions.Encrypted(memory, *with)
			require.NoError(t, err)
		}
		if n != nil {
			_, err := store.Create(ctx, *n)
			require.NoError(t, err)
		}
		return &listing{Store: memory}
	}
	titled, placed, bare := &sessions.New{Title: "About tea"}, &sessions.New{Dir: "/repo"}, &sessions.New{}
	const cannot = "this program cannot encrypt sessions: its source has to import github.com/ponte-go/ponte/app/encryption"
	const export = "the sessions there are not encrypted: export them, and import them with -encrypt and another -store"
	for name, c := range map[string]struct {
		inner   *listing
		ring    *sessions.Keyring
		without bool // what encrypts
		want    string
		is      error
		asked   int
	}{
		"empty":                               {hold(nil, nil), nil, true, "", nil, 1},
		"empty, to be encrypted":              {hold(nil, nil), &ring, false, "", nil, 2},
		"plain":                               {hold(titled, nil), nil, true, "", nil, 1},
		"plain, to be encrypted":              {hold(titled, nil), &ring, false, export, errPlain, 1},
		"plain of a place":                    {hold(placed, nil), &ring, false, export, errPlain, 1},
		"plain without anything to hide":      {hold(bare, nil), &ring, false, "", nil, 2},
		"encrypted":                           {hold(titled, &ring), &ring, false, "", nil, 2},
		"encrypted, of a place":               {hold(placed, &ring), &ring, false, "", nil, 2},
		"encrypted, no key":                   {hold(titled, &ring), nil, false, "the sessions there are encrypted: say with -encrypt where the key is", errSealed, 1},
		"encrypted, in a program that cannot": {hold(titled, &ring), nil, true, "the sessions there are encrypted: " + cannot, errCannot, 1},
		"encrypted with another key":          {hold(titled, &ring), &other, false, "two", sessions.ErrKey, 2},
	} {
		links(t, encryption())
		if c.without {
			links(t, nil)
		}
		store, err := sealed(ctx, c.inner, c.ring)
		require.Len(t, c.inner.asked, c.asked, name)
		for _, q := range c.inner.asked[:1] {
			require.Equal(t, sessions.Query{Limit: 1}, q, name)
		}
		switch {
		case c.is != nil && c.is != sessions.ErrKey:
			require.EqualError(t, err, c.want, name)
			fallthrough
		case c.is != nil:
			require.ErrorIs(t, err, c.is, name)
			require.Nil(t, store, name)
		case c.ring == nil:
			require.NoError(t, err, name)
			require.Equal(t, c.inner, store, name)
		default:
			require.NoError(t, err, name)
			made, err := store.Create(ctx, *titled)
			require.NoError(t, err, name)
			kept, err := c.inner.Get(ctx, made.ID)
			require.NoError(t, err, name)
			require.True(t, sessions.IsEncrypted(&kept), name)
		}
	}
}

// A store that cannot be read is not used, but one in which a session is damaged is.
func TestErrorsOfStoresToBeEncrypted(t *testing.T) {
	links(t, encryption())
	ring, broken := ringOf(t, "one"), errors.New("broken")
	store, err := sealed(t.Context(), &listing{Store: new(sessions.Memory), fail: 1, err: broken}, &ring)
	require.Equal(t, broken, err)
	require.Nil(t, store)
	store, err = sealed(t.Context(), &listing{Store: new(sessions.Memory), fail: 2, err: broken}, &ring)
	require.NoError(t, err, "it is an error where it is read")
	require.NotNil(t, store)
	links(t, &linked.WithEncryption{Encrypted: func(sessions.Store, sessions.Keyring) (sessions.Store, error) { return new(sessions.Memory), broken }})
	store, err = sealed(t.Context(), new(sessions.Memory), &ring)
	require.Equal(t, broken, err)
	require.Nil(t, store)
}

// flags returns an environment whose command line has been read.
func flags(t *testing.T, getenv environment, args ...string) *Env {
	e := newEnv(Process{Getenv: getenv}, "desk")
	require.NoError(t, e.command().ParseFlags(args))
	return e
}

// A store that is not used is closed, and both errors are told.
func TestStoresThatAreNotUsedAreClosed(t *testing.T) {
	t.Cleanup(func() { inner.store, inner.err = nil, nil })
	links(t, encryption())
	state := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", state)
	ring := ringOf(t, "one")
	e := flags(t, env("KEY", ring.Reveal(), "BAD", "nonsense"))
	place, err := stores.At("inner://db")
	require.NoError(t, err)

	l := &listing{Store: new(sessions.Memory), last: errors.New("not closed")}
	inner.store = l
	store, done, err := e.openPlace(t.Context(), place)
	require.NoError(t, err)
	require.Equal(t, l, store)
	require.Zero(t, l.closed)
	require.Equal(t, l.last, done())
	require.Equal(t, 1, l.closed)

	l = &listing{Store: new(sessions.Memory), fail: 1, err: errors.New("broken"), last: errors.New("not closed")}
	inner.store = l
	store, done, err = e.openPlace(t.Context(), place)
	require.EqualError(t, err, "broken\nnot closed")
	require.Equal(t, 1, l.closed)
	require.Nil(t, store)
	require.Nil(t, done)

	inner.err = errors.New("no network")
	store, done, err = e.openPlace(t.Context(), place)
	require.Equal(t, inner.err, err)
	require.Nil(t, store)
	require.Nil(t, done)

	for at, want := range map[string]string{
		"env:NONE": `-encrypt env:NONE: there is no key: make one with "desk sessions key"`,
		"env:BAD":  "-encrypt env:BAD: ",
	} {
		*e.encrypt = at
		store, done, err = e.openPlace(t.Context(), place)
		require.ErrorContains(t, err, want)
		require.Nil(t, store)
		require.Nil(t, done)
	}
}

// The keys of sessions are in the keyring of API keys, in a variable, or in a file.
func TestWhereKeysOfSessionsAre(t *testing.T) {
	links(t, encryption())
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	ring := ringOf(t, "one")
	file, empty := filepath.Join(home, "ring"), filepath.Join(home, "empty")
	require.NoError(t, os.WriteFile(file, []byte(ring.Reveal()+"\n"), 0o600))
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	e := flags(t, env("KEY", ring.Reveal(), "DESK_KEYS", filepath.Join(home, "keys.json")))
	none, err := e.Keyring(t.Context())
	require.NoError(t, err)
	require.Nil(t, none)
	const make = `: there is no key: make one with "desk sessions key"`
	for _, at := range []string{"keyring", "env:", "env:NONE", empty, filepath.Join(home, "none")} {
		*e.encrypt = at
		none, err := e.Keyring(t.Context())
		require.EqualError(t, err, "-encrypt "+at+make)
		require.ErrorIs(t, err, errNoRing)
		require.Nil(t, none)
	}
	_, err = e.stores().Set(t.Context(), "SESSION_KEYS", ring.Reveal())
	require.NoError(t, err)
	for _, at := range []string{"keyring", "env:KEY", file} {
		*e.encrypt = at
		found, err := e.Keyring(t.Context())
		require.NoError(t, err)
		require.Equal(t, ring, *found)
	}
	*e.encrypt = home // a directory
	_, err = e.Keyring(t.Context())
	require.ErrorContains(t, err, "-encrypt "+home+": ")
	require.NotErrorIs(t, err, errNoRing)
	links(t, nil)
	_, err = e.Keyring(t.Context())
	require.EqualError(t, err, "-encrypt "+home+": "+errCannot.Error())
}

// What encrypts sessions is read once: a change of the configuration or of the key counts from the next start.
func TestKeysOfSessionsAreReadOnce(t *testing.T) {
	links(t, encryption())
	file, key := filepath.Join(t.TempDir(), "config.json"), filepath.Join(t.TempDir(), "key")
	write := func(at, text string) { require.NoError(t, os.WriteFile(at, []byte(text), 0o600)) }
	one, two := ringOf(t, "one"), ringOf(t, "two")
	with := fmt.Sprintf(`{"encrypt": %q}`, key)
	for _, c := range []struct {
		begin, later string
		want         *sessions.Keyring
	}{{with, "nonsense", &one}, {with, "{}", &one}, {"{}", with, nil}, {"{}", "nonsense", nil}} {
		write(file, c.begin)
		write(key, one.Reveal())
		e := flags(t, env(), "--config", file)
		for range 2 {
			found, err := e.Keyring(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, found)
			require.NoError(t, e.ReadConfig())
			write(file, c.later)
			write(key, two.Reveal())
		}
	}
}

// What doctor says of a store that does not open depends on why.
func TestHowAStoreIsMended(t *testing.T) {
	e := newEnv(Process{}, "desk")
	for _, c := range []struct {
		err  error
		want string
	}{
		{Usage("-store: no"), "correct the flag"},
		{errCannot, "use a program that can, or name another place with -store"},
		{fmt.Errorf("%w: %w", errSealed, errCannot), "use a program that can, or name another place with -store"},
		{errNoRing, `run "desk sessions key", with the same -encrypt`},
		{sessions.ErrKey, "add the key that they were encrypted with, or name another place with -store"},
		{errPlain, "name another place with -store; docs/app.md says how sessions are moved there"},
		{errSealed, "name another place with -store; docs/app.md says how sessions are moved there"},
		{&config.Problem{}, "mend the configuration first"},
		{errors.New("no room"), "make the directory writable, free some space, or name another place with -store"},
	} {
		require.Equal(t, c.want, e.mendStore(fmt.Errorf("desk: %w", c.err)))
	}
}

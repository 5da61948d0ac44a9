// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
)

// ring returns a keyring with keys of these ids.
func ring(ids ...string) session.Keyring {
	k := session.Keyring{Index: bytes.Repeat([]byte{7}, 32)}
	for _, id := range ids {
		k.Keys = append(k.Keys, session.Key{ID: id, Secret: []byte(strings.Repeat(id, 32)[:32])})
	}
	return k
}

func encrypted(t testing.TB, s session.Store, ids ...string) session.Store {
	t.Helper()
	e, err := session.Encrypted(s, ring(ids...))
	require.NoError(t, err)
	return e
}

func TestEncryptedStoreIsAStore(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
		inner := new(session.Memory)
		return &sessiontest.Target{Larger: true, Open: func() (session.Store, error) { return session.Encrypted(inner, ring("a")) }}
	})
}

func TestKeyringIsChecked(t *testing.T) {
	for what, change := range map[string]func(k *session.Keyring){
		"no key": func(k *session.Keyring) { k.Keys = nil }, "no index": func(k *session.Keyring) { k.Index = nil },
		"short": func(k *session.Keyring) { k.Keys[0].Secret = []byte("secret") }, "twice": func(k *session.Keyring) { k.Keys = append(k.Keys, k.Keys[0]) },
		"no id": func(k *session.Keyring) { k.Keys[0].ID = "" }, "quote": func(k *session.Keyring) { k.Keys[0].ID = `a"b` }, "colon": func(k *session.Keyring) { k.Keys[0].ID = "a:b" },
	} {
		k := ring("k")
		change(&k)
		_, err := session.Encrypted(new(session.Memory), k)
		require.ErrorIs(t, err, session.ErrInvalid, what)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		shown := fmt.Sprintf(format, ring("k")) + fmt.Sprintf(format, ring("k").Keys[0])
		require.NotContains(t, shown, "kkk", format)
		require.NotContains(t, shown, "107, 107", format)
	}
}

// TestKeysAreRotated writes with an old key, then with a new one before it.
func TestKeysAreRotated(t *testing.T) {
	ctx, inner := t.Context(), new(session.Memory)
	write := func(s session.Store, id string) {
		_, err := s.Create(ctx, session.New{ID: id, Title: "title", Dir: "/repo", Owner: "ada"})
		require.NoError(t, err)
		w, err := session.Open(ctx, s, id, session.Claim{})
		require.NoError(t, err)
		_, err = w.Append(ctx, session.Entry{Kind: session.KindMessage, Data: []byte(`"text"`)})
		require.NoError(t, err)
		require.NoError(t, w.Close(ctx))
	}
	read := func(s session.Store, id string) error {
		for e, err := range s.Load(ctx, id, 0) {
			if err != nil {
				return err
			}
			require.Equal(t, `"text"`, string(e.Data))
		}
		_, err := s.Get(ctx, id)
		return err
	}
	before, both, after := encrypted(t, inner, "old"), encrypted(t, inner, "new", "old"), encrypted(t, inner, "new")
	write(before, "s1")
	write(both, "s2")
	require.NoError(t, read(both, "s1"))
	require.NoError(t, read(both, "s2"))
	require.NoError(t, read(after, "s2"), "what was written since needs the new key only")
	require.ErrorIs(t, read(after, "s1"), session.ErrKey)
	require.ErrorIs(t, read(before, "s2"), session.ErrKey)
	page, err := both.List(ctx, session.Query{Dir: "/repo", Owner: new("ada")})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 2, "sessions of all keys are found")
}

// TestCiphertextIsBoundToItsPlace moves and changes what is stored.
func TestCiphertextIsBoundToItsPlace(t *testing.T) {
	ctx, inner := t.Context(), new(session.Memory)
	s := encrypted(t, inner, "k")
	_, err := s.Create(ctx, session.New{ID: "a", Title: "title", Values: map[string]json.RawMessage{"one": []byte("1"), "two": []byte("2")}})
	require.NoError(t, err)
	w, err := session.Open(ctx, s, "a", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(ctx, session.Entry{Kind: session.KindMessage, Run: "r", Key: "k", Data: []byte(`"x"`)})
	require.NoError(t, err)
	require.NoError(t, w.Close(ctx))
	var stored session.Entry
	for e, err := range inner.Load(ctx, "a", 0) {
		require.NoError(t, err)
		stored = e
	}
	l, err := inner.Acquire(ctx, "a", session.Claim{})
	require.NoError(t, err)
	head := l.Head
	moved, changed, plain := stored, stored, stored
	moved.Key, changed.Key, plain.Key, plain.Data = "other", "c", "p", []byte(`"planted"`)
	changed.Data = bytes.Clone(stored.Data)
	if at := len(changed.Data) - 10; changed.Data[at] == 'A' { // of the ciphertext
		changed.Data[at] = 'B'
	} else {
		changed.Data[at] = 'A'
	}
	for _, e := range []*session.Entry{&moved, &changed, &plain} {
		e.Seq = 0
	}
	_, err = inner.Append(ctx, l, head, session.Batch{Entries: []session.Entry{moved, changed, plain}})
	require.NoError(t, err)
	good, bad := 0, 0
	for e, err := range s.Load(ctx, "a", 0) {
		if err == nil {
			good++
			require.Equal(t, `"x"`, string(e.Data))
			continue
		}
		bad++
		require.ErrorIs(t, err, session.ErrCorrupt)
		require.Empty(t, e.Data)
	}
	require.Equal(t, []int{1, 3}, []int{good, bad}, "an entry that was tampered with is an error about it alone")
	info, err := inner.Get(ctx, "a")
	require.NoError(t, err)
	_, err = inner.Update(ctx, "a", session.Change{Values: map[string]json.RawMessage{"one": info.Values["two"]}})
	require.NoError(t, err)
	_, err = s.Get(ctx, "a")
	require.ErrorIs(t, err, session.ErrCorrupt, "values that were swapped")
}

// TestNothingReadableIsStored looks at what the store below has.
func TestNothingReadableIsStored(t *testing.T) {
	ctx, inner := t.Context(), new(session.Memory)
	s := encrypted(t, inner, "k")
	const secret = "plaintext"
	_, err := s.Create(ctx, session.New{ID: "a", Title: secret, Dir: "/" + secret, Owner: secret, Tenant: secret, Values: map[string]json.RawMessage{"v": []byte(`"` + secret + `"`)}})
	require.NoError(t, err)
	_, err = s.Create(ctx, session.New{ID: "ledger", Dir: session.InternalDir + secret})
	require.NoError(t, err)
	title := secret + " 2"
	_, err = s.Update(ctx, "a", session.Change{Title: &title})
	require.NoError(t, err)
	i, err := s.Put(ctx, "a", session.Item{Kind: session.ItemPrompt, By: secret, Digest: secret, Data: []byte(`"` + secret + `"`)})
	require.NoError(t, err)
	require.Equal(t, secret, i.By)
	_, err = s.Change(ctx, "a", i.ID, 1, []byte(`"`+secret+`"`))
	require.NoError(t, err)
	w, err := session.Open(ctx, s, "a", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(ctx, session.Entry{Kind: session.KindMessage, Data: []byte(`"` + secret + `"`)})
	require.NoError(t, err)
	fork, err := s.Fork(ctx, "a", 1, session.New{Dir: "/" + secret + "2"})
	require.NoError(t, err)
	require.Equal(t, title+" /"+secret+"2 "+secret, fork.Title+" "+fork.Dir+" "+fork.Owner)
	page, err := s.List(ctx, session.Query{Conversations: true})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 2)
	require.Equal(t, []string{"v"}, slices.Collect(maps.Keys(page.Sessions[0].Values)))

	var file bytes.Buffer
	require.NoError(t, session.Export(context.WithoutCancel(ctx), inner, &file))
	require.NotContains(t, file.String(), secret)
	file.Reset()
	require.NoError(t, session.Export(ctx, s, &file))
	require.Equal(t, 16, strings.Count(file.String(), secret), "an export through the store is readable")
}

// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
)

// Encrypted returns a store that encrypts what is written to s, and decrypts what is read, with
// AES-256-GCM: the data of entries, titles, values, the data, senders and digests of items, and the
// names of directories, owners and tenants. It panics if s is nil, and fails if the keyring is not
// valid.
//
// Ids, numbers, times and sizes stay readable, the kinds, runs and keys of entries, the kinds of
// items, the names of values, and the holders of sessions. Ids should not have a meaning, then.
// Sessions are found by id, by time, and by exact directory, owner, tenant and parent: an HMAC
// under Keyring.Index takes the place of the name, which shows that two sessions have the same one.
// There is nothing else to search by in ciphertext.
//
// Data that was changed is an [ErrCorrupt]. So is a title, a value or an item that was moved to
// another session or name, and an entry that was given another kind, run or key. Forks share
// entries, so an entry does not say its session: a copy of it elsewhere is not noticed. Neither is
// data of before that was put back, or removed. Data that is not encrypted is an [ErrCorrupt], too:
// take it over with [Export] and [Import]. Data of a key that is not in the keyring is an
// [ErrKey]. Info.Size is the size of the ciphertext, about a third larger.
//
// The store is a [Watcher] and a [Compacter] if s is.
func Encrypted(s Store, keys Keyring) (Store, error) {
	if s == nil {
		panic("session: Encrypted: the store is nil")
	}
	if err := keys.check(); err != nil {
		return nil, fail("encrypt", "", err)
	}
	e := encrypted{s, &keys}
	w, _ := s.(Watcher)
	if w != nil {
		w = openWatcher{w, e}
	}
	return with(e, w, s), nil
}

type encrypted struct {
	store Store
	keys  *Keyring
}

// IsEncrypted reports whether a description, as the store itself has it, is one of an [Encrypted]
// store. A session without a title, directory, owner and values cannot be told apart.
func IsEncrypted(i *Info) bool {
	if strings.HasPrefix(i.Title, sealed) {
		return true
	}
	for _, v := range i.Values {
		if bytes.HasPrefix(v, []byte(`"`+sealed)) {
			return true
		}
	}
	return false
}

// The names of the values that keep what Dir, Tenant and Owner are found by.
const (
	dirValue   = "sealed dir"
	ownerValue = "sealed owner"
)

// The purposes of what belongs to one session.
func forTitle(id string) string            { return fmt.Sprintf("title of %q", id) }
func forValue(id, name string) string      { return fmt.Sprintf("value %q of %q", name, id) }
func forItem(what, id, item string) string { return fmt.Sprintf("%s %q of %q", what, item, id) }

// values encrypts values of a session. Nil stays nil.
func (e encrypted) values(
	id string, values map[string]json.RawMessage,
) (map[string]json.RawMessage, error) {
	made := map[string]json.RawMessage{}
	for name, v := range values {
		if name == dirValue || name == ownerValue {
			return nil, fmt.Errorf("%w: the name %q of a value is taken by the encryption", ErrInvalid, name)
		}
		v, err := e.keys.sealJSON(v, forValue(id, name))
		if err != nil {
			return nil, err
		}
		made[name] = v
	}
	return made, nil
}

// dirIndex returns what a directory is found by. Those of internal sessions keep their prefix.
func (e encrypted) dirIndex(dir string) string {
	name, internal := strings.CutPrefix(dir, InternalDir)
	if internal {
		return InternalDir + e.keys.index(name, "internal")
	}
	return e.keys.index(dir, "dir")
}

func (e encrypted) new(n New) (New, error) {
	if err := n.Check(); err != nil {
		return n, err
	}
	var err error
	n.ID = cmp.Or(n.ID, rand.Text())
	if n.Values, err = e.values(n.ID, n.Values); err != nil {
		return n, err
	}
	if n.Title, err = e.keys.sealText(n.Title, forTitle(n.ID)); err != nil {
		return n, err
	}
	keep := func(name string, v any) error {
		data, err := json.Marshal(v)
		if err == nil {
			n.Values[name], err = e.keys.sealJSON(data, forValue(n.ID, name))
		}
		return err
	}
	if n.Dir != "" {
		if err := keep(dirValue, n.Dir); err != nil {
			return n, err
		}
		n.Dir = e.dirIndex(n.Dir)
	}
	if n.Tenant != "" || n.Owner != "" {
		if err := keep(ownerValue, [2]string{n.Tenant, n.Owner}); err != nil {
			return n, err
		}
		n.Tenant, n.Owner = e.keys.index(n.Tenant, "tenant"), e.keys.index(n.Owner, "owner")
	}
	return n, nil
}

// info decrypts a description.
func (e encrypted) info(i Info, err error) (Info, error) {
	if err != nil {
		return i, err
	}
	bad := func(err error) (Info, error) { return Info{}, fail("decrypt", i.ID, err) }
	if i.Title, err = e.keys.openText(i.Title, forTitle(i.ID)); err != nil {
		return bad(fmt.Errorf("the title: %w", err))
	}
	open := map[string]json.RawMessage{}
	for name, v := range i.Values {
		if open[name], err = e.keys.openJSON(v, forValue(i.ID, name)); err != nil {
			return bad(fmt.Errorf("the value %q: %w", name, err))
		}
	}
	var dir string
	var owner [2]string
	for name, to := range map[string]any{dirValue: &dir, ownerValue: &owner} {
		if open[name] != nil && json.Unmarshal(open[name], to) != nil {
			return bad(fmt.Errorf("%w: the value %q", ErrCorrupt, name))
		}
		delete(open, name)
	}
	if e.dirIndex(dir) != i.Dir || e.keys.index(owner[0], "tenant") != i.Tenant || e.keys.index(owner[1], "owner") != i.Owner {
		return bad(fmt.Errorf("%w: directory, tenant or owner is not what was encrypted, or the index key is another one", ErrCorrupt))
	}
	i.Dir, i.Tenant, i.Owner = dir, owner[0], owner[1]
	if i.Values = open; len(open) == 0 {
		i.Values = nil
	}
	return i, nil
}

func (e encrypted) Create(ctx context.Context, n New) (Info, error) {
	id := n.ID
	n, err := e.new(n)
	if err != nil {
		return Info{}, fail("create", id, err)
	}
	return e.info(e.store.Create(ctx, n))
}

// Fork encrypts for the fork what it has from its parent.
func (e encrypted) Fork(ctx context.Context, id string, at int64, n New) (Info, error) {
	parent, err := e.Get(ctx, id)
	if err == nil {
		n.Title, n.Dir = cmp.Or(n.Title, parent.Title), cmp.Or(n.Dir, parent.Dir)
		if n.Tenant == "" && n.Owner == "" {
			n.Tenant, n.Owner = parent.Tenant, parent.Owner
		}
		values := map[string]json.RawMessage{}
		maps.Copy(values, parent.Values)
		maps.Copy(values, n.Values)
		n.Values = values
		n, err = e.new(n)
	}
	if err != nil {
		return Info{}, failItem("fork", id, err)
	}
	made, err := e.store.Fork(ctx, id, at, n)
	left := Change{Title: &n.Title, Values: map[string]json.RawMessage{}}
	for name := range made.Values {
		if n.Values[name] == nil {
			left.Values[name] = nil
		}
	}
	if err == nil && (made.Title != n.Title || len(left.Values) > 0) { // it is new
		made, err = e.store.Update(ctx, made.ID, left)
	}
	return e.info(made, err)
}

func (e encrypted) Get(ctx context.Context, id string) (Info, error) {
	return e.info(e.store.Get(ctx, id))
}

func (e encrypted) List(ctx context.Context, q Query) (Page, error) {
	if q.Dir != "" {
		q.Dir = e.dirIndex(q.Dir)
	}
	q.Tenant = e.keys.index(q.Tenant, "tenant")
	if q.Owner != nil {
		q.Owner = new(e.keys.index(*q.Owner, "owner"))
	}
	page, err := e.store.List(ctx, q)
	for i := range page.Sessions {
		info, bad := e.info(page.Sessions[i], nil)
		if errors.Is(bad, ErrKey) {
			return Page{}, bad
		}
		if bad != nil {
			info, err = page.Sessions[i], errors.Join(err, bad)
			info.Title, info.Values, info.Dir, info.Tenant, info.Owner = "", nil, "", "", ""
		}
		page.Sessions[i] = info
	}
	return page, err
}

func (e encrypted) Update(ctx context.Context, id string, c Change) (Info, error) {
	err := c.Check()
	if err == nil {
		c.Values, err = e.values(id, c.Values)
	}
	if err == nil && c.Title != nil {
		var title string
		title, err = e.keys.sealText(*c.Title, forTitle(id))
		c.Title = &title
	}
	if err != nil {
		return Info{}, fail("update", id, err)
	}
	return e.info(e.store.Update(ctx, id, c))
}

func (e encrypted) Delete(ctx context.Context, id string) error { return e.store.Delete(ctx, id) }

func (e encrypted) Acquire(ctx context.Context, id string, c Claim) (Lease, error) {
	return e.store.Acquire(ctx, id, c)
}

func (e encrypted) Release(ctx context.Context, l Lease) error { return e.store.Release(ctx, l) }

func forEntry(e *Entry) string {
	return fmt.Sprintf("entry %q %q %q", e.Kind, e.Run, e.Key)
}

func (e encrypted) Append(ctx context.Context, l Lease, head int64, b Batch) (int64, error) {
	made := make([]Entry, len(b.Entries))
	for i, one := range b.Entries {
		var err error
		if one.Data, err = e.keys.sealJSON(one.Data, forEntry(&one)); err != nil {
			return 0, fail("append", l.Session, fmt.Errorf("entry %d: %w", i, err))
		}
		made[i] = one
	}
	b.Entries = made
	return e.store.Append(ctx, l, head, b)
}

// entries decrypts entries. One that cannot be decrypted is an error about it alone, unless its
// key is missing: then others are, too.
func (e encrypted) entries(id string, all iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for one, err := range all {
			if err == nil {
				if one.Data, err = e.keys.openJSON(one.Data, forEntry(&one)); err != nil {
					err = &Error{Op: "decrypt", Session: id, Seq: one.Seq, Err: err}
					one.Data = nil
				}
			}
			if !yield(one, err) || errors.Is(err, ErrKey) {
				return
			}
		}
	}
}

func (e encrypted) Load(ctx context.Context, id string, after int64) iter.Seq2[Entry, error] {
	return e.entries(id, e.store.Load(ctx, id, after))
}

// openItem decrypts an item.
func (e encrypted) openItem(id string, i Item, err error) (Item, error) {
	var bad error
	if i.Data, bad = e.keys.openJSON(i.Data, forItem("item", id, i.ID)); bad == nil {
		if i.By, bad = e.keys.openText(i.By, forItem("by", id, i.ID)); bad == nil {
			i.Digest, bad = e.keys.openText(i.Digest, forItem("digest", id, i.ID))
		}
	}
	if bad != nil && err == nil {
		return Item{}, &Error{Op: "decrypt", Session: id, Item: i.ID, Err: bad}
	}
	return i, err
}

func (e encrypted) Put(ctx context.Context, id string, i Item) (Item, error) {
	i, err := i.Prepare(now()) // it has an id then
	if err == nil {
		if i.Data, err = e.keys.sealJSON(i.Data, forItem("item", id, i.ID)); err == nil {
			if i.By, err = e.keys.sealText(i.By, forItem("by", id, i.ID)); err == nil {
				i.Digest, err = e.keys.sealText(i.Digest, forItem("digest", id, i.ID))
			}
		}
	}
	if err != nil {
		return Item{}, fail("put", id, err)
	}
	i, err = e.store.Put(ctx, id, i)
	return e.openItem(id, i, err)
}

func (e encrypted) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (Item, error) {
	data, err := e.keys.sealJSON(data, forItem("item", id, item))
	if err != nil {
		return Item{}, failItem("change", id, &Error{Item: item, Err: err})
	}
	i, err := e.store.Change(ctx, id, item, version, data)
	return e.openItem(id, i, err)
}

func (e encrypted) Items(ctx context.Context, id string, after int64, kinds ...ItemKind) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i, err := range e.store.Items(ctx, id, after, kinds...) {
			i, err = e.openItem(id, i, err)
			if !yield(i, err) || errors.Is(err, ErrKey) {
				return
			}
		}
	}
}

// openWatcher decrypts what is watched.
type openWatcher struct {
	Watcher
	encrypted encrypted
}

func (w openWatcher) Watch(ctx context.Context, id string, after int64) iter.Seq2[Entry, error] {
	return w.encrypted.entries(id, w.Watcher.Watch(ctx, id, after))
}

// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
)

// Processor changes an entry before it is stored, for example to leave out what must not be on a
// disk. It must not change the bytes of e.Data in place. Titles and values are passed to it, too,
// as a [KindValue] whose Key is "title" or the name of the value, and the data of items as a
// [KindItem] whose Key is the kind of the item, or empty when the item is changed. It may be called
// from several goroutines at once.
type Processor func(ctx context.Context, e *Entry) error

// Processed returns a store that passes what is written to s through a processor. Reads return the
// stored data: a run that is resumed from such a session sees its redacted past. An error of the
// processor ends the call, and nothing is written.
//
// The store is a [Watcher] and a [Compacter] if s is. Processed panics if s or process is nil.
func Processed(s Store, process Processor) Store {
	if s == nil || process == nil {
		panic("session: Processed: the store or the processor is nil")
	}
	w, _ := s.(Watcher)
	return with(processed{s, process}, w, s)
}

// with returns a store that is around another one. It is a Watcher if w is not nil, and a Compacter
// if the other one is.
func with(s Store, w Watcher, below Store) Store {
	c, compacts := below.(Compacter)
	switch {
	case w != nil && compacts:
		return struct {
			Store
			Watcher
			Compacter
		}{s, w, c}
	case w != nil:
		return struct {
			Store
			Watcher
		}{s, w}
	case compacts:
		return struct {
			Store
			Compacter
		}{s, c}
	}
	return s
}

type processed struct {
	Store
	process Processor
}

// value passes a value through the processor.
func (p processed) value(ctx context.Context, name string, data json.RawMessage) (json.RawMessage, error) {
	e := Entry{Kind: KindValue, Key: name, Data: bytes.Clone(data)}
	err := p.process(ctx, &e)
	return e.Data, err
}

func (p processed) title(ctx context.Context, title string) (string, error) {
	if title == "" {
		return "", nil
	}
	data, err := json.Marshal(title)
	if err != nil {
		return "", err
	}
	if data, err = p.value(ctx, "title", data); err == nil {
		err = json.Unmarshal(data, &title)
	}
	return title, err
}

func (p processed) values(
	ctx context.Context, values map[string]json.RawMessage,
) (map[string]json.RawMessage, error) {
	values = maps.Clone(values)
	for name, v := range values {
		if v == nil {
			continue
		}
		v, err := p.value(ctx, name, v)
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	return values, nil
}

func (p processed) describe(ctx context.Context, n *New) (err error) {
	if n.Title, err = p.title(ctx, n.Title); err == nil {
		n.Values, err = p.values(ctx, n.Values)
	}
	return err
}

func (p processed) Create(ctx context.Context, n New) (Info, error) {
	if err := p.describe(ctx, &n); err != nil {
		return Info{}, fail("create", n.ID, err)
	}
	return p.Store.Create(ctx, n)
}

func (p processed) Fork(ctx context.Context, id string, at int64, n New) (Info, error) {
	if err := p.describe(ctx, &n); err != nil {
		return Info{}, fail("fork", id, err)
	}
	return p.Store.Fork(ctx, id, at, n)
}

func (p processed) Update(ctx context.Context, id string, c Change) (Info, error) {
	values, err := p.values(ctx, c.Values)
	if c.Values = values; err == nil && c.Title != nil {
		var title string
		title, err = p.title(ctx, *c.Title)
		c.Title = &title
	}
	if err != nil {
		return Info{}, fail("update", id, err)
	}
	return p.Store.Update(ctx, id, c)
}

func (p processed) Append(ctx context.Context, l Lease, head int64, b Batch) (int64, error) {
	made := make([]Entry, len(b.Entries))
	for i, e := range b.Entries {
		if err := p.process(ctx, &e); err != nil {
			return 0, fail("append", l.Session, fmt.Errorf("process entry %d: %w", i, err))
		}
		made[i] = e
	}
	b.Entries = made
	return p.Store.Append(ctx, l, head, b)
}

// item passes the data of an item through the processor.
func (p processed) item(ctx context.Context, kind ItemKind, data json.RawMessage) (json.RawMessage, error) {
	if data == nil {
		return nil, nil
	}
	e := Entry{Kind: KindItem, Key: string(kind), Data: bytes.Clone(data)}
	err := p.process(ctx, &e)
	return e.Data, err
}

func (p processed) Put(ctx context.Context, id string, i Item) (Item, error) {
	data, err := p.item(ctx, i.Kind, i.Data)
	if err != nil {
		return Item{}, fail("put", id, err)
	}
	i.Data = data
	return p.Store.Put(ctx, id, i)
}

func (p processed) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (Item, error) {
	data, err := p.item(ctx, "", data)
	if err != nil {
		return Item{}, fail("change", id, err)
	}
	return p.Store.Change(ctx, id, item, version, data)
}

// Strings returns a processor that passes each string in the data of entries through replace: the
// decoded values of members and elements, but not the names of members. All else stays byte for
// byte.
//
// The text of a streamed response is stored in pieces, and text to be replaced may span two of
// them. The complete response that supersedes the pieces is processed as a whole.
func Strings(replace func(string) string) Processor {
	return func(_ context.Context, e *Entry) error {
		data, err := replaceStrings(e.Data, replace)
		if err == nil {
			e.Data = data
		}
		return err
	}
}

func replaceStrings(data []byte, replace func(string) string) ([]byte, error) {
	if !json.Valid(data) {
		return data, nil // the store says so
	}
	var made []byte
	done := 0
	for i := 0; i < len(data); i++ {
		if data[i] != '"' {
			continue
		}
		begin := i
		for i++; data[i] != '"'; i++ {
			if data[i] == '\\' {
				i++
			}
		}
		literal := data[begin : i+1]
		if rest := bytes.TrimLeft(data[i+1:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			continue
		}
		var old string
		if err := json.Unmarshal(literal, &old); err != nil {
			return nil, err
		}
		text := replace(old)
		if text == old {
			continue
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		made = append(append(made, data[done:begin]...), quoted...)
		done = i + 1
	}
	if done == 0 {
		return data, nil
	}
	return append(made, data[done:]...), nil
}

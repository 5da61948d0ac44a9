// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Key identifies requests that are identical for a provider: a SHA-256 digest.
type Key [sha256.Size]byte

// String returns the key in hexadecimal, for stores that need a name.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// keyVersion is part of each key. It changes with the canonical form, so that a store never returns
// a response stored under an older form.
const keyVersion = "ponte request 1"

// digester writes the canonical form of requests into a hash. Every item is preceded by its length
// or number, so that no two requests have the same form.
type digester struct {
	hash hash.Hash
	buf  []byte
	// calls numbers the ids of tool calls, which are random, in order of first appearance.
	calls map[string]int
}

// flushAt is the number of bytes to collect before hashing them.
const flushAt = 8 << 10

var digesters = sync.Pool{New: func() any { return &digester{hash: sha256.New(), calls: map[string]int{}} }}

func digest(write func(*digester)) (key Key) {
	d := digesters.Get().(*digester)
	d.hash.Reset()
	write(d)
	d.flush()
	copy(key[:], d.hash.Sum(d.buf))
	clear(d.calls)
	digesters.Put(d)
	return key
}

// digestOf returns the digest of everything that tells models apart. name is [CachePolicy.Name].
func digestOf(m model.Model, name string) Key {
	info, err := json.Marshal(m.Info())
	if err != nil {
		panic("modelwrap: " + err.Error()) // it has strings, numbers and lists only
	}
	return digest(func(d *digester) {
		d.bytes(info)
		id := model.Identity(m)
		if id == "" && name == "" {
			id = rand.Text() // shared with no other
		}
		d.text(id)
		d.text(name)
	})
}

func keyOf(of *Key, req *model.Request) Key {
	return digest(func(d *digester) {
		d.text(keyVersion)
		d.bytes(of[:])
		d.text(req.Instructions)
		d.int(int64(len(req.Tools)))
		for i := range req.Tools {
			t := &req.Tools[i]
			d.schema(t.Name, t.Description, t.Schema, t.Strict)
		}
		d.text(string(req.ToolChoice.Mode))
		d.text(req.ToolChoice.Tool)
		if d.bool(req.Output != nil); req.Output != nil {
			d.schema(req.Output.Name, req.Output.Description, req.Output.Schema, req.Output.Strict)
		}
		if d.bool(req.Settings != nil); req.Settings != nil {
			d.settings(req.Settings)
		}
		for _, m := range req.Messages {
			d.message(m)
		}
	})
}

func (d *digester) flush() {
	_, _ = d.hash.Write(d.buf) // a hash never fails
	d.buf = d.buf[:0]
}

func (d *digester) int(n int64) {
	d.buf = binary.AppendVarint(d.buf, n)
}

func (d *digester) bool(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	d.int(n)
}

func (d *digester) text(s string) {
	d.int(int64(len(s)))
	for len(d.buf)+len(s) > flushAt {
		n := min(len(s), max(flushAt-len(d.buf), 0))
		d.buf, s = append(d.buf, s[:n]...), s[n:]
		d.flush()
	}
	d.buf = append(d.buf, s...)
}

func (d *digester) bytes(b []byte) {
	d.int(int64(len(b)))
	if len(d.buf)+len(b) > flushAt {
		d.flush()
		_, _ = d.hash.Write(b)
		return
	}
	d.buf = append(d.buf, b...)
}

func (d *digester) texts(list []string) {
	d.int(int64(len(list)))
	for _, s := range list {
		d.text(s)
	}
}

func (d *digester) schema(name, description string, schema []byte, strict bool) {
	d.text(name)
	d.text(description)
	d.bytes(schema)
	d.bool(strict)
}

func (d *digester) settings(s *model.Settings) {
	d.int(int64(s.MaxTokens))
	for _, f := range []*float64{s.Temperature, s.TopP} {
		if d.bool(f != nil); f != nil {
			d.int(int64(math.Float64bits(*f)))
		}
	}
	d.texts(s.Stop)
	if d.bool(s.Seed != nil); s.Seed != nil {
		d.int(*s.Seed)
	}
	if d.bool(s.ParallelToolCalls != nil); s.ParallelToolCalls != nil {
		d.bool(*s.ParallelToolCalls)
	}
	d.text(s.Thinking)
	d.text(s.ServiceTier)
	pairs(d, s.ExtraHeaders, d.text)
	pairs(d, s.ExtraBody, func(v json.RawMessage) { d.bytes(v) })
	d.int(int64(len(s.NativeTools)))
	for i := range s.NativeTools {
		t := &s.NativeTools[i]
		d.text(string(t.Kind))
		d.texts(t.Allowed)
		d.texts(t.Blocked)
		d.int(int64(t.MaxUses))
	}
	d.int(int64(s.CompactAt))
}

func (d *digester) message(m *model.Message) {
	d.text(string(m.Kind))
	d.int(int64(len(m.Parts)))
	for i := range m.Parts {
		p := &m.Parts[i]
		d.text(string(p.Kind))
		d.text(p.Text)
		d.int(d.call(p.CallID))
		d.text(p.Tool)
		d.bytes(p.Args)
		d.text(string(p.Outcome))
		d.bool(p.Data != nil) // a part without data may have a URL
		d.bytes(p.Data)
		d.text(p.MediaType)
		d.text(p.URL)
		d.text(p.Name)
		d.text(p.Provider)
		d.bytes(p.Signature)
	}
}

// call returns the number of a call id, or 0 for an empty one.
func (d *digester) call(id string) int64 {
	if id == "" {
		return 0
	}
	n, ok := d.calls[id]
	if !ok {
		n = len(d.calls) + 1
		d.calls[id] = n
	}
	return int64(n)
}

// pairs writes a map sorted by key.
func pairs[V any](d *digester, m map[string]V, value func(V)) {
	d.int(int64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		d.text(k)
		value(m[k])
	}
}

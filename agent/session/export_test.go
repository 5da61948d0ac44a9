// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// filled returns a store with sessions of all kinds.
func filled(t *testing.T) *session.Memory {
	t.Helper()
	ctx := t.Context()
	m := new(session.Memory)
	at := time.Date(2024, 1, 2, 3, 4, 5, 678, time.UTC)
	for i, id := range []string{"a", "b", "empty"} {
		n := session.New{ID: id, Title: "Titel <" + id + ">", Dir: "/repo", Created: at.Add(time.Duration(i)), Values: map[string]json.RawMessage{"mode": json.RawMessage(`{"a":1}`)}}
		_, err := m.Create(ctx, n)
		require.NoError(t, err)
		if id == "empty" {
			continue
		}
		l, err := m.Acquire(ctx, id, session.Claim{Holder: "me"})
		require.NoError(t, err)
		_, err = m.Append(ctx, l, 0, session.Batch{Entries: []session.Entry{{Time: at, Kind: session.KindMessage, Run: "r", Key: "prompt", Data: json.RawMessage(`{"html":"<&>\u2028","n":12345678901234567890.10}`)},
			{Time: at, Kind: session.KindView, Key: "plan", Data: json.RawMessage("{ \"spaces\":\n[1, 2] }")},
			{Time: at, Kind: session.KindStep, Run: "r", Data: json.RawMessage(`{"op":"tool"}`)},
			{Seq: 9, Time: at.Add(time.Hour), Kind: session.KindEnd, Run: "r"},
			{Time: at, Kind: "new kind", Data: json.RawMessage(`null`)}}})
		require.NoError(t, err)
		require.NoError(t, m.Release(ctx, l))
	}
	_, err := m.Fork(ctx, "a", 2, session.New{ID: "fork", Created: at.Add(time.Minute)})
	require.NoError(t, err)
	return m
}

func export(t *testing.T, s session.Store, ids ...string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, session.Export(t.Context(), s, &b, ids...))
	return b.String()
}

// busy is a store to which another process appends when an export begins.
type busy struct {
	*session.Memory
	append func()
}

func (b *busy) Get(ctx context.Context, id string) (session.Info, error) {
	i, err := b.Memory.Get(ctx, id)
	b.append()
	return i, err
}

// What takes the place of the last entries while a session is exported goes with it, and what is new does not.
func TestSessionIsExportedWhileItIsWritten(t *testing.T) {
	m := new(session.Memory)
	_, err := m.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	l, err := m.Acquire(t.Context(), "a", session.Claim{Holder: "me"})
	require.NoError(t, err)
	head := int64(0)
	write := func(kind session.Kind, key string) func() {
		return func() {
			head, err = m.Append(t.Context(), l, head, session.Batch{Entries: []session.Entry{{Kind: kind, Run: "r", Key: key, Data: json.RawMessage(`1`)}}})
			require.NoError(t, err)
		}
	}
	write(session.KindView, "one")()
	write(session.KindView, "two")()
	for _, key := range []string{"two", "three"} {
		text := export(t, &busy{m, write(session.KindMessage, key)}, "a")
		done, err := session.Import(t.Context(), new(session.Memory), strings.NewReader(text), session.ImportOptions{})
		require.NoError(t, err)
		require.Equal(t, 2, done.Entries, key)
	}
}

// fleeting is a store from which a session is removed once it was listed, or once it was described.
type fleeting struct {
	*session.Memory
	described bool
}

func (f fleeting) List(ctx context.Context, q session.Query) (session.Page, error) {
	page, err := f.Memory.List(ctx, q)
	if !f.described {
		_ = f.Delete(ctx, "b") // it may be gone
	}
	return page, err
}

func (f fleeting) Get(ctx context.Context, id string) (session.Info, error) {
	info, err := f.Memory.Get(ctx, id)
	if f.described && id == "b" {
		_ = f.Delete(ctx, "b")
	}
	return info, err
}

// A session that is removed while others are exported does not keep them from it.
func TestSessionsAreRemovedWhileOthersAreExported(t *testing.T) {
	for _, described := range []bool{false, true} {
		var file strings.Builder
		err := session.Export(t.Context(), fleeting{filled(t), described}, &file)
		require.Equal(t, described, errors.Is(err, session.ErrNotFound), "half a session is told of")
		other, in := new(session.Memory), strings.NewReader(file.String())
		done, err := session.Import(t.Context(), other, in, session.ImportOptions{SkipDamaged: true})
		require.NoError(t, err)
		require.Subset(t, done.Sessions, []string{"fork", "empty", "a"})
		require.Len(t, done.Damaged, map[bool]int{true: 1}[described])
	}
	err := session.Export(t.Context(), filled(t), io.Discard, "none")
	require.ErrorIs(t, err, session.ErrNotFound)
}

func TestExportedSessionsAreImportedAsTheyWere(t *testing.T) {
	m := filled(t)
	text := export(t, m)
	for line := range strings.Lines(text) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	other := new(session.Memory)
	done, err := session.Import(t.Context(), other, strings.NewReader(text), session.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"fork", "empty", "b", "a"}, done.Sessions)
	require.Empty(t, done.Damaged)
	for _, id := range done.Sessions {
		want, err := m.Get(t.Context(), id)
		require.NoError(t, err)
		got, err := other.Get(t.Context(), id)
		require.NoError(t, err)
		if id == "fork" {
			require.Equal(t, loaded(t, m, id), loaded(t, other, id))
			require.Empty(t, got.Parent)
			continue
		}
		require.Equal(t, want, got)
		require.Equal(t, entries(t, m, id), entries(t, other, id))
	}
	require.Equal(t, strings.ReplaceAll(text, `,"parent":"a","forked_at":2`, ""), strings.ReplaceAll(export(t, other), `"size":68`, `"size":0`))
	require.Equal(t, 2, strings.Count(export(t, m, "b"), `"key"`))
}

func entries(t *testing.T, s session.Store, id string) (all []session.Entry) {
	t.Helper()
	for e, err := range s.Load(t.Context(), id, 0) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

func TestImportNamesDamagedLines(t *testing.T) {
	text := export(t, filled(t), "a", "b")
	lines := strings.SplitAfter(text, "\n")
	for name, c := range map[string]struct {
		line    int // from 1
		damage  func(line string) string
		entries int
	}{
		"cut off":                  {3, func(l string) string { return l[:len(l)/2] + "\n" }, 5},
		"not JSON":                 {3, func(string) string { return "nonsense\n" }, 5},
		"neither":                  {3, func(string) string { return "{\"v\":1}\n" }, 5},
		"a number twice":           {3, func(string) string { return lines[1] }, 5},
		"too long":                 {3, func(string) string { return `{"v":1,"kind":"view","data":"` + strings.Repeat("x", 3000) + "\"}\n" }, 5},
		"the session":              {1, func(string) string { return "{\"v\":1,\"session\":{\"id\":7}}\n" }, 4},
		"a session that is no one": {1, func(string) string { return "{\"v\":1,\"session\":{\"id\":\"\"}}\n" }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := append([]string(nil), lines...)
			damaged[c.line-1] = c.damage(damaged[c.line-1])
			input := strings.Join(damaged, "")

			strict := new(session.Memory)
			_, err := session.Import(t.Context(), strict, strings.NewReader(input), session.ImportOptions{MaxLine: 2000})
			var bad *session.LineError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, c.line, bad.Line)
			require.ErrorIs(t, err, session.ErrCorrupt)
			page, err := strict.List(t.Context(), session.Query{})
			require.NoError(t, err)
			require.Empty(t, page.Sessions, "half a session is kept")

			lax := new(session.Memory)
			done, err := session.Import(t.Context(), lax, strings.NewReader(input), session.ImportOptions{SkipDamaged: true, MaxLine: 2000})
			require.NoError(t, err)
			require.Equal(t, c.entries, done.Entries)
			require.Equal(t, c.line, done.Damaged[0].Line)
		})
	}
}

// A line that cannot be read may have begun another session: what follows is not the one's before.
func TestImportKeepsSessionsApart(t *testing.T) {
	m := filled(t)
	for _, id := range []string{"a", "b"} {
		prompt := session.Item{ID: "of " + id, Kind: session.ItemPrompt, Data: json.RawMessage(`1`)}
		_, err := m.Put(t.Context(), id, prompt)
		require.NoError(t, err)
	}
	l, err := m.Acquire(t.Context(), "b", session.Claim{})
	require.NoError(t, err)
	later := []session.Entry{{Kind: session.KindView, Key: "later", Data: json.RawMessage(`"of b"`)}}
	_, err = m.Append(t.Context(), l, l.Head, session.Batch{Entries: later})
	require.NoError(t, err)
	a, b, last := export(t, m, "a"), export(t, m, "b"), export(t, m, "empty")
	begin, rest, _ := strings.Cut(b, "\n")
	for name, damaged := range map[string]string{
		"cut off": begin[:len(begin)/2] + "\n", "nonsense": "nonsense\n", "gone": "",
		"too long":     begin + strings.Repeat(" ", 3000) + "\n",
		"another name": strings.Replace(begin, `"session"`, `"sassion"`, 1) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			lax := new(session.Memory)
			o := session.ImportOptions{SkipDamaged: true, MaxLine: 2000}
			text := a + damaged + rest + last
			done, err := session.Import(t.Context(), lax, strings.NewReader(text), o)
			require.NoError(t, err)
			require.Equal(t, []string{"a", "empty"}, done.Sessions)
			bad := 1 + strings.Count(a, "\n")
			require.Equal(t, bad, done.Damaged[0].Line)
			require.Equal(t, a, export(t, lax, "a"))
			require.Equal(t, last, export(t, lax, "empty"))
			if damaged == "" {
				return
			}
			strict := new(session.Memory)
			o.SkipDamaged = false
			done, err = session.Import(t.Context(), strict, strings.NewReader(text), o)
			require.ErrorContains(t, err, fmt.Sprintf("session: import: line %d: ", bad))
			require.Equal(t, []string{"a"}, done.Sessions)
			require.Equal(t, a, export(t, strict, "a"), "a session that was complete stays")
		})
	}
}

func TestImportNoticesMissingEnd(t *testing.T) {
	text := export(t, filled(t), "a")
	text = text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
	_, err := session.Import(t.Context(), new(session.Memory), strings.NewReader(text), session.ImportOptions{})
	require.ErrorContains(t, err, "cut off")
	done, err := session.Import(t.Context(), new(session.Memory), strings.NewReader(text), session.ImportOptions{SkipDamaged: true})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, done.Sessions)
	require.Len(t, done.Damaged, 1)
}

func TestImportRefusesNewerVersions(t *testing.T) {
	_, err := session.Import(t.Context(), new(session.Memory), strings.NewReader(`{"v":2,"kind":"view"}`), session.ImportOptions{SkipDamaged: true})
	require.ErrorIs(t, err, session.ErrVersion)
}

func TestImportKeepsSessionsThatExist(t *testing.T) {
	m := filled(t)
	text := export(t, m, "a")
	_, err := session.Import(t.Context(), m, strings.NewReader(text), session.ImportOptions{})
	require.ErrorIs(t, err, session.ErrExists)
	require.Equal(t, text, export(t, m, "a"))
}

// sink is a store that forgets entries, and notes how much it was given at a time.
type sink struct {
	session.Memory
	entries, most, bytes int
}

func (s *sink) Append(_ context.Context, _ session.Lease, _ int64, b session.Batch) (int64, error) {
	size := 0
	for _, e := range b.Entries {
		size += len(e.Data)
	}
	s.entries, s.most, s.bytes = s.entries+len(b.Entries), max(s.most, len(b.Entries)), max(s.bytes, size)
	return b.Entries[len(b.Entries)-1].Seq, nil
}

func TestImportNeedsLittleMemory(t *testing.T) {
	for _, size := range []int{10, 32 << 10} {
		const n = 900
		r, w := io.Pipe()
		go func() {
			fmt.Fprintf(w, `{"v":1,"session":{"id":"a","created":"2024-01-02T03:04:05Z","updated":"2024-01-02T03:04:05Z","head":%d}}`+"\n", n)
			data := strings.Repeat("x", size)
			for i := range n {
				fmt.Fprintf(w, `{"v":1,"seq":%d,"kind":"view","data":"%s"}`+"\n", i+1, data)
			}
			w.Close()
		}()
		var s sink
		done, err := session.Import(t.Context(), &s, r, session.ImportOptions{})
		require.NoError(t, err)
		require.Equal(t, n, done.Entries)
		require.Equal(t, n, s.entries)
		require.LessOrEqual(t, s.most, 256, "entries at a time")
		require.LessOrEqual(t, s.bytes, 1<<20+size+2, "bytes at a time")
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"v":1,"session":{"id":"a","head":1}}` + "\n" + `{"v":1,"seq":1,"kind":"view","data":{"a":1}}`))
	f.Add([]byte(`{"v":1,"seq":1,"kind":"view","text":" 1 "}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(session.Memory)
		done, err := session.Import(t.Context(), m, bytes.NewReader(data), session.ImportOptions{SkipDamaged: true, MaxLine: 1 << 16})
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		require.NoError(t, session.Export(t.Context(), m, &first, append(done.Sessions, "none")[:len(done.Sessions)]...))
		if len(done.Sessions) == 0 {
			return
		}
		again := new(session.Memory)
		_, err = session.Import(t.Context(), again, bytes.NewReader(first.Bytes()), session.ImportOptions{})
		require.NoError(t, err)
		require.NoError(t, session.Export(t.Context(), again, &second, done.Sessions...))
		require.Equal(t, first.String(), second.String())
	})
}

// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

func media(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(dir, "media"))
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// image returns an entry with a long string.
func image(kind session.Kind, key, fill string) session.Entry {
	data, _ := json.Marshal(map[string]any{"kind": "media", "data": strings.Repeat(fill, 300<<10/len(fill)), "after": 1})
	return session.Entry{Kind: kind, Run: "r", Key: key, Data: data}
}

func TestMediaAreKeptOutsideOfRows(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	for _, id := range []string{"a", "b"} {
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
	}
	a, err := session.Open(t.Context(), s, "a", session.Claim{})
	require.NoError(t, err)
	b, err := session.Open(t.Context(), s, "b", session.Claim{})
	require.NoError(t, err)
	for _, w := range []*session.Writer{a, a, b} {
		_, err := w.Append(t.Context(), image(session.KindValue, "", "one"))
		require.NoError(t, err)
	}
	require.Len(t, media(t, dir), 1, "the same image is kept once")
	_, err = a.Append(t.Context(), image(session.KindMessage, "k", "two"), image(session.KindStep, "", "three"))
	require.NoError(t, err)
	require.Len(t, media(t, dir), 3)
	require.NoError(t, s.Compact(t.Context()))
	info, err := os.Stat(filepath.Join(dir, "sessions.db"))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(200<<10))

	var got [][]byte
	for e, err := range s.Load(t.Context(), "a", 0) {
		require.NoError(t, err)
		got = append(got, e.Data)
	}
	require.Len(t, got, 4)
	require.True(t, bytes.Equal(image("x", "", "two").Data, got[2]))

	// Files go when nobody needs them.
	_, err = a.Append(t.Context(), session.Entry{Kind: session.KindMessage, Run: "r", Key: "k", Data: []byte(`1`)}, session.Entry{Kind: session.KindEnd, Run: "r"})
	require.NoError(t, err)
	require.Len(t, media(t, dir), 1)
	require.NoError(t, a.Close(t.Context()))
	require.NoError(t, s.Delete(t.Context(), "a"))
	require.Len(t, media(t, dir), 1, "the other session has it")
	_, err = s.Fork(t.Context(), "b", 1, session.New{ID: "c"})
	require.NoError(t, err)
	require.NoError(t, b.Close(t.Context()))
	require.NoError(t, s.Delete(t.Context(), "b"))
	require.Len(t, media(t, dir), 1, "the fork has it")
	require.NoError(t, s.Delete(t.Context(), "c"))
	require.Empty(t, media(t, dir))
}

// An entry whose long string cannot be written is not appended, nor are those with it, and it can be appended later.
func TestMediaThatCannotBeWrittenAreNotLost(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	fill(t, s, 1, 2)
	w, err := session.Open(t.Context(), s, "s0", session.Claim{})
	require.NoError(t, err)
	both := []session.Entry{value("before"), image(session.KindValue, "", "x")}
	at, away := filepath.Join(dir, "media"), filepath.Join(dir, "away")
	require.NoError(t, os.Rename(at, away))
	_, err = w.Append(t.Context(), both...)
	require.ErrorContains(t, err, "media")
	good, damaged, _ := count(t, s, "s0")
	require.Equal(t, []int{2, 0}, []int{good, damaged})

	require.NoError(t, os.Rename(away, at))
	require.Empty(t, media(t, dir))
	_, err = w.Append(t.Context(), both...)
	require.NoError(t, err)
	good, damaged, _ = count(t, s, "s0")
	require.Equal(t, []int{4, 0}, []int{good, damaged})
	require.Len(t, media(t, dir), 1)
	require.NoError(t, w.Close(t.Context()))
}

func TestMissingMediaIsNamed(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	fill(t, s, 1, 2)
	w, err := session.Open(t.Context(), s, "s0", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), image(session.KindValue, "", "x"), value("after"))
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	path := filepath.Join(dir, "media", media(t, dir)[0])
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, damage := range []func() error{
		func() error { data[77] ^= 1; return os.WriteFile(path, data, 0o600) },
		func() error { return os.Truncate(path, 100) },
		func() error { return os.Remove(path) },
	} {
		require.NoError(t, damage())
		good, damaged, last := count(t, s, "s0")
		require.Equal(t, 3, good)
		require.Equal(t, 1, damaged)
		require.ErrorContains(t, last, "entry 3")
	}
}

func TestCompactLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	s := store(t, dir)
	fill(t, s, 2, 20)
	w, err := session.Open(t.Context(), s, "s0", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), value("a secret of s0"), image(session.KindValue, "", "secret"))
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "media", strings.Repeat("0", 64)), []byte("left by a killed process"), 0o600))
	done, err := session.Purge(t.Context(), s, session.Query{Dir: ""})
	require.NoError(t, err)
	require.Len(t, done.Removed, 2)
	require.Empty(t, media(t, dir))
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), "secret", path)
		require.NotContains(t, string(data), "s1.3", path)
		return err
	}))
	fill(t, s, 1, 1)
}

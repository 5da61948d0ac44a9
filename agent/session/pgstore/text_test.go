// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// Texts that Postgres cannot have are written in another form and read as they were. What nobody has written is read as it is.
func TestTextsAreReadAsTheyWere(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain é": "plain é", "\x00": "\ue0000", "a\x00b\x00": "a\ue0000b\ue0000", "\ue000": "\ue0001", "\ue0000": "\ue00010", "\xff": "\ue0002ff", "a\xffé\x00\xfe\ue000z": "a\ue0002ffé\ue0000\ue0002fe\ue0001z", "\xc3": "\ue0002c3", "\ufffd": "\ufffd",
	} {
		require.Equal(t, want, toText(text), "%q", text)
		require.Equal(t, text, fromText(want), "%q", text)
	}
	for text, want := range map[string]string{"\ue0002": "", "\ue0002f": "f", "\ue0002zz": "zz", "x\ue0002ff\ue0000": "x\xff\x00", "\ue000x": "\ue000x"} {
		require.Equal(t, want, fromText(text), "%q", text)
	}
	values := map[string]json.RawMessage{"a\x00": json.RawMessage("\"\xff\""), "b": nil, "c": json.RawMessage(`{"x":1}`)}
	text, err := encodeValues(values)
	require.NoError(t, err)
	require.Equal(t, `{"a`+"\ue000"+`0":"\"`+"\ue000"+`2ff\"","c":"{\"x\":1}"}`, text)
	got, err := decodeValues(text)
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"a\x00": json.RawMessage("\"\xff\""), "c": json.RawMessage(`{"x":1}`)}, got)
	text, err = encodeChanges(values)
	require.NoError(t, err)
	require.Equal(t, `{"a`+"\ue000"+`0":"\"`+"\ue000"+`2ff\"","b":null,"c":"{\"x\":1}"}`, text)
	got, err = decodeValues(`{}`)
	require.NoError(t, err)
	require.Nil(t, got)
	_, err = decodeValues(`{`)
	require.ErrorIs(t, err, session.ErrCorrupt)
}

// What takes the place of an entry is a message with its run and key, or the end of its run.
func TestPlacesOfEntries(t *testing.T) {
	told := func(p *string) string {
		if p == nil {
			return "none"
		}
		return *p
	}
	for _, c := range []struct {
		e                session.Entry
		place, key, ends string
	}{
		{session.Entry{Kind: session.KindMessage, Run: "r", Key: "k"}, "key 1 r k", "key 1 r k", "none"}, {session.Entry{Kind: session.KindMessage, Run: "r"}, "none", "none", "none"},
		{session.Entry{Kind: session.KindView, Run: "r\x00", Key: "k\x00"}, "key 5 r\ue0000 k\ue0000", "none", "none"}, {session.Entry{Kind: session.KindView}, "none", "none", "none"},
		{session.Entry{Kind: session.KindStep, Run: "r\x00", Key: "k"}, "run r\ue0000", "none", "none"}, {session.Entry{Kind: session.KindEnd, Run: "r\x00", Key: "k"}, "none", "none", "r\ue0000"},
		{session.Entry{Kind: session.KindValue, Run: "r", Key: "k"}, "none", "none", "none"},
	} {
		key, ends := clears(&c.e)
		require.Equal(t, []string{c.place, c.key, c.ends}, []string{told(place(&c.e)), told(key), told(ends)}, "%+v", c.e)
	}
}

// A transaction has up to 64 appends and 8 MiB, or one append.
func TestTransactionsAreBounded(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  int
	}{
		{nil, 0}, {[]int{1}, 1}, {[]int{9 << 20}, 1}, {[]int{4 << 20, 4 << 20}, 2}, {[]int{4 << 20, 4<<20 + 1}, 1}, {[]int{9 << 20, 1}, 1}, {[]int{8 << 20, 0, 1}, 2}, {make([]int, 63), 63}, {make([]int, 64), 64}, {make([]int, 65), 64},
	} {
		var all commits
		for _, size := range c.sizes {
			all.waiting = append(all.waiting, &commit{addition: &addition{size: size}})
		}
		require.Equal(t, c.want, all.next(), "%v", c.sizes)
	}
}

// A lease that its holder could not give back is owed until the server says something.
func TestLeasesAreOwedUntilTheServerAnswers(t *testing.T) {
	var d debts
	away := errors.New("connection lost")
	require.False(t, d.isOwed(1, away))
	require.False(t, d.isOwed(2, away))
	require.True(t, d.isOwed(1, away))
	require.True(t, d.isOwed(1, nil))
	require.False(t, d.isOwed(1, nil))
	require.True(t, d.isOwed(2, nil))
	require.False(t, d.isOwed(2, nil))
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// seenOf is a document of a file with so many bytes on disk and in the editor.
func seenOf(disk, buffer int) *ws.Document {
	return &ws.Document{Disk: &ws.Side{Exists: true, Data: make([]byte, disk)}, Buffer: &ws.Side{Exists: true, Data: make([]byte, buffer)}}
}

func (s *seenFiles) kept() string {
	var paths []string
	for _, d := range s.recent {
		paths = append(paths, d.path)
	}
	return strings.Join(paths, " ")
}

// The last four files are kept, and eight megabytes of them: the oldest ones go first.
func TestLastFilesThatWereSeenAreKept(t *testing.T) {
	var s seenFiles
	require.Nil(t, s.get("a"))
	for _, path := range []string{"a", "b", "c", "d"} {
		s.put(path, seenOf(1, 1))
	}
	require.Equal(t, "a b c d", s.kept())
	again := seenOf(2, 2)
	s.put("a", again)
	require.Equal(t, "b c d a", s.kept(), "a file that is seen again is the youngest")
	require.Same(t, again, s.get("a"))
	s.put("e", seenOf(1, 1))
	require.Equal(t, "c d a e", s.kept())
	require.Nil(t, s.get("b"))

	const mega = 1 << 20
	for _, c := range []struct {
		sizes []int // in megabytes, of files of which half is on disk
		more  int   // bytes of the last one
		want  string
	}{
		{[]int{8}, 0, "0"},
		{[]int{8}, 1, ""},
		{[]int{2, 4, 2}, 0, "0 1 2"},
		{[]int{2, 4, 2}, 1, "1 2"},
		{[]int{6, 1, 3}, 0, "1 2"},
		{[]int{1, 6, 3}, 0, "2"},
		{[]int{1, 6, 2}, 0, "1 2"},
		{[]int{2, 2, 2, 2}, 1, "1 2 3"},
		{[]int{2, 2, 8}, 0, "2"},
		{[]int{2, 2, 8}, 1, "0 1"},
	} {
		var s seenFiles
		for i, size := range c.sizes {
			more := 0
			if i == len(c.sizes)-1 {
				more = c.more
			}
			s.put(fmt.Sprint(i), seenOf(size*mega/2, size*mega/2+more))
		}
		require.Equal(t, c.want, s.kept(), "%v", c)
	}
	s = seenFiles{}
	s.put("a", seenOf(1, 1))
	s.put("a", seenOf(8*mega, 1))
	require.Nil(t, s.get("a"), "what was seen before does not hold any more")
	s.put("a", &ws.Document{Disk: &ws.Side{Data: make([]byte, 8*mega)}})
	require.NotNil(t, s.get("a"), "a side that is not known has no size")
	s.put("a", &ws.Document{Buffer: &ws.Side{Data: make([]byte, 8*mega+1)}})
	require.Nil(t, s.get("a"))
}

// Of 4,096 files it is known what the editor had of them. Then it is forgotten of all.
func TestTextsThatEditorsHadAreKnown(t *testing.T) {
	var s seenFiles
	one := func(n int) *ws.Document {
		return &ws.Document{Disk: &ws.Side{Exists: true, Data: fmt.Append(nil, n)}, Buffer: &ws.Side{Exists: true, Data: fmt.Append(nil, n)}}
	}
	outdated := func(n int) bool { return s.outdated(fmt.Sprint(n), fmt.Append(nil, n)) }
	for n := range 4096 {
		s.put(fmt.Sprint(n), one(n))
	}
	require.True(t, outdated(0))
	require.True(t, outdated(4095))
	require.False(t, s.outdated("0", []byte("1")), "another text")
	require.False(t, s.outdated("none", []byte("0")))
	s.put("disk", &ws.Document{Disk: &ws.Side{Exists: true}})
	s.put("buffer", &ws.Document{Buffer: &ws.Side{Exists: true}})
	require.True(t, outdated(0), "of a file with one side nothing is noted")
	require.False(t, s.outdated("buffer", nil))
	s.put("4096", one(4096))
	require.False(t, outdated(0))
	require.True(t, outdated(4096))

	require.False(t, s.otherwise("none", &ws.Side{Data: []byte("x")}))
	require.False(t, s.otherwise("4096", &ws.Side{Data: []byte("4096")}))
	require.True(t, s.otherwise("4096", &ws.Side{Data: []byte("x")}))

	unsaved := one(1)
	unsaved.Unsaved = true
	s.put("1", unsaved)
	require.False(t, outdated(1), "it was never on disk")
	require.False(t, s.otherwise("1", &ws.Side{Data: []byte("1")}))
}

// What the agent has written is known as its own, unless the editor has made something else of it.
func TestTextsThatTheAgentHasWrittenAreKnown(t *testing.T) {
	var s seenFiles
	there := &ws.Document{Buffer: &ws.Side{Exists: true, Data: []byte("new")}}
	s.wrote("a", there, []byte("new"))
	require.True(t, s.ours("a", []byte("new")))
	require.False(t, s.ours("a", []byte("newer")))
	require.False(t, s.ours("b", []byte("new")))
	require.Same(t, there, s.get("a"))
	require.True(t, s.outdated("a", []byte("new")))
	s.wrote("a", there, []byte("other"))
	require.False(t, s.ours("a", []byte("new")), "the editor has formatted it")
	require.True(t, s.outdated("a", []byte("new")))
	s.wrote("a", &ws.Document{Buffer: &ws.Side{Exists: true, Data: []byte("new")}, Disk: &ws.Side{}, Unsaved: true}, []byte("new"))
	require.True(t, s.ours("a", []byte("new")))
	require.False(t, s.outdated("a", []byte("new")), "it is not on disk")
	s.put("a", seenOf(0, 0))
	require.False(t, s.ours("a", nil), "only looked at")
}

// Of each kind of file it is remembered how the editor shows it. Plain text needs no memory.
func TestKindsOfFilesAreTold(t *testing.T) {
	kinds := map[string]fileKind{
		"":                        {},
		"plain\ntext é\n":         {},
		"one\r\n":                 {crlf: true},
		"one\r":                   {cr: true},
		"one\r\ntwo\r":            {crlf: true, cr: true},
		"one\r\r\n":               {crlf: true, cr: true},
		"\ufeffone\n":             {bom: true},
		"one\ufeff\n":             {},
		"one\x00\n":               {nul: true, encoding: "none"},
		"\x00one":                 {nul: true, encoding: "none"},
		"\xff\xfeo\x00n\x00e\x00": {nul: true, encoding: "UTF-16 LE"},
	}
	for text, want := range kinds {
		got := kindOf([]byte(text))
		if want.encoding != "" && want.encoding != "none" {
			require.NotEmpty(t, got.encoding, "%q", text)
			require.NotEqual(t, "none", got.encoding, "%q", text)
			want.encoding = got.encoding
		}
		require.Equal(t, want, got, "%q", text)
		var s seenFiles
		bypass, known := s.kind([]byte(text))
		require.Empty(t, bypass)
		require.Equal(t, want == fileKind{}, known, "%q", text)
		doc := &ws.Document{
			Disk: &ws.Side{Exists: true, Data: []byte(text)}, Buffer: &ws.Side{Exists: true, Data: []byte("x")}, Faithful: ws.FaithNo, Bypass: "it is so",
		}
		for _, unlike := range []func(*ws.Document){
			func(d *ws.Document) { d.Disk = &ws.Side{Data: d.Disk.Data} }, func(d *ws.Document) { d.Buffer = &ws.Side{Data: d.Buffer.Data} },
			func(d *ws.Document) { d.Unsaved = true }, func(d *ws.Document) { d.Faithful = ws.FaithUnknown }, func(d *ws.Document) { d.Buffer = nil },
		} {
			other := *doc
			unlike(&other)
			s.put("a", &other)
			_, known = s.kind([]byte(text))
			require.Equal(t, want == fileKind{}, known, "nothing follows from that file: %q", text)
		}
		s.put("a", doc)
		bypass, known = s.kind([]byte(text))
		require.True(t, known)
		if want == (fileKind{}) {
			require.Empty(t, bypass)
			continue
		}
		require.Equal(t, "it is so", bypass, "%q", text)
		for other, kind := range kinds {
			if _, known := s.kind([]byte(other)); kind.encoding == "" {
				require.Equal(t, kind == want || kind == fileKind{}, known, "%q does not tell of %q", text, other)
			}
		}
		doc = &ws.Document{Disk: doc.Disk, Buffer: doc.Buffer, Faithful: ws.FaithYes}
		s.put("b", doc)
		bypass, known = s.kind([]byte(text))
		require.True(t, known)
		require.Empty(t, bypass, "what was seen last counts")
	}
}

// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/memory"
)

// What a search shows: of a note that is named all that is read, of others 2 KiB, without a name 32 KiB and ten notes, and the names for more.
func TestSearchesAreShownInPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	put := func(notes map[string]string) memory.Store {
		s := new(memory.Map)
		for name, text := range notes {
			require.NoError(t, s.Put(t.Context(), name, text, ""))
		}
		return s
	}
	longer := func(name string) string {
		return "[The note is longer. Search for \"" + name + "\" to read more of it.]"
	}
	for _, c := range []struct {
		notes       map[string]string
		query, want string
	}{
		{map[string]string{"a": "tea"}, "coffee", "No matching notes. Try a different query."},
		{map[string]string{"a": "Tea.\n"}, "tea", "# Note a\nTea."},
		{map[string]string{"a": "tea", "b": "tea"}, "TEA", "# Note a\ntea\n\n# Note b\ntea"},
		{map[string]string{"a": x(2 << 10)}, "x", "# Note a\n" + x(2<<10)},
		{map[string]string{"a": x(2<<10 + 1)}, "x", "# Note a\n" + x(2<<10) + "\n" + longer("a")},
		{map[string]string{"a": x(8 << 10)}, " A ", "# Note a\n" + x(8<<10)},
		{map[string]string{"tea b": "one", "a": "tea tea"}, "tea", "# Note tea b\none\n\n# Note a\ntea tea"},
		{map[string]string{"a": strings.Repeat("tea ", 20), "b": strings.Repeat("tea ", 30)}, "tea", "# Note a\n" + strings.Repeat("tea ", 20) + "\n\n# Note b\n" + strings.TrimRight(strings.Repeat("tea ", 30), "\n")},
		{map[string]string{"a": "tea", "b": "tea tea", "c": "tea coffee"}, "tea coffee", "# Note c\ntea coffee\n\n# Note b\ntea tea\n\n# Note a\ntea"},
	} {
		_, told := run(t, memory.Options{}, put(c.notes), nil, search(c.query))
		require.Equal(t, c.want, told[0], "%.100v", c.notes)
	}
	for n, more := range map[int]string{10: "", 11: "[1 more notes fit. Use more words, or the name of a note.]", 25: "[15 more notes fit. Use more words, or the name of a note.]"} {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("n%02d", i)] = "tea"
		}
		_, told := run(t, memory.Options{}, put(all), nil, search("tea"))
		require.Equal(t, 10, strings.Count(told[0], "# Note "))
		require.True(t, strings.HasSuffix(told[0], more))
		require.Equal(t, more != "", strings.Contains(told[0], "more notes fit"))
	}
}

// The list of notes has their names with the first line that says anything, cut at 200 bytes, and as many as fit.
func TestListsOfNotesHaveFirstLines(t *testing.T) {
	s := new(memory.Map)
	for name, text := range map[string]string{"a": "\n# - * Tea\nmore", "b": "", "c": "##\n \nsecond", "d": strings.Repeat("x", 300)} {
		require.NoError(t, s.Put(t.Context(), name, text, ""))
	}
	requests, _ := run(t, memory.Options{}, s, nil)
	list := requests[0].Instructions
	_, list, _ = strings.Cut(list, "project's files.\n")
	require.Contains(t, list, "\n- a: Tea\n- b\n- c: second\n- d: xxx")
	require.Less(t, len(list), 260)
	whole := "\n" + list // with the line that begins the list
	for at, more := range map[int]string{len(whole): "", len(whole) - 1: "\n[1 more: search for them.]", 0 + len("\n\n- a: Tea"): "\n[3 more: search for them.]", 2: "\n[4 more: search for them.]"} {
		requests, _ := run(t, memory.Options{MaxList: at}, s, nil)
		require.True(t, strings.HasSuffix(requests[0].Instructions, more), "%d: %.400s", at, requests[0].Instructions)
		require.Equal(t, more != "", strings.Contains(requests[0].Instructions, "more: search"), at)
	}
	requests, _ = run(t, memory.Options{}, new(memory.Map), nil)
	require.True(t, strings.HasSuffix(requests[0].Instructions, "information that is in the project's files. There are no notes yet."))
}

// What the model is told of changes, word for word.
func TestChangesOfNotesAreToldInWords(t *testing.T) {
	s := new(memory.Map)
	x := func(n int) string { return strings.Repeat("x", n) }
	_, told := run(t, memory.Options{Unasked: true}, s, nil, save("tea", "one"), save("tea", "two"), remove("tea"), remove("tea"), remove(x(64)), save("a/b", "x"), save(x(64), x(8192)), save("long", "é"+x(8191)))
	require.Equal(t, []string{
		"Saved the note tea.", "Saved the note tea.", "Removed the note tea.", `Unknown note "tea".`, `Unknown note "` + x(64) + `".`,
		`name: a name has 1 to 64 letters, digits, blanks and characters of "-_.", and does not begin or end with a blank or a dot`, "Saved the note " + x(64) + ".",
		"text: a note has at most 8192 bytes; this one has 8193. Shorten it, or write several",
	}, told)
	_, told = run(t, memory.Options{Unasked: true}, new(racing), nil, save("tea", "one"))
	require.Equal(t, []string{"Nothing was changed: the note has changed since it was last read. Read it with search_notes and try again."}, told)
}

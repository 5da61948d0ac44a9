// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/memory"
)

// Which note comes first: each word of the query counts 200 in a name, and in a text 100 and once for each time that it is there, up to
// 20 times. Of notes with the same score the first by name comes first.
func TestNotesAreOrderedByTheirScores(t *testing.T) {
	tea := func(n int) string { return strings.TrimSpace(strings.Repeat("tea ", n)) }
	for _, c := range []struct {
		notes map[string]string
		query string
		want  string
	}{
		{map[string]string{"a tea": "tea tea", "b": "coffee cake jam"}, "tea coffee cake jam", "b, a tea"},         // 302, 303
		{map[string]string{"a tea": "tea tea tea", "b": "coffee cake jam"}, "tea coffee cake jam", "a tea, b"},     // 303, 303
		{map[string]string{"a tea": "tea tea tea tea", "b": "coffee cake jam"}, "tea coffee cake jam", "a tea, b"}, // 304, 303
		{map[string]string{"a tea": "x", "b": "coffee cake"}, "tea coffee cake", "b, a tea"},                       // 200, 202
		{map[string]string{"a": "coffee cake jam", "b tea": tea(5)}, "tea coffee cake jam", "b tea, a"},            // 303, 305
		{map[string]string{"a": tea(19), "b": tea(20), "c": tea(21), "d": tea(18)}, "tea", "b, c, a, d"},
		{map[string]string{"a": tea(99), "b tea": "x"}, "tea", "b tea, a"},
		{map[string]string{"a tea b": "tea", "tea": "x", "tea tea": "tea"}, "Tea", "tea, a tea b, tea tea"},
		{map[string]string{"b tea": tea(20), "a": tea(20) + " " + strings.Repeat("jam ", 20)}, "tea jam", "b tea, a"}, // 320, 240
		{map[string]string{"a": "TEA", "b": "tea"}, "tEa", "a, b"},
		{map[string]string{"x-y": "nothing", "z": "x-y"}, "  x-Y ", "x-y, z"},
	} {
		s := new(memory.Map)
		for name, text := range c.notes {
			require.NoError(t, s.Put(t.Context(), name, text, ""))
		}
		_, told := run(t, memory.Options{}, s, nil, search(c.query))
		var names []string
		for line := range strings.Lines(told[0]) {
			if name, ok := strings.CutPrefix(line, "# Note "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		require.Equal(t, c.want, strings.Join(names, ", "), "%v", c.notes)
	}
}

// A note is shown as far as there is room, and not at all if there are less than 200 bytes of it.
func TestNotesAreShownWhileThereIsRoom(t *testing.T) {
	const all = 32 << 10
	const rest = "[The note is longer. This is all of it that can be read.]"
	for room, want := range map[int]string{
		201: "# Note b\n" + strings.Repeat("a", 201) + "\n[The note is longer. Search for \"b\" to read more of it.]",
		200: "# Note b\n" + strings.Repeat("a", 200) + "\n[The note is longer. Search for \"b\" to read more of it.]",
		199: "[1 more notes fit. Use more words, or the name of a note.]",
		0:   "[1 more notes fit. Use more words, or the name of a note.]",
	} {
		s := new(memory.Map)
		first := strings.Repeat("a", all-room-len("# Note a\n\n\n"))
		require.NoError(t, s.Put(t.Context(), "a", first, ""))
		require.NoError(t, s.Put(t.Context(), "b", strings.Repeat("a", 3000), ""))
		_, told := run(t, memory.Options{}, s, nil, search("a"))
		require.Equal(t, "# Note a\n"+first+"\n\n"+want, told[0], room)
	}
	for size, more := range map[int]string{all + 1: "", memory.MaxRead: "", memory.MaxRead + 1: "\n" + rest} {
		s := new(memory.Map)
		require.NoError(t, s.Put(t.Context(), "a", strings.Repeat("a", size), ""))
		_, told := run(t, memory.Options{}, s, nil, search("a"))
		require.Equal(t, "# Note a\n"+strings.Repeat("a", min(size, memory.MaxRead))+more, told[0], "a note that is named")
		require.NoError(t, s.Put(t.Context(), "b", "a", ""))
		_, told = run(t, memory.Options{}, s, nil, search("a"))
		require.True(t, strings.HasSuffix(told[0], "\n[1 more notes fit. Use more words, or the name of a note.]"), size)
	}
}

// What a model writes as a name is told in at most 100 bytes.
func TestUnknownNamesAreToldInPart(t *testing.T) {
	for name, want := range map[string]string{
		strings.Repeat("é", 50): strings.Repeat("é", 50), strings.Repeat("é", 51): strings.Repeat("é", 48) + "…", strings.Repeat("日", 33) + "x": strings.Repeat("日", 33) + "x", strings.Repeat("日", 33) + "xy": strings.Repeat("日", 32) + "…",
	} {
		_, told := run(t, memory.Options{Unasked: true}, new(memory.Map), nil, remove(name))
		require.Equal(t, []string{fmt.Sprintf("Unknown note %q.", want)}, told)
	}
}

// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pages that were used last are kept: 16 of them, or 16 MB, and always the last one.
func TestPagesThatAreKept(t *testing.T) {
	mega := strings.Repeat("x", 17<<20)
	kept := func(c *cache) (urls string) {
		size := 0
		for _, p := range c.pages {
			urls += p.url
			size += p.page.size()
		}
		require.Equal(t, size, c.size)
		return urls
	}
	const mb = 1 << 20
	for _, c := range []struct {
		sizes []int // of pages a, b, c ...
		want  string
	}{
		{nil, ""},
		{[]int{1, 2, 3}, "abc"},
		{[]int{16 * mb}, "a"},
		{[]int{17 * mb}, "a"},
		{[]int{1, 17 * mb}, "b"},
		{[]int{17 * mb, 1}, "b"},
		{[]int{8 * mb, 8 * mb}, "ab"},
		{[]int{8 * mb, 8*mb + 1}, "b"},
		{[]int{mb, 8 * mb, 8 * mb}, "bc"},
		{[]int{mb, mb, mb, 16 * mb}, "d"},
		{[]int{mb, mb, mb, 15 * mb}, "cd"},
	} {
		var all cache
		for i, size := range c.sizes {
			all.put(string(rune('a'+i)), &page{text: mega[:size]})
		}
		require.Equal(t, c.want, kept(&all), c.sizes)
	}

	var all cache
	for i := range 20 {
		all.put(string(rune('a'+i)), &page{text: mega[:i+1]})
		require.Len(t, all.pages, min(i+1, 16))
	}
	require.Equal(t, "efghijklmnopqrst", kept(&all))
	for _, c := range []struct{ again, want string }{
		{"e", "fghijklmnopqrste"}, {"h", "fgijklmnopqrsteh"}, {"h", "fgijklmnopqrsteh"},
	} {
		all.put(c.again, &page{text: mega[:100]})
		require.Equal(t, c.want, kept(&all), "read again")
	}
	require.Nil(t, all.get("a"), "it is gone")
	require.Equal(t, 100, all.get("e").size())
	require.Equal(t, "fgijklmnopqrsthe", kept(&all), "it was used last")
}

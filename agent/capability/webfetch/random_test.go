// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/clean"
)

var marked = regexp.MustCompile(`(?s)^Page: [^\n]*\nBytes \d+ to \d+ of \d+, [^\n]*\n\n--- (page-[0-9a-f]{20})\n.*\n--- (page-[0-9a-f]{20})\n`)

// TestRandomPagesAreMarked serves pages that are cut, joined and damaged at random.
func TestRandomPagesAreMarked(t *testing.T) {
	pages := []string{article, "<table><tr><td colspan=9>", "<ul><li><blockquote><pre>`", "\xff\xfe<\x00", "<plaintext>", "<svg><p>", "<!--", "<p hidden>x", "<base href=':'>", "{}", "\u202e\x00\x1b"}
	kinds := []string{"text/html", "text/html; charset=utf-16", "text/plain", "application/xhtml+xml; charset=x", "application/json", "", "image/png", "text/html; charset=shift_jis"}
	rng := rand.New(rand.NewPCG(1, 2))
	var contentType, content string
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, content)
	})
	succeeded := 0
	for range 150 {
		contentType, content = kinds[rng.IntN(len(kinds))], ""
		for range 1 + rng.IntN(4) {
			page := []byte(pages[rng.IntN(len(pages))])
			for range rng.IntN(4) {
				page[rng.IntN(len(page))] = byte(rng.Uint32())
			}
			content += string(page[rng.IntN(len(page)):])
		}
		got := fetched(t, s.options(), s.url("a.test", "/"))
		require.True(t, utf8.ValidString(got.Text))
		require.Equal(t, clean.Text(got.Text), got.Text)
		if got.Outcome == model.OutcomeSuccess {
			succeeded++
			m := marked.FindStringSubmatch(got.Text)
			require.NotNil(t, m, "%q", got.Text)
			require.Equal(t, m[1], m[2])
			require.Equal(t, 2, strings.Count(got.Text, "\n--- "+m[1]+"\n"))
		}
	}
	require.Greater(t, succeeded, 50)
}

// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/webfetch"
)

// asked is a context that ends when it is looked at for the last time.
type asked struct {
	context.Context
	left int
	err  error
}

func (a *asked) Err() error {
	if a.left--; a.left < 0 {
		return a.err
	}
	return nil
}

// A page is no longer read when its run ends, whether its tags are read then or its text is written.
func TestPagesAreReadUntilTheirRunEnds(t *testing.T) {
	page := strings.Repeat("<p>one <b>two</b> three</p>", 3000)
	because := errors.New("because")
	const many = 1 << 20
	ctx := &asked{context.Background(), many, because}
	want, _, cut, err := webfetch.Markdown(ctx, page, somewhere)
	require.NoError(t, err)
	require.False(t, cut)
	require.True(t, strings.HasPrefix(want, "one **two** three\n\n"))
	looks := many - ctx.left
	require.Greater(t, looks, 4)
	for n := range looks {
		text, title, cut, err := webfetch.Markdown(&asked{context.Background(), n, because}, page, somewhere)
		require.Equal(t, because, err, n)
		require.Equal(t, []any{"", "", false}, []any{text, title, cut})
	}
	text, _, _, err := webfetch.Markdown(&asked{context.Background(), looks, because}, page, somewhere)
	require.NoError(t, err)
	require.Equal(t, want, text)
}

// What is written behind an image is written as it is elsewhere.
func TestTextBehindImages(t *testing.T) {
	for page, want := range map[string]string{
		"<p><img src=/s alt=l>(x)":                              "![l](https://page.test/s)(x)",
		"<p>[a](x) <img src=/s alt=l>: y":                       `[a]\(x) ![l](https://page.test/s): y`,
		"<p><img src=/s alt=l># x":                              "![l](https://page.test/s)# x",
		"<p><img src=/s alt=l> b":                               "![l](https://page.test/s) b",
		"<p><img src=/s alt='[l]'><a href=/a>b]</a>c]":          `![\[l\]](https://page.test/s)[b\]](https://page.test/a)c]`,
		"<p><img src=/s alt=l></p><a href=/a>b<pre>c\nd</pre>e": "![l](https://page.test/s)\n\n[b `c d` e](https://page.test/a)",
	} {
		require.Equal(t, want, converted(t, page), page)
	}
}

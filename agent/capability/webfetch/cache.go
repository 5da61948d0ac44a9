// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"slices"
	"sync"
)

// cache keeps the last pages of a run: the next part of a page needs no download and matches the
// first.
type cache struct {
	mu    sync.Mutex
	pages []cached // the last one was used last
	size  int
}

type cached struct {
	url  string
	page *page
}

func (c *cache) get(url string) *page {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.pages, func(e cached) bool { return e.url == url })
	if at < 0 {
		return nil
	}
	found := c.pages[at]
	c.pages = append(slices.Delete(c.pages, at, at+1), found)
	return found.page
}

func (c *cache) put(url string, p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := slices.IndexFunc(c.pages, func(e cached) bool { return e.url == url }); at >= 0 { // two calls at the same time
		c.size -= c.pages[at].page.size()
		c.pages = slices.Delete(c.pages, at, at+1)
	}
	c.pages = append(c.pages, cached{url, p})
	c.size += p.size()
	for len(c.pages) > cacheEntries || c.size > cacheBytes && len(c.pages) > 1 {
		c.size -= c.pages[0].page.size()
		c.pages = slices.Delete(c.pages, 0, 1)
	}
}

func (p *page) size() int { return len(p.text) + len(p.media) }

// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// pageCounter counts the pages of lists.
type pageCounter struct {
	session.Store
	pages, listed atomic.Int64
}

func (c *pageCounter) List(ctx context.Context, q session.Query) (session.Page, error) {
	page, err := c.Store.List(ctx, q)
	c.pages.Add(1)
	c.listed.Add(int64(len(page.Sessions)))
	return page, err
}

// TestListsCostNothingForTheSessionsOfOthers lists and searches the sessions of a user who has few of many.
func TestListsCostNothingForTheSessionsOfOthers(t *testing.T) {
	store := &pageCounter{Store: new(session.Memory)}
	for i := range 3000 {
		n := session.New{Owner: fmt.Sprint("user", i%50), Title: fmt.Sprint("Plan ", i)}
		if i%100 == 0 {
			n.Owner = "ada"
		}
		_, err := store.Create(t.Context(), n)
		require.NoError(t, err)
	}
	s := serve(t, options{host: host.Config[none, string]{Store: durable{store}}, Options: webbridge.Options{User: byHeader}}).as("ada")
	ask := func(query string) (titles []string) {
		next := ""
		for {
			page := s.do("GET", "/api/sessions?"+query+"&cursor="+next, nil, 200)
			for _, one := range page["sessions"].([]any) {
				titles = append(titles, one.(map[string]any)["title"].(string))
			}
			if next = page["next"].(string); next == "" {
				return titles
			}
		}
	}
	cost := func() (pages, listed int64) { return store.pages.Swap(0), store.listed.Swap(0) }
	all := ask("limit=100")
	require.Len(t, all, 30)
	pages, listed := cost()
	require.EqualValues(t, 1, pages, "one request lists them")
	require.EqualValues(t, 30, listed)
	require.Empty(t, ask("q=plan+3500"))
	cost()
	require.ElementsMatch(t, []string{"Plan 500", "Plan 1500", "Plan 2500"}, ask("q=500"))
	pages, _ = cost()
	require.EqualValues(t, 1, pages, "one request searches them")
	require.Len(t, ask("q=00&limit=4"), 29, "pages of a search leave nothing out")
	require.Len(t, ask("limit=7"), 30)
	for q, limit := range map[string]int{"q=00&limit=4": 4, "limit=7": 7, "limit=30": 30, "q=500&limit=3": 3, "q=500&limit=2": 2} {
		require.Len(t, s.do("GET", "/api/sessions?"+q, nil, 200)["sessions"], limit, q)
	}
	require.Empty(t, s.do("GET", "/api/sessions?limit=30", nil, 200)["next"], "a page with all has none after it")
	require.Empty(t, s.as("nobody").do("GET", "/api/sessions", nil, 200)["sessions"])
}

func TestUsersHaveALimitOfSessions(t *testing.T) {
	s := serve(t, options{Options: webbridge.Options{User: byHeader, Limits: webbridge.Limits{UserSessions: 3}}})
	ada, eve := s.as("ada"), s.as("eve")
	var path string
	for range 3 {
		path = ada.create()
	}
	require.Equal(t, "limit", ada.refused("POST", "/api/sessions", object{}, 429))
	require.Equal(t, "limit", ada.refused("POST", path+"/fork", object{}, 429))
	eve.create()
	ada.do("DELETE", path, nil, 204)
	ada.create()
}

// TestUnknownSessionsCostNoMemory asks for sessions that do not exist.
func TestUnknownSessionsCostNoMemory(t *testing.T) {
	h := newHandler(t, options{})
	ask := func(from, to int) {
		for i := from; i < to; i++ {
			id := fmt.Sprint("unknown", i)
			for _, one := range [][2]string{
				{"GET", "/api/sessions/" + id}, {"GET", "/api/sessions/" + id + "/events"}, {"POST", "/api/sessions/" + id + "/prompts"},
				{"POST", "/api/sessions/" + id + "/cancel"}, {"DELETE", "/api/sessions/" + id}, {"GET", "/api/chat/" + id + "/stream"},
			} {
				body := "{}"
				if strings.HasSuffix(one[1], "/prompts") {
					body = `{"parts":[{"text":"x"}]}`
				}
				r := httptest.NewRequestWithContext(t.Context(), one[0], one[1], strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Content-Type", "application/json")
				r.Host = "127.0.0.1:80"
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusNotFound && w.Code != http.StatusNoContent {
					t.Fatalf("%s %s is answered with %d %s", one[0], one[1], w.Code, w.Body)
				}
			}
		}
	}
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	ask(0, 100)
	before := used()
	const n = 2000
	ask(100, 100+n)
	grown := used() - before
	t.Logf("%d requests: %d bytes", 6*n, grown)
	require.Less(t, grown, int64(100*n), "bytes that are kept")
}

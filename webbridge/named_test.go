// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// named is a protocol that answers with the session of a name.
type named struct {
	get func(h *webbridge.Handler, r *http.Request) (session.Info, error)
}

func (n named) Register(h *webbridge.Handler) {
	h.Handle("GET /api/named", func(w http.ResponseWriter, r *http.Request) error {
		info, err := n.get(h, r)
		if err == nil {
			_, _ = w.Write([]byte(info.ID))
		}
		return err
	})
}

func TestNamesOfChats(t *testing.T) {
	byHeader := func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }
	s := serve(t, options{Options: webbridge.Options{User: byHeader, Protocols: []webbridge.Protocol{named{
		func(h *webbridge.Handler, r *http.Request) (session.Info, error) {
			return h.Named(r, r.Header.Get("X-Name"), r.Header.Get("X-Create") != "")
		},
	}}}})
	get := func(user, name, create string) (int, string) {
		s := s.as(user)
		s.header.Set("X-Name", name)
		s.header.Set("X-Create", create)
		return s.send(s.request("GET", "/api/named", nil))
	}
	status, _ := get("ada", "notes", "")
	require.Equal(t, 404, status)
	var made sync.WaitGroup
	ids := make(chan string, 8)
	for range 8 { // at the same time
		made.Go(func() {
			_, id := get("ada", "notes", "yes")
			ids <- id
		})
	}
	made.Wait()
	first := <-ids
	for range 7 {
		require.Equal(t, first, <-ids)
	}
	_, again := get("ada", first, "")
	require.Equal(t, first, again, "the id of a session means it")
	_, others := get("eve", "notes", "yes")
	require.NotEqual(t, first, others)
	_, stolen := get("eve", first, "yes")
	require.NotEqual(t, first, stolen, "for her, it is a name like any other")
	_, joined := get("adan", "otes", "yes")
	require.NotEqual(t, first, joined, "user and name are kept apart")
	for name, want := range map[string]int{"": 400, strings.Repeat("x", 257): 400, strings.Repeat("x", 256): 200} {
		status, _ = get("ada", name, "yes")
		require.Equal(t, want, status)
	}
}

func TestDeferredApprovalsEndTheRun(t *testing.T) {
	paid := make(chan string, 4)
	turn := webbridge.Turn{Parts: []model.Part{model.User("pay")}, Defer: true}
	s := serve(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}, Options: webbridge.Options{Protocols: []webbridge.Protocol{named{
		func(h *webbridge.Handler, r *http.Request) (session.Info, error) {
			info, err := h.Named(r, "one", true)
			if err != nil {
				return info, err
			}
			s, done, err := h.Use(r.Context(), info.ID)
			if err != nil {
				return info, err
			}
			defer done()
			g, err := s.Begin(r.Context(), turn)
			for err == nil && g != nil {
				<-g.Done()
				open, wrong := s.Open(r.Context())
				if wrong != nil || len(open) == 0 {
					return info, wrong
				}
				if len(open) != 1 || open[0].Call.Name != "pay" || open[0].Form || open[0].External || open[0].Inside {
					t.Errorf("open: %+v", open)
				}
				g, err = s.Resolve(r.Context(), open[0].Question.ID, host.Answer{Digest: open[0].ID, Choice: host.AllowOnce}, turn)
			}
			return info, err
		},
	}}}})
	status, text := s.send(s.request("GET", "/api/named", nil))
	require.Equal(t, 200, status, text)
	require.Equal(t, "Ada", <-paid)
	require.Equal(t, "Bob", <-paid)
}

// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

func TestSessionIsFreeForOthersAfterItsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := durable{new(session.Memory)}
		h := newHandler(t, options{host: host.Config[none, string]{Store: store}, Options: webbridge.Options{Linger: time.Minute}})
		call := recorded(t, h)
		id := call("POST", "/api/sessions", `{}`, 201)["id"].(string)
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)
		synctest.Wait()
		other := recorded(t, newHandler(t, options{host: host.Config[none, string]{Store: store}}))
		other("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"two"}]}`, 202)
		time.Sleep(time.Minute)
		synctest.Wait()
		_, open, _ := h.Open()
		require.Zero(t, open)
		other("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"three"}]}`, 202)
		time.Sleep(time.Minute)
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

func TestTurnEndsWhenNobodyFollows(t *testing.T) {
	for name, leave := range map[string]time.Duration{"goes on": 0, "ends": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				h := newHandler(t, options{model: g.model(), Options: webbridge.Options{Leave: leave}})
				call := recorded(t, h)
				id := call("POST", "/api/sessions", `{}`, 201)["id"].(string)
				ctx, leaves := context.WithCancel(t.Context())
				go h.ServeHTTP(discard{http.Header{}}, request(ctx, "GET", "/api/sessions/"+id+"/events", ""))
				call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)
				synctest.Wait()
				leaves()
				time.Sleep(time.Minute - time.Nanosecond)
				synctest.Wait()
				ended := metrics(h)
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				require.NotContains(t, ended, "turns_total{")
				if leave == 0 {
					g.answer <- "done"
					synctest.Wait()
					require.Contains(t, metrics(h), `turns_total{reason="done"} 1`)
				} else {
					require.Contains(t, metrics(h), `turns_total{reason="cancelled"} 1`)
				}
				require.NoError(t, h.Shutdown(t.Context()))
			})
		})
	}
}

func TestShutdownLetsTurnsEnd(t *testing.T) {
	g := newGate()
	s := serve(t, options{model: g.model()})
	path := s.create()
	s.do("POST", path+"/prompts", say("one"), 202)
	f := s.follow(path, "")
	<-g.asked
	done := make(chan error)
	go func() { done <- s.handler.Shutdown(context.Background()) }()
	for s.health() == 200 {
		continue
	}
	require.Equal(t, "unavailable", s.refused("POST", "/api/sessions", object{}, 503))
	require.Equal(t, "unavailable", s.refused("POST", path+"/prompts", say("two"), 503))
	require.Equal(t, "unavailable", s.refused("GET", path+"/events", nil, 503))
	g.answer <- "the end"
	f.until(f.has("the end"))
	require.NoError(t, <-done)
	for f.next() {
		continue
	}
	require.Contains(t, f.ended, "shutting down")
}

func TestShutdownCancelsTurnsInTheEnd(t *testing.T) {
	g := newGate()
	s := serve(t, options{model: g.model()})
	path := s.create()
	s.do("POST", path+"/prompts", say("one"), 202)
	<-g.asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.handler.Shutdown(ctx), context.Canceled)
}

// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acphttp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

func TestDeadClientsMakeRoom(t *testing.T) {
	for name, die := range map[string]func(n *network, conn string){
		"before they open a stream": func(*network, string) {},
		"with streams":              func(n *network, conn string) { n.open(-1, conn).close() },
	} {
		t.Run(name, func(t *testing.T) {
			inNetwork(t, nil, func(t *testing.T, n *network) {
				for range 16 {
					die(n, n.begin())
				}
				time.Sleep(time.Second)
				for range 16 {
					defer n.open(-1, n.begin()).close()
				}
				synctest.Wait()
				time.Sleep(time.Hour) // they read nothing
			})
		})
	}
}

func TestLivingClientsKeepTheirPlaces(t *testing.T) {
	inNetwork(t, func(c *acphttp.Config) { c.MaxConnections = 2 }, func(t *testing.T, n *network) {
		streams := []*reading{n.open(-1, n.begin()), n.open(-1, n.begin())}
		for _, r := range streams {
			go func() { _, _ = r.next() }()
		}
		for range 10 {
			time.Sleep(time.Minute)
			status, _, header := n.ask("POST", initialize)
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.Equal(t, "1", header.Get("Retry-After"))
		}
		streams[0].close()
		time.Sleep(time.Second)
		n.begin()
		streams[1].close()
	})
}

func TestAgentMayBeSlowToBegin(t *testing.T) {
	inNetwork(t, func(c *acphttp.Config) {
		c.Serve = func(ctx context.Context, in io.Reader, out io.Writer) error {
			time.Sleep(time.Minute)
			return serveAgent(ctx, in, out)
		}
	}, func(_ *testing.T, n *network) { n.begin() })
}

// lasting is a store in memory that hosts take for one that lasts.
type lasting struct{ session.Store }

// The clients of two connections share a store. The first dies with its session open.
func TestSessionOfADeadClientCanBeLoaded(t *testing.T) {
	store := lasting{new(session.Memory)}
	inNetwork(t, func(c *acphttp.Config) {
		c.Serve = func(ctx context.Context, in io.Reader, out io.Writer) error {
			a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: modeltest.Script(modeltest.SayText("hello"))})
			if err != nil {
				return err
			}
			return acpbridge.Serve(ctx, acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a, Store: store, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{In: in, Out: out}})
		}
	}, func(t *testing.T, n *network) {
		first := n.begin()
		own := n.open(-1, first)
		n.post(first, `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/repo","mcpServers":[]}}`)
		made := own.must()
		var id string
		_, err := fmt.Sscanf(string(made.Result), `{"sessionId":%q`, &id)
		require.NoError(t, err)
		mine := n.open(-1, first, ofSession(id))
		n.post(first, fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`, id))
		for e := mine.must(); string(e.ID) != "3"; e = mine.must() {
		}
		second := n.begin()
		other := n.open(-1, second)
		load := func(number int) event {
			n.post(second, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/load","params":{"sessionId":%q,"cwd":"/repo","mcpServers":[]}}`, number, id))
			return other.must()
		}
		require.Empty(t, load(2).Error, "its client lives and shares it")
		own.close()
		mine.close()
		synctest.Wait()
		before := time.Now()
		require.Empty(t, load(3).Error)
		require.Zero(t, time.Since(before), "at once")
		status, _, _ := n.ask("GET", "", first)
		require.Equal(t, http.StatusNotFound, status)
		other.close()
	})
}

func TestConnectionWithoutAClientEndsWithinSeconds(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve = scriptedAgents(made) }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		r := n.open(-1, conn)
		r.close()
		before := time.Now()
		<-agent.done
		require.LessOrEqual(t, time.Since(before), 10*time.Second)
	})
}

func TestClosedHandlerBeginsNoConnection(t *testing.T) {
	var served atomic.Int32
	h, url := newHandler(t, func(c *acphttp.Config) {
		serve := c.Serve
		c.Serve = func(ctx context.Context, in io.Reader, out io.Writer) error {
			served.Add(1)
			return serve(ctx, in, out)
		}
	})
	require.Equal(t, http.StatusOK, do(t, "POST", url, initialize).StatusCode)
	require.NoError(t, h.Close())
	require.Equal(t, http.StatusServiceUnavailable, do(t, "POST", url, initialize).StatusCode)
	require.EqualValues(t, 1, served.Load())
}

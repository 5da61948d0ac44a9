// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/internal/mortal"
)

var everyWrite = flag.Bool("everywrite", false, "kill a server in each write, not in some")

func TestMain(m *testing.M) {
	if spec := os.Getenv(env); strings.HasSuffix(spec, "|fake") {
		fake(strings.Split(spec, "|"))
	}
	if Child(openStore) {
		return
	}
	leaktest.Main(m)
}

// mortals are two servers that share a store behind a round robin, of which the first one is
// killed in a write.
type mortals struct {
	*servers
	first *mortal.Store

	mu    sync.Mutex
	marks []string
}

// mouth says nothing any more when the process has ended.
type mouth struct {
	http.ResponseWriter
	store *mortal.Store
}

func (m mouth) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m mouth) WriteHeader(status int) {
	if m.store.IsDead() {
		panic(http.ErrAbortHandler)
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m mouth) Write(data []byte) (int, error) {
	if m.store.IsDead() {
		return 0, mortal.ErrDead
	}
	return m.ResponseWriter.Write(data)
}

func (m *mortals) serve(t *testing.T, i int, store *mortal.Store) {
	h, err := newChats(store, func(name, key string) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.marks = append(m.marks, name+" "+key)
		return nil
	})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if store.IsDead() {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(mouth{w, store}, r)
	}))
	m.addrs[i] = strings.TrimPrefix(server.URL, "http://")
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = h.Serve(ctx) })
	all.Go(func() {
		select {
		case <-store.Dead():
			server.CloseClientConnections()
		case <-ctx.Done():
		}
	})
	t.Cleanup(func() {
		cancel()
		all.Wait()
		server.CloseClientConnections()
		server.Close()
		_ = h.Shutdown(context.Background())
	})
}

// TestNoAnswerIsLostWhateverIsTheLastWrite kills a server in each of its writes, from the prompt
// over the answer to the end, and has the next one go on.
func TestNoAnswerIsLostWhateverIsTheLastWrite(t *testing.T) {
	for _, kind := range kinds {
		if !kind.asks {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			step := 1
			if !*everyWrite {
				step = 4
			}
			for write, killed := 1+rand.IntN(step), true; killed; write += step {
				t.Run(fmt.Sprint(write), func(t *testing.T) {
					memory := new(session.Memory)
					m := &mortals{servers: &servers{t: t}, first: mortal.New(memory)}
					m.first.Kill(write)
					m.serve(t, 0, m.first)
					m.serve(t, 1, mortal.New(memory))
					require.NoError(t, kind.chat(m.servers, "chat"))
					killed = m.first.IsDead()
					m.mu.Lock()
					defer m.mu.Unlock()
					require.NotEmpty(t, m.marks)
					for _, mark := range m.marks {
						require.Equal(t, m.marks[0], mark, "marked twice under two keys")
					}
				})
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

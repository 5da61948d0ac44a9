// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// stalling passes on bytes to a server, unless it is stalled. It takes some bytes all the same, so that the network knows of nothing.
type stalling struct {
	listener net.Listener
	url      string // the database by way of it
	gate     sync.RWMutex
	all      sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

// stall returns a proxy in front of the server of a database.
func stall(t *testing.T, database string) *stalling {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	require.NoError(t, err)
	network, address := pgconnAddress(config)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	s := &stalling{listener: l}
	s.url = "host=127.0.0.1 port=" + port + " user=" + config.User + " dbname=" + config.Database + " sslmode=disable"
	if config.Password != "" {
		s.url += " password=" + config.Password
	}
	s.all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial(network, address)
			if err != nil {
				_ = in.Close()
				continue
			}
			s.mu.Lock()
			s.conns = append(s.conns, in, out)
			s.mu.Unlock()
			s.all.Go(func() { s.pass(in, out) })
			s.all.Go(func() { s.pass(out, in) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.all.Wait()
	})
	return s
}

func (s *stalling) pass(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for err := error(nil); err == nil; {
		var n int
		n, err = from.Read(buffer)
		s.gate.RLock()
		if n > 0 {
			_, _ = to.Write(buffer[:n])
		}
		if err != nil {
			_ = to.Close()
		}
		s.gate.RUnlock()
	}
}

// TestSilentServerIsNotWaitedForWithoutABound stalls a proxy in front of the server: bytes are taken, and nothing comes back.
func TestSilentServerIsNotWaitedForWithoutABound(t *testing.T) {
	url, schema := database(t)
	proxy := stall(t, url)
	const bound = time.Second
	s, err := pgstore.Open(t.Context(), proxy.url, pgstore.Options{Schema: schema, Timeout: bound})
	require.NoError(t, err)
	_, err = s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "a", session.Claim{})
	require.NoError(t, err)
	proxy.gate.Lock()
	defer proxy.gate.Unlock()
	var all sync.WaitGroup
	for name, do := range map[string]func(ctx context.Context) error{
		"list":   func(ctx context.Context) error { _, err := s.List(ctx, session.Query{}); return err },
		"get":    func(ctx context.Context) error { _, err := s.Get(ctx, "a"); return err },
		"create": func(ctx context.Context) error { _, err := s.Create(ctx, session.New{}); return err },
		"update": func(ctx context.Context) error { _, err := s.Update(ctx, "a", session.Change{}); return err },
		"append": func(ctx context.Context) error {
			_, err := w.Append(ctx, session.Entry{Kind: session.KindMessage})
			return err
		},
		"put": func(ctx context.Context) error {
			_, err := s.Put(ctx, "a", session.Item{Kind: session.ItemPrompt})
			return err
		},
		"load": func(ctx context.Context) error {
			for _, err := range s.Load(ctx, "a", 0) {
				return err
			}
			return nil
		},
		"blob":   func(ctx context.Context) error { _, err := s.Blobs().Get(ctx, "a"); return err },
		"delete": func(ctx context.Context) error { return s.Delete(ctx, "a") },
	} {
		all.Go(func() {
			begin := time.Now()
			err := do(context.WithoutCancel(t.Context()))
			took := time.Since(begin)
			if err == nil || !strings.Contains(err.Error(), "does not answer") && name != "blob" {
				t.Errorf("%s: %v", name, err)
			}
			if took > 5*bound+5*time.Second {
				t.Errorf("%s took %v", name, took)
			}
		})
	}
	all.Wait()
	begin := time.Now()
	require.NoError(t, s.Close())
	require.Less(t, time.Since(begin), 10*time.Second, "Close")
}

// pgconnAddress returns where a server listens.
func pgconnAddress(c *pgx.ConnConfig) (network, address string) {
	if strings.HasPrefix(c.Host, "/") {
		return "unix", c.Host + "/.s.PGSQL." + strconv.Itoa(int(c.Port))
	}
	return "tcp", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

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
	"github.com/ponte-go/ponte/internal/proxytest"
)

// stall returns a proxy in front of the server of a database, and the database by way of it.
func stall(t *testing.T, database string) (p *proxytest.Proxy, url string) {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	require.NoError(t, err)
	network, address := pgconnAddress(config)
	p = proxytest.New(t, network, address)
	_, port, err := net.SplitHostPort(p.Address())
	require.NoError(t, err)
	url = "host=127.0.0.1 port=" + port + " user=" + config.User + " dbname=" + config.Database + " sslmode=disable"
	if config.Password != "" {
		url += " password=" + config.Password
	}
	return p, url
}

// TestSilentServerIsNotWaitedForWithoutABound stalls a proxy in front of the server: bytes are taken, and nothing comes back.
func TestSilentServerIsNotWaitedForWithoutABound(t *testing.T) {
	direct, schema := database(t)
	proxy, url := stall(t, direct)
	const bound = time.Second
	s, err := pgstore.Open(t.Context(), url, pgstore.Options{Schema: schema, Timeout: bound})
	require.NoError(t, err)
	_, err = s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "a", session.Claim{})
	require.NoError(t, err)
	defer proxy.Stall()()
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

// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// pages counts the queries that read entries or items.
type pages struct{ n atomic.Int64 }

func (p *pages) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, " AS before FROM ") {
		p.n.Add(1)
	}
	return ctx
}

func (*pages) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Entries and items are read 256 at a time, and at most four MiB at a time, but at least one.
func TestPagesAreBounded(t *testing.T) {
	const mib = 1 << 20
	url, schema := database(t)
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	var read pages
	config.ConnConfig.Tracer = &read
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, c := range []struct {
		sizes []int
		pages int64
	}{
		{make([]int, 256), 1}, {make([]int, 257), 2}, {[]int{4*mib - 1, 1}, 1}, {[]int{4 * mib, 1, 1}, 2},
	} {
		created, err := s.Create(t.Context(), session.New{})
		require.NoError(t, err)
		l, err := s.Acquire(t.Context(), created.ID, session.Claim{})
		require.NoError(t, err)
		var b session.Batch
		for _, size := range c.sizes {
			data := json.RawMessage(`1`)
			if size > 1 {
				data = json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
			}
			b.Entries = append(b.Entries, session.Entry{Kind: session.KindMessage, Data: data})
		}
		_, err = s.Append(t.Context(), l, 0, b)
		require.NoError(t, err)
		read.n.Store(0)
		n := int64(0)
		for e, err := range s.Load(t.Context(), created.ID, 0) {
			require.NoError(t, err)
			n++
			require.Equal(t, n, e.Seq)
		}
		require.EqualValues(t, len(c.sizes), n)
		require.Equal(t, c.pages, read.n.Load())
	}
	_, err = s.Create(t.Context(), session.New{ID: "inbox"})
	require.NoError(t, err)
	_, err = admin(t, url).Exec(t.Context(), strings.ReplaceAll(`INSERT INTO SCHEMA.items (session, id, pos, version, rev, kind, state, time, by, digest, data)
		SELECT num, n::text, n, 1, n, 'note', '', n, '', '', '1' FROM SCHEMA.sessions, generate_series(1, 257) n WHERE sessions.id = 'inbox';
		UPDATE SCHEMA.sessions SET rev = 256 WHERE id = 'inbox'`, "SCHEMA", pgx.Identifier{schema}.Sanitize()))
	require.NoError(t, err)
	for more, pages := range []int64{2, 3} { // the last one says that there are no more
		read.n.Store(0)
		n := 0
		for _, err := range s.Items(t.Context(), "inbox", 0) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 256+more, n)
		require.Equal(t, pages, read.n.Load())
		_, err = admin(t, url).Exec(t.Context(), "UPDATE "+pgx.Identifier{schema}.Sanitize()+".sessions SET rev = 257 WHERE id = 'inbox'")
		require.NoError(t, err)
	}
}

// A blob that was put within half a day stays, and is not written again when it is put.
func TestBlobsStayHalfADay(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema})
	conn := admin(t, url)
	old := func() (seconds float64) { // of the blob
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT extract(epoch FROM clock_timestamp())::float8 - put::float8 / 1e9 FROM "+pgx.Identifier{schema}.Sanitize()+".blobs").Scan(&seconds))
		return seconds
	}
	for aged, kept := range map[time.Duration]bool{12*time.Hour - 10*time.Minute: true, 12*time.Hour + 10*time.Minute: false} {
		require.NoError(t, s.Blobs().Put(t.Context(), "a", []byte("1")))
		age(t, url, schema, aged)
		require.NoError(t, s.Blobs().Put(t.Context(), "a", []byte("1")))
		require.Equal(t, kept, old() > 3600, "it is noted again that it was put if that was long ago")
		_, err := conn.Exec(t.Context(), "DELETE FROM "+pgx.Identifier{schema}.Sanitize()+".blobs")
		require.NoError(t, err)
		require.NoError(t, s.Blobs().Put(t.Context(), "a", []byte("1")))
		age(t, url, schema, aged)
		removed, err := s.Blobs().RemoveBefore(t.Context(), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, kept, removed == 0)
		_, err = conn.Exec(t.Context(), "DELETE FROM "+pgx.Identifier{schema}.Sanitize()+".blobs")
		require.NoError(t, err)
	}
}

// Options have bounds. A store with the shortest time to be lost asks for a sign of life every
// second.
func TestOptionsAtTheirBounds(t *testing.T) {
	url, schema := database(t)
	for text, o := range map[string]pgstore.Options{
		"the name of the schema has 64 bytes, at most 63 are allowed": {Schema: strings.Repeat("x", 64)},
		"Lost is 2s, must be whole seconds and at least 3":            {Lost: 2 * time.Second},
		"Lost is 3.000000001s, must be whole seconds and at least 3":  {Lost: 3*time.Second + 1},
		"Lost is -1ns, must be whole seconds and at least 3":          {Lost: -1},
		"Timeout is -1ns": {Timeout: -1},
		"Poll is -1ns":    {Poll: -1},
	} {
		_, err := pgstore.Open(t.Context(), url, o)
		require.ErrorIs(t, err, session.ErrInvalid)
		require.ErrorContains(t, err, text)
	}
	name := schema + strings.Repeat("x", 63-len(schema))
	s := store(t, url, pgstore.Options{Schema: name, Lost: 3 * time.Second, Timeout: time.Minute, Poll: 1})
	for setting, want := range map[string]string{"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1", "tcp_user_timeout": "3000"} {
		got, err := pgstore.SettingOfPresence(t.Context(), s, setting)
		require.NoError(t, err)
		require.Equal(t, want, got, setting)
	}
	var version, serves int
	require.NoError(t, admin(t, url).QueryRow(t.Context(), "SELECT version, serves FROM "+pgx.Identifier{name}.Sanitize()+".version").Scan(&version, &serves))
	require.Equal(t, []int{1, 1}, []int{version, serves})
}

// The pool has a connection for each processor, but at least eight, unless the address says how
// many.
func TestPoolsHaveEightConnections(t *testing.T) {
	url, schema := database(t)
	for address, want := range map[string]int{url: max(8, runtime.NumCPU()), with(t, url, "pool_max_conns", "3"): 3, with(t, url, "pool_max_conns", "9"): 9} {
		require.Equal(t, want, pgstore.Connections(store(t, address, pgstore.Options{Schema: schema})))
	}
}

// The name of a schema may have what stands for something in statements.
func TestInboxesAreReadInAnySchema(t *testing.T) {
	url, schema := database(t)
	s := store(t, url, pgstore.Options{Schema: schema[:20] + " WHICH $1"})
	_, err := s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	for n := range 3 {
		_, err = s.Put(t.Context(), "a", session.Item{ID: fmt.Sprint(n), Kind: []session.ItemKind{session.ItemPrompt, session.ItemNote}[n%2], Data: json.RawMessage(`1`)})
		require.NoError(t, err)
	}
	_, err = s.Change(t.Context(), "a", "2", 1, nil)
	require.NoError(t, err)
	ids := func(after int64, kinds ...session.ItemKind) (ids string) {
		for i, err := range s.Items(t.Context(), "a", after, kinds...) {
			require.NoError(t, err)
			ids += i.ID
		}
		return ids
	}
	require.Equal(t, "01", ids(0), "what waits")
	require.Equal(t, "12", ids(1), "what has changed since")
	require.Equal(t, "0", ids(0, session.ItemPrompt))
	require.Equal(t, "01", ids(0, session.ItemPrompt, session.ItemNote))
}

// Characters that an address cannot have are named, and their neighbours are not refused.
func TestAddressesAtTheirBounds(t *testing.T) {
	for _, address := range []string{"postgres://user:a\x7fb@host/db", "postgres://user:a\x1fb@host/db", "postgres://user:a b@host/db"} {
		_, err := pgstore.ConnectTimeout(address)
		require.ErrorContains(t, err, "it has a space or a control character", "%q", address)
	}
	for _, address := range []string{"postgres://user:a~b!@host/db", "postgres://user:a\u0080b@host/db", "postgres:///db?host=/tmp", "postgres://user:%40@host/db?application_name=x", "postgres://user@host?dbname=x"} {
		_, err := pgstore.ConnectTimeout(address)
		require.NoError(t, err, "%q", address)
	}
	for _, address := range []string{"postgres:///db?user=a@b", "postgres://?user=a@b", "postgres:///a@b", "postgres://host/db?user=a@b", "postgres://user@host?user=a@b"} {
		_, err := pgstore.ConnectTimeout(address)
		require.ErrorContains(t, err, "it has an @ that is not the one before the host", "%q", address)
	}
}

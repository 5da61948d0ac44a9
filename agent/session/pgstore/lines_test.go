// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// Connections are noted while they are open, and can be cut, together with those that come later.
func TestConnectionsAreCut(t *testing.T) {
	var ends []net.Conn
	away := errors.New("nobody there")
	l := &lines{open: map[net.Conn]bool{}, dial: func(_ context.Context, _, address string) (net.Conn, error) {
		if address == "away" {
			return nil, away
		}
		client, server := net.Pipe()
		ends = append(ends, server)
		return client, nil
	}}
	open := func() net.Conn {
		conn, err := l.connect(t.Context(), "tcp", "there")
		require.NoError(t, err)
		return conn
	}
	_, err := l.connect(t.Context(), "tcp", "away")
	require.ErrorIs(t, err, away)
	require.Empty(t, l.open)
	first, second := open(), open()
	require.Equal(t, map[net.Conn]bool{first: true, second: true}, l.open)
	require.NoError(t, first.Close())
	require.Equal(t, map[net.Conn]bool{second: true}, l.open)
	l.cut()
	require.Empty(t, l.open)
	_, err = l.connect(t.Context(), "tcp", "there")
	require.ErrorIs(t, err, net.ErrClosed)
	require.Empty(t, l.open)
	require.Len(t, ends, 3)
	for _, end := range ends {
		_, err := end.Read(make([]byte, 1))
		require.Error(t, err, "it is closed")
		require.NoError(t, end.Close())
	}
	require.NoError(t, second.Close())
}

// The option of an address that cannot be read is named, and nothing else of the address.
func TestWrongOptionsOfAddressesAreNamed(t *testing.T) {
	for option, want := range map[string]string{
		"port": "invalid port", "service": "failed to read service", "sslmode": "failed to configure TLS", "sslcertmode": "invalid sslcertmode", "connect_timeout": "invalid connect_timeout",
		"target_session_attrs": "target_session_attrs", "min_protocol_version": "min_protocol_version", "max_protocol_version": "max_protocol_version",
		"channel_binding": "channel_binding", "require_auth": "require_auth", "pool_max_conns": "pool_max_conns", "pool_min_conns": "pool_min_conns",
		"pool_min_idle_conns": "pool_min_idle_conns", "pool_max_conn_lifetime": "pool_max_conn_lifetime", "pool_max_conn_idle_time": "pool_max_conn_idle_time",
		"pool_health_check_period": "pool_health_check_period", "pool_ping_timeout": "pool_ping_timeout", "statement_cache_capacity": "statement_cache_capacity",
		"description_cache_capacity": "description_cache_capacity", "default_query_exec_mode": "default_query_exec_mode",
	} {
		_, err := parse("host=127.0.0.1 user=me password=secret " + option + "=SECRET")
		require.EqualError(t, err, "session: open: "+session.ErrInvalid.Error()+": the address of the database: "+want, option)
	}
}

// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ponte-go/ponte/agent/session"
)

// connectTimeout bounds an attempt to connect if the address has no connect_timeout. The driver
// would wait for ever for a server that accepts connections and says nothing.
const connectTimeout = 10 * time.Second

// parse reads an address. Its errors have nothing of the address in them: where it is malformed,
// any part of it may be one of the password. For the same reason a URL that is ambiguous is
// refused: the driver would take "ss@host" of "postgres://user:pa@ss@host" for the host, and name
// it.
func parse(database string) (*pgxpool.Config, error) {
	wrong := func(what string) (*pgxpool.Config, error) {
		return nil, &session.Error{Op: "open", Err: fmt.Errorf(
			"%w: the address of the database: %s", session.ErrInvalid, what,
		)}
	}
	rest, ok := strings.CutPrefix(database, "postgres://")
	if !ok {
		rest, ok = strings.CutPrefix(database, "postgresql://")
	}
	if ok {
		authority := rest
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			authority = rest[:i]
		}
		switch at := strings.Count(rest, "@"); {
		case at > 1 || at == 1 && !strings.Contains(authority, "@"):
			return wrong("it has an @ that is not the one before the host: write %40 for @, %2F for / and %3F for ? in names, passwords and options")
		case strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return wrong("it has a space or a control character: write %20 for a space")
		}
	}
	config, err := pgxpool.ParseConfig(database)
	if err == nil {
		if config.ConnConfig.ConnectTimeout == 0 {
			config.ConnConfig.ConnectTimeout = connectTimeout
		}
		return config, nil
	}
	text := err.Error()
	text = text[strings.LastIndex(text, "`: ")+1:] // after what the driver believes to be the address without passwords
	for _, known := range []string{
		"invalid port", "failed to read service", "failed to configure TLS", "invalid sslcertmode", "invalid connect_timeout", "sslmode", "target_session_attrs",
		"min_protocol_version", "max_protocol_version", "channel_binding", "require_auth", "pool_max_conns", "pool_min_conns", "pool_min_idle_conns",
		"pool_max_conn_lifetime", "pool_max_conn_idle_time", "pool_health_check_period", "pool_ping_timeout", "statement_cache_capacity",
		"description_cache_capacity", "default_query_exec_mode", "invalid URL escape",
	} {
		if strings.Contains(text, known) {
			return wrong(known)
		}
	}
	return wrong("want postgres://user:password@host:port/database, or keywords and values")
}

// SPDX-License-Identifier: Apache-2.0

// Package postgres has programs of package app keep their sessions in Postgres, where any number of
// machines share them. Import it for that effect:
//
//	import _ "github.com/ponte-go/ponte/app/postgres"
//
// The flag -store then accepts addresses such as postgres://user@host/database. A password can be
// in the address, but other users of the machine see the arguments of programs: it is better in the
// file .pgpass of the home directory, or in PGPASSWORD.
package postgres

import (
	"context"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/app"
)

func init() {
	for _, scheme := range []string{"postgres", "postgresql"} {
		app.RegisterStore(scheme, func(ctx context.Context, address string) (session.Store, error) {
			return pgstore.Open(ctx, address, pgstore.Options{})
		})
	}
}

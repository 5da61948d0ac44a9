// SPDX-License-Identifier: Apache-2.0

// Package sqlite has programs of package app keep their sessions in SQLite, in a directory. Import
// it for that effect:
//
//	import _ "github.com/ponte-go/ponte/app/sqlite"
//
// The flag -store selects the directory. The default is in the user's state directory.
package sqlite

import (
	"context"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/app"
)

func init() {
	app.RegisterStore("", func(_ context.Context, dir string) (session.Store, error) {
		return sqlitestore.Open(dir, sqlitestore.Options{})
	})
}

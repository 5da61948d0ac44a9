// SPDX-License-Identifier: Apache-2.0

// Postgres is webagent with its sessions in Postgres, where any number of machines share them. It
// is a separate module, which keeps the driver of Postgres out of the main one.
//
// Usage, in this directory:
//
//	go run . -store postgres://user:password@host/database [-dir DIR] [-addr 127.0.0.1:0] [-model MODEL] [-open=false]
package main

import (
	"context"

	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/app/web"
)

func main() { web.Main(kinds) }

var kinds = web.Kinds{"postgres": open, "postgresql": open}

func open(ctx context.Context, address string) (web.Store, error) {
	return pgstore.Open(ctx, address, pgstore.Options{})
}

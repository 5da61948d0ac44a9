// SPDX-License-Identifier: Apache-2.0

// Postgres is webagent with its sessions in Postgres, where any number of machines share them. It
// is a separate module, which keeps the driver of Postgres out of the main one.
//
// Usage, in this directory:
//
//	go run . -store postgres://user:password@host/database [-dir DIR] [-addr 127.0.0.1:0] [-model MODEL] [-open=false]
package main

import (
	"github.com/ponte-go/ponte/app"
	_ "github.com/ponte-go/ponte/app/postgres"
	"github.com/ponte-go/ponte/examples/webagent/internal/program"
)

func main() { app.Main(program.Config()) }

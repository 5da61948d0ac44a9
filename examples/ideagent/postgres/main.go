// SPDX-License-Identifier: Apache-2.0

// Postgres is ideagent with its sessions in Postgres, where any number of machines share them. It
// is a separate module, which keeps the driver of Postgres out of the main one.
//
// Usage, in this directory:
//
//	go build -o ideagent .
//	ideagent -store postgres://user@host/database [flags]
//	ideagent chat -store postgres://user@host/database [flags] [PROMPT]
//	ideagent sessions list|show|export|import|purge -store postgres://user@host/database [flags]
//
// Everything else is as it is without Postgres. The password can be in the address, but other users
// of the machine see the arguments of programs: it is better in the file .pgpass of the home
// directory, or in PGPASSWORD.
package main

import (
	"github.com/ponte-go/ponte/app"
	_ "github.com/ponte-go/ponte/app/postgres"
	"github.com/ponte-go/ponte/examples/ideagent/internal/program"
)

func main() { app.Main(program.Config()) }

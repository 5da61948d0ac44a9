// SPDX-License-Identifier: Apache-2.0

// Command eval shows, compares and checks reports of package evals.
//
//	go run github.com/ponte-go/ponte/agent/evals/eval compare testdata/base.json now.json
package main

import (
	"os"

	"github.com/ponte-go/ponte/internal/evalcli"
)

func main() { os.Exit(evalcli.Run(os.Args[1:], os.Stdout, os.Stderr)) }

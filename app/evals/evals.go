// SPDX-License-Identifier: Apache-2.0

// Package evals has programs of package app work with evals. Import it for that effect:
//
//	import _ "github.com/ponte-go/ponte/app/evals"
//
// They get the command "eval", which shows, compares and checks reports, and the flag -as of
// "sessions export", which makes tests and cases of datasets. "sessions list" shows scores.
package evals

import (
	"context"

	"github.com/ponte-go/ponte/agent/evals/online"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/internal/evalcli"
)

func init() {
	linked.Evals = &linked.WithEvals{Run: evalcli.Run, Export: export, Scores: scores}
}

func scores(ctx context.Context, store sessions.Store, id string) (string, error) {
	all, err := online.Scores(ctx, store, id)
	return online.Summary(all), err
}

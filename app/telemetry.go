// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"
)

// Telemetry begins to export what agents do, and returns what ends that. stop is nil if nothing is
// exported.
type Telemetry func(ctx context.Context, e *Env) (stop func(context.Context) error, err error)

var telemetry Telemetry

// RegisterTelemetry has programs call t before their first session. Package telemetry, a module
// of its own, registers OpenTelemetry. It is called by init functions, and panics if it was
// called before.
func RegisterTelemetry(t Telemetry) {
	if telemetry != nil {
		panic("app: RegisterTelemetry was called twice")
	}
	telemetry = t
}

// exporting is how long the export of what is left may take when the program ends.
const exporting = 5 * time.Second

// observe begins to export, if the program can. A mistake in its settings does not stop sessions.
func (e *Env) observe(ctx context.Context) {
	if telemetry == nil {
		return
	}
	stop, err := telemetry(ctx, e)
	if err != nil {
		e.Say("telemetry: %v", err)
	}
	if stop == nil {
		return
	}
	e.OnClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), exporting)
		defer cancel()
		if err := stop(ctx); err != nil {
			e.Logger.Warn("telemetry: some of it is lost", "error", err)
		}
		return nil
	})
}

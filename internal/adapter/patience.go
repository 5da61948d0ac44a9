// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"cmp"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Timeouts returns the bounds that a configuration means; those that are 0 then are none.
func Timeouts(t model.Timeouts) model.Timeouts {
	return model.Timeouts{
		Total:     max(t.Total, 0),
		FirstByte: max(cmp.Or(t.FirstByte, 10*time.Minute), 0),
		Idle:      max(cmp.Or(t.Idle, 5*time.Minute), 0),
		Stall:     max(cmp.Or(t.Stall, 30*time.Minute), 0),
	}
}

// Retries returns what a configuration means.
func Retries(r model.Retries) model.Retries {
	return model.Retries{
		Attempts: cmp.Or(r.Attempts, 3),
		Base:     cmp.Or(r.Base, 500*time.Millisecond),
		Max:      cmp.Or(r.Max, 30*time.Second),
	}
}

// ValidRetries reports whether a configuration makes sense.
func ValidRetries(r model.Retries) bool { return r.Attempts >= 0 && r.Base >= 0 && r.Max >= 0 }

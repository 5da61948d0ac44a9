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

// RetryPolicy returns a policy with the defaults filled in, except for On.
func RetryPolicy(p model.RetryPolicy) model.RetryPolicy {
	p.Attempts = cmp.Or(p.Attempts, 3)
	p.Base = cmp.Or(p.Base, 500*time.Millisecond)
	p.Max = cmp.Or(p.Max, 30*time.Second)
	p.Total = cmp.Or(p.Total, 2*time.Minute)
	return p
}

// NegativeRetry returns the name of a field of a policy that is negative, or an empty string.
func NegativeRetry(p *model.RetryPolicy) string {
	switch {
	case p.Attempts < 0:
		return "Attempts"
	case p.Base < 0:
		return "Base"
	case p.Max < 0:
		return "Max"
	case p.Total < 0:
		return "Total"
	}
	return ""
}

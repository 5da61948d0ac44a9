// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// CloneSettings returns a copy that the owner of s cannot change. s may be nil.
func CloneSettings(s *model.Settings) *model.Settings {
	if s == nil {
		return nil
	}
	c := *s
	c.Stop, c.ExtraHeaders, c.ExtraBody = slices.Clone(s.Stop), maps.Clone(s.ExtraHeaders), maps.Clone(s.ExtraBody)
	for _, p := range []**float64{&c.Temperature, &c.TopP} {
		*p = clone(*p)
	}
	c.Seed, c.ParallelToolCalls = clone(s.Seed), clone(s.ParallelToolCalls)
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

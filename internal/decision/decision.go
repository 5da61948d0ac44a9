// SPDX-License-Identifier: Apache-2.0

// Package decision is the stored form of decisions about tool calls.
package decision

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// Record is a decision as it is stored. Arguments are text, which keeps every byte of them.
type Record struct {
	kept
	Args model.RawArgs `json:"args,omitzero"`
}

type kept = model.Decision

// Of returns the record of a decision, nil if there is none.
func Of(d *model.Decision) *Record {
	if d == nil {
		return nil
	}
	r := &Record{*d, model.RawArgs(d.Args)}
	r.kept.Args = nil
	return r
}

// Decision returns what was recorded, nil if the record is nil.
func (r *Record) Decision() *model.Decision {
	if r == nil {
		return nil
	}
	d := r.kept
	d.Args = json.RawMessage(r.Args)
	return &d
}

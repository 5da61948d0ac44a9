// SPDX-License-Identifier: Apache-2.0

// Package decision is the stored form of decisions about tool calls.
package decision

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// Record is a decision as it is stored. Arguments are text, which keeps every byte of them.
type Record struct {
	Verdict model.Verdict   `json:"verdict"`
	Args    model.RawArgs   `json:"args,omitzero"`
	Reason  string          `json:"reason,omitempty"`
	Always  bool            `json:"always,omitempty"`
	Scope   string          `json:"scope,omitempty"`
	Lasting bool            `json:"lasting,omitempty"`
	By      string          `json:"by,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"`
}

// Of returns the record of a decision, nil if there is none.
func Of(d *model.Decision) *Record {
	if d == nil {
		return nil
	}
	return &Record{d.Verdict, model.RawArgs(d.Args), d.Reason, d.Always, d.Scope, d.Lasting, d.By, d.Meta}
}

// Decision returns what was recorded, nil if the record is nil.
func (r *Record) Decision() *model.Decision {
	if r == nil {
		return nil
	}
	return &model.Decision{
		Verdict: r.Verdict, Args: json.RawMessage(r.Args), Reason: r.Reason,
		Always: r.Always, Scope: r.Scope, Lasting: r.Lasting, By: r.By, Meta: r.Meta,
	}
}

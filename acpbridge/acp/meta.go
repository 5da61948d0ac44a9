// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
)

// metaMember is how the parameters of a message hold what is not the protocol's.
type metaMember struct {
	Meta map[string]json.RawMessage `json:"_meta"`
}

// outgoing adds to the parameters of a request what OutgoingMeta returns.
func (c *conn) outgoing(ctx context.Context, params message) (message, error) {
	if c.opts.OutgoingMeta == nil {
		return params, nil
	}
	more := c.opts.OutgoingMeta(ctx)
	if len(more) == 0 {
		return params, nil
	}
	own, err := marshalJSON(params)
	if err != nil {
		return nil, err
	}
	added, err := json.Marshal(metaMember{more})
	if err != nil {
		return nil, err
	}
	merged, err := Merge(added, own) // what the request has wins
	if err != nil {
		return params, nil // parameters that are no object have no _meta
	}
	return (*rawMessage)(&merged), nil
}

// contextOf returns the ctx that the handler of a request gets.
func (c *conn) contextOf(in *incoming) context.Context {
	if c.opts.IncomingMeta == nil {
		return in.ctx
	}
	var m metaMember
	if json.Unmarshal(in.params, &m) != nil || len(m.Meta) == 0 {
		return in.ctx
	}
	if ctx := c.opts.IncomingMeta(in.ctx, m.Meta); ctx != nil {
		return ctx
	}
	return in.ctx
}

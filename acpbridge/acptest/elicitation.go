// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// CreateElicitation implements [acp.Client]. If ctx ends before the user has answered, the action
// is "cancel".
func (c *Client) CreateElicitation(ctx context.Context, req *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	if err := c.enter(ctx, acp.MethodCreateElicitation, req); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.elicited = append(c.elicited, req)
	c.mu.Unlock()
	if c.elicitation == nil {
		return nil, acp.ErrMethodNotFound
	}
	resp := c.elicitation(ctx, req)
	if ctx.Err() != nil || resp == nil {
		return &acp.CreateElicitationResponse{Cancel: &acp.CreateElicitationResponseCancel{}}, nil
	}
	return resp, nil
}

// CompleteElicitation implements [acp.Client].
func (c *Client) CompleteElicitation(ctx context.Context, n *acp.CompleteElicitationNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := slices.ContainsFunc(c.elicited, func(r *acp.CreateElicitationRequest) bool {
		return r.URL != nil && r.URL.ElicitationID == n.ElicitationID
	})
	if !known {
		c.violated("%s: there was no elicitation %q of an address", acp.MethodCompleteElicitation, n.ElicitationID)
	}
	return nil
}

// Elicitations returns the agent's forms and addresses so far.
func (c *Client) Elicitations() []*acp.CreateElicitationRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.elicited)
}

func (c *Client) canElicit(req *acp.CreateElicitationRequest) bool {
	can := c.capabilities.Elicitation
	switch {
	case can == nil:
		return false
	case req.Form != nil:
		return can.Form != nil
	case req.URL != nil:
		return can.URL != nil
	}
	return false
}

// Accept is a response of a user who has filled in a form, or agreed to open an address.
func Accept(content map[string]acp.ElicitationContentValue) *acp.CreateElicitationResponse {
	return &acp.CreateElicitationResponse{Accept: &acp.ElicitationAcceptAction{Content: content}}
}

// Decline is a response of a user who does not want to answer.
func Decline() *acp.CreateElicitationResponse {
	return &acp.CreateElicitationResponse{Decline: &acp.CreateElicitationResponseDecline{}}
}

// Value returns a value of a form: a string, an int, a float64, a bool or a []string. Other types
// panic.
func Value(v any) acp.ElicitationContentValue {
	switch v := v.(type) {
	case string:
		return acp.ElicitationContentValue{String: &v}
	case int:
		return acp.ElicitationContentValue{Integer: new(int64(v))}
	case float64:
		return acp.ElicitationContentValue{Number: &v}
	case bool:
		return acp.ElicitationContentValue{Boolean: &v}
	case []string:
		return acp.ElicitationContentValue{StringArray: append([]string{}, v...)}
	}
	panic("acptest: a form has no values of this type")
}

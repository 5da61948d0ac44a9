// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// Answer is the user's answer to a permission request: the kind of the option to choose, or
// [Dismiss].
type Answer string

// Answers. Any other value is sent as the id of an option, whether there is one or not.
const (
	AllowOnce    = Answer(acp.PermissionOptionKindAllowOnce)
	AllowAlways  = Answer(acp.PermissionOptionKindAllowAlways)
	RejectOnce   = Answer(acp.PermissionOptionKindRejectOnce)
	RejectAlways = Answer(acp.PermissionOptionKindRejectAlways)
	// Dismiss closes the request without a choice: the outcome is "cancelled".
	Dismiss = Answer("cancelled")
)

// RequestPermission implements [acp.Client]. If ctx ends before the user has answered, the outcome
// is "cancelled", as the protocol demands of a turn that is cancelled.
func (c *Client) RequestPermission(ctx context.Context, req *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	if err := c.enter(ctx, acp.MethodRequestPermission, req); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.permissions = append(c.permissions, req)
	c.checkPermission(req)
	answer := AllowOnce
	scripted := len(c.answers) > 0
	if scripted {
		answer, c.answers = c.answers[0], c.answers[1:]
	}
	c.mu.Unlock()
	if !scripted && c.permission != nil {
		answer = c.permission(ctx, req)
	}
	if answer == Dismiss || ctx.Err() != nil {
		return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{}}}, nil
	}
	id := acp.PermissionOptionID(answer)
	for _, o := range req.Options {
		if o.Kind == acp.PermissionOptionKind(answer) {
			id = o.OptionID
			break
		}
	}
	return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Selected: &acp.SelectedPermissionOutcome{OptionID: id}}}, nil
}

// Never is a [Options.Permission] of a user who does not answer: it waits until the request is
// cancelled.
func Never(ctx context.Context, _ *acp.RequestPermissionRequest) Answer {
	<-ctx.Done()
	return Dismiss
}

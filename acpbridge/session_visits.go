// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// visits are the addresses that the user has agreed to open in the running turn. The client waits
// to be told that they are done with.
type visits struct {
	mu   sync.Mutex
	open []acp.ElicitationID
}

// CreateElicitation implements [acp.Client].
func (c *sessionClient) CreateElicitation(ctx context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	resp, err := c.Client.CreateElicitation(ctx, p)
	if err == nil && p.URL != nil && resp.Accept != nil {
		c.visits.mu.Lock()
		defer c.visits.mu.Unlock()
		c.visits.open = append(c.visits.open, p.URL.ElicitationID)
	}
	return resp, err
}

// CompleteElicitation implements [acp.Client].
func (c *sessionClient) CompleteElicitation(ctx context.Context, n *acp.CompleteElicitationNotification) error {
	c.visits.mu.Lock()
	c.visits.open = slices.DeleteFunc(c.visits.open, func(id acp.ElicitationID) bool { return id == n.ElicitationID })
	c.visits.mu.Unlock()
	return c.Client.CompleteElicitation(ctx, n)
}

// endVisits tells the client about the visits that are left when a turn ends.
func (c *sessionClient) endVisits(turn context.Context) {
	c.visits.mu.Lock()
	open := c.visits.open
	c.visits.open = nil
	c.visits.mu.Unlock()
	for _, id := range open {
		_ = c.Client.CompleteElicitation(turn, &acp.CompleteElicitationNotification{ElicitationID: id}) // a client that is gone has forgotten it
	}
}

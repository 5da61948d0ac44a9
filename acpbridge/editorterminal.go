// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// createTerminal starts a command. If ctx ends meanwhile, the client may have a terminal already that nobody would release: so the answer is
// waited for a little longer. A terminal may therefore be returned although ctx has ended.
func createTerminal(ctx context.Context, client acp.Client, req *acp.CreateTerminalRequest, cleanup time.Duration) (acp.TerminalID, error) {
	type created struct {
		resp  *acp.CreateTerminalResponse
		err   error
		panic any
	}
	answered := make(chan created, 1)
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	go func() {
		var c created
		defer func() {
			c.panic = recover()
			answered <- c
		}()
		c.resp, c.err = client.CreateTerminal(call, req)
	}()
	var c created
	select {
	case c = <-answered:
	case <-ctx.Done():
		late := time.NewTimer(cleanup)
		defer late.Stop()
		select {
		case c = <-answered:
		case <-late.C:
			cancel(context.Cause(ctx))
			c = <-answered
		}
	}
	if c.panic != nil { // the run loop knows what to do about it, on its own goroutine
		panic(c.panic)
	}
	if c.err != nil {
		return "", c.err
	}
	return c.resp.TerminalID, nil
}

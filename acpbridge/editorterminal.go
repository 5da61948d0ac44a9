// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// createTerminal starts a command. If ctx ends during the request, the client may already have made
// a terminal that has to be released, so it waits a little longer for the answer. It may therefore
// return a terminal although ctx has ended.
func createTerminal(ctx context.Context, client acp.Client, req *acp.CreateTerminalRequest, cleanup time.Duration) (acp.TerminalID, error) {
	type created struct {
		resp  *acp.CreateTerminalResponse
		err   error
		panic any
	}
	answered := make(chan created)
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

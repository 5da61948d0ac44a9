// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// fault is an injected failure of a method.
type fault struct {
	delay time.Duration
	err   error
	times int // negative: always
}

func (f *fault) next() (delay time.Duration, failure error) {
	if f == nil {
		return 0, nil
	}
	if f.err != nil && f.times != 0 {
		f.times--
		failure = f.err
	}
	return f.delay, failure
}

// Fail makes the next calls of a method fail with err, after the delay of [Client.Slow]: the next
// times calls, or all if times is negative. An agent at the other end of a connection gets an error
// that is not an [*acp.Error] as an internal error. A nil err turns this off.
func (c *Client) Fail(method string, times int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.fault(method)
	f.err, f.times = err, times
}

// Slow delays all calls of a method; their ctx ends the wait.
func (c *Client) Slow(method string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault(method).delay = d
}

func (c *Client) fault(method string) *fault {
	if c.faults[method] == nil {
		c.faults[method] = new(fault)
	}
	return c.faults[method]
}

// Disconnect ends the connection: programs are killed, their terminals are gone, and every call
// fails with [acp.ErrClosed].
func (c *Client) Disconnect() {
	c.mu.Lock()
	c.closed = true
	for _, t := range c.terminals {
		t.kill()
	}
	clear(c.terminals)
	disconnect := c.disconnect
	c.mu.Unlock()
	if disconnect != nil {
		disconnect()
	}
}

var errUnknownTerminal = acp.Errorf(acp.CodeResourceNotFound, "unknown terminal")

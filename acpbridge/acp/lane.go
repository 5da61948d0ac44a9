// SPDX-License-Identifier: Apache-2.0

package acp

// lane is the queue of one session's messages. It exists while it has any, or while the handler of
// one has not released it.
type lane struct {
	session string
	queue   []*incoming
}

// drop forgets what has not been handled, except answers to our calls.
func (l *lane) drop() {
	for _, in := range l.queue {
		if in.deliver != nil {
			in.deliver()
		}
	}
	l.queue = nil
}

// enqueue appends the message to its session's lane. The caller holds c.mu.
func (c *conn) enqueue(in *incoming) {
	c.backlog += in.size
	l := c.lanes[in.session]
	if l == nil {
		l = &lane{session: in.session}
		c.lanes[in.session] = l
		l.queue = append(l.queue, in)
		c.startLane(l)
		return
	}
	l.queue = append(l.queue, in)
}

func (c *conn) startLane(l *lane) {
	c.handlers.Add(1)
	go func() {
		defer c.handlers.Done()
		for in := c.nextOf(l); in != nil; in = c.nextOf(l) {
			c.handle(in)
			if c.finish(in) {
				return // the lane is another goroutine's, or gone
			}
		}
	}()
}

// nextOf takes the first message out of the lane. A lane that is empty is removed.
func (c *conn) nextOf(l *lane) *incoming {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(l.queue) == 0 {
		delete(c.lanes, l.session)
		return nil
	}
	in := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	in.lane = l
	c.backlog -= in.size
	c.signalRoom()
	return in
}

// finish notes that the handler has returned, which makes a late Async do nothing, and reports
// whether it had released its lane.
func (c *conn) finish(in *incoming) (released bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	released, in.released = in.released, true
	return released
}

// release hands the lane of a message that is being handled to another goroutine.
func (c *conn) release(in *incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.released || in.lane == nil {
		return
	}
	in.released = true
	if len(in.lane.queue) == 0 {
		delete(c.lanes, in.lane.session)
	} else {
		c.startLane(in.lane)
	}
	c.signalRoom() // the reader may wait for a handler that is free to wait for an answer
}

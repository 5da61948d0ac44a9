// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// queue gives a prompt to an agent that takes it while a turn runs, behind those before it.
func (c *console) queue(ctx context.Context, prompt string) {
	session, named := c.session, c.named(prompt)
	before, sent := c.sent, make(chan struct{})
	c.sent = sent
	c.work.Go(func() {
		defer close(sent)
		if before != nil {
			<-before
		}
		blocks, err := blocks(prompt, named, c.pictured())
		if err == nil {
			err = session.Queue(ctx, blocks...)
		}
		problem := ""
		if err != nil {
			problem = explain(err)
		}
		c.call(func() { c.model.Sent(time.Now(), problem) })
	})
}

// turns shows the turns that the agent begins by itself: of what was given to it with queue, and of
// what waited there before.
func (c *console) turns(ctx context.Context, session *acpclient.Session) {
	for {
		wait, err := session.Begun(ctx)
		if err != nil {
			return
		}
		c.call(c.begin)
		turn, err := wait(ctx)
		if ctx.Err() != nil {
			return
		}
		c.call(func() { c.end(turn, err) })
	}
}

// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// permission has the person answer a question.
func (c *console) permission(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
	if c.config.AllowAll {
		if allow := r.Option(acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways); allow != "" {
			c.call(func() { c.showAllowed(r) })
			return allow, nil
		}
	}
	option := c.choose(ctx, r)
	if option == "" {
		return "", nil
	}
	if k := kindOf(r, option); k != acp.PermissionOptionKindAllowOnce && k != acp.PermissionOptionKindAllowAlways {
		c.call(func() { c.refused = true })
	} else if r.Unasked {
		c.call(func() { c.showAllowed(r) })
	}
	return option, nil
}

// choose has the person choose an option. It is empty if the question was taken back.
func (c *console) choose(ctx context.Context, r *acpclient.PermissionRequest) acp.PermissionOptionID {
	answer := make(chan acp.PermissionOptionID, 1)
	id := 0
	c.call(func() {
		c.asked++
		id = c.asked
		c.answers[id] = answer
		c.catchUp()
		c.model.Ask(time.Now(), id, r)
	})
	select {
	case option := <-answer:
		return option
	case <-ctx.Done():
	case <-c.over:
	}
	c.call(func() {
		delete(c.answers, id)
		c.model.Withdraw(id)
	})
	return ""
}

func kindOf(r *acpclient.PermissionRequest, id acp.PermissionOptionID) acp.PermissionOptionKind {
	for _, o := range r.Options {
		if o.OptionID == id {
			return o.Kind
		}
	}
	return ""
}

// showAllowed leaves in the transcript what was allowed, if the agent has not shown it in a tool
// call.
func (c *console) showAllowed(r *acpclient.PermissionRequest) {
	if !r.Unasked {
		return
	}
	c.model.Show(func(width int, expanded bool) []text.Line {
		lines := screen.Preview(r, func(path string) string { return path }, width)
		const folded = 24
		if !expanded && len(lines) > folded {
			lines = append(lines[:folded:folded], text.Of(
				fmt.Sprintf("… %d more lines (Ctrl-O)", len(lines)-folded), render.Dim,
			))
		}
		return lines
	})
}

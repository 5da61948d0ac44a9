// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// permissions decides what the agent may do, by asking the user. One question is asked at a time.
type permissions struct {
	screen      *screen
	input       *input
	allowAll    bool
	interactive bool

	mu sync.Mutex
}

var cancelledOutcome = acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{}}

func selected(o *acp.PermissionOption) acp.RequestPermissionOutcome {
	return acp.RequestPermissionOutcome{Selected: &acp.SelectedPermissionOutcome{OptionID: o.OptionID}}
}

func (p *permissions) decide(ctx context.Context, cancelled <-chan struct{}, r *acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-cancelled:
		return cancelledOutcome
	case <-ctx.Done():
		return cancelledOutcome
	default:
	}
	switch {
	case p.allowAll:
		o := pick(r.Options, acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways)
		if o == nil {
			p.screen.note("-yes: there is no option that allows this.")
			return cancelledOutcome
		}
		p.screen.note("-yes: " + clean(o.Name))
		return selected(o)
	case !p.interactive || len(r.Options) == 0:
		p.screen.note("Rejected: there is nobody to ask, since the standard input is no terminal. Use -yes to allow everything.")
		if o := pick(r.Options, acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways); o != nil {
			return selected(o)
		}
		return cancelledOutcome
	}
	return p.ask(ctx, cancelled, r)
}

// pick returns the first option of the first kind that there is.
func pick(options []acp.PermissionOption, kinds ...acp.PermissionOptionKind) *acp.PermissionOption {
	for _, kind := range kinds {
		for i := range options {
			if options[i].Kind == kind {
				return &options[i]
			}
		}
	}
	return nil
}

func (p *permissions) ask(ctx context.Context, cancelled <-chan struct{}, r *acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
	options := r.Options[:min(len(r.Options), 9)]
	p.input.forget()
	for i, o := range options {
		p.screen.option(i+1, clean(o.Name))
	}
	for {
		p.screen.ask(fmt.Sprintf("1-%d, then Enter: ", len(options)))
		select {
		case line, ok := <-p.input.read():
			if !ok {
				p.screen.note("Not allowed: the input has ended.")
				return cancelledOutcome
			}
			p.screen.answered()
			if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= len(options) {
				return selected(&options[n-1])
			}
		case <-cancelled:
			return cancelledOutcome
		case <-ctx.Done():
			p.screen.note("The question has been taken back.")
			return cancelledOutcome
		}
	}
}

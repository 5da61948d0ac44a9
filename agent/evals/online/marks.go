// SPDX-License-Identifier: Apache-2.0

package online

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// Commands returns the slash commands /good and /bad, with which people mark the last answer of a
// session wherever a host shows it: on a page, in a terminal, in an editor. Text after the name is
// the reason. store returns the host's store, and by names the person; nil calls everybody "user".
// Add them to [host.Config].
func Commands(store func(context.Context) (session.Store, error),
	by func(*host.Session) string) []host.Command {
	one := func(name, description string, up bool) host.Command {
		return host.Command{
			Name: name, Description: description, Hint: "reason",
			Run: func(ctx context.Context, c *host.CommandCall) (agent.CommandResult, error) {
				s, err := store(ctx)
				if err != nil {
					return agent.CommandResult{}, err
				}
				return mark(ctx, s, c, by, up)
			},
		}
	}
	return []host.Command{
		one("good", "Mark the last answer as good", true),
		one("bad", "Mark the last answer as bad", false),
	}
}

// mark marks the last turn of the conversation.
func mark(ctx context.Context, s session.Store, c *host.CommandCall, by func(*host.Session) string,
	up bool) (res agent.CommandResult, err error) {
	turn := ""
	for _, m := range c.Messages {
		if m.RunID != "" {
			turn, _, _ = strings.Cut(m.RunID, "/")
		}
	}
	if s == nil {
		res.Notice = "Marks are kept with sessions, and this one is kept in memory only."
		return res, nil
	}
	if turn == "" {
		res.Notice = "There is no answer to mark yet."
		return res, nil
	}
	person := "user"
	if by != nil {
		person = by(c.Session)
	}
	if err := Mark(ctx, s, c.Session.ID(), turn, person, up, c.Args); err != nil {
		return res, err
	}
	res.Notice = "The last answer is marked as bad."
	if up {
		res.Notice = "The last answer is marked as good."
	}
	return res, nil
}

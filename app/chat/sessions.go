// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// mostSessions bounds the list of sessions.
const mostSessions = 20

// sessionsOf returns the agent's sessions of the directory, as it lists them, without the one that
// is open.
func sessionsOf(
	ctx context.Context, client *acpclient.Client, dir string, now acp.SessionID,
) (all []screen.Session, err error) {
	for info, err := range client.Sessions(ctx, dir) {
		if err != nil {
			return nil, err
		}
		if info.SessionID == now {
			continue
		}
		s := screen.Session{ID: string(info.SessionID), Title: "(no title)"}
		if info.Title != nil && *info.Title != "" {
			s.Title = show.Received(*info.Title)
		}
		if info.UpdatedAt != nil {
			s.When = show.Line(*info.UpdatedAt)
			if at, err := time.Parse(time.RFC3339, *info.UpdatedAt); err == nil {
				s.When = at.Local().Format("2006-01-02 15:04")
			}
		}
		if all = append(all, s); len(all) == mostSessions {
			break
		}
	}
	return all, nil
}

// openSession opens a new session, or the one of an id, and closes the session that it replaces.
func openSession(
	ctx context.Context, client *acpclient.Client, now *acpclient.Session, dir string,
	id acp.SessionID,
) (*acpclient.Session, error) {
	next, err := (*acpclient.Session)(nil), error(nil)
	if id == "" {
		next, err = client.NewSession(ctx, acpclient.SessionConfig{Cwd: dir})
	} else {
		next, err = client.LoadSession(ctx, id, acpclient.SessionConfig{Cwd: dir})
	}
	if err == nil {
		_ = now.Close(ctx) // an agent that cannot close sessions keeps it
	}
	return next, err
}

// follow has the loop told of changes of the session.
func (c *console) follow(ctx context.Context) {
	following, stop := context.WithCancel(ctx)
	c.unfollow = stop
	session, sub := c.session, c.session.Cursor(nil)
	if c.client.Queues() {
		c.work.Go(func() { c.turns(following, session) })
	}
	c.work.Go(func() {
		for {
			if _, err := sub.Update(following); err != nil {
				return
			}
			select {
			case c.changed <- struct{}{}:
			default:
			}
		}
	})
}

// open opens a session, and shows it instead of this one.
func (c *console) open(ctx context.Context, id acp.SessionID) {
	before := make(chan *acpclient.Session, 1)
	c.call(func() { before <- c.session })
	var now *acpclient.Session
	select {
	case now = <-before:
	case <-c.over:
		return
	}
	next, err := openSession(ctx, c.client, now, c.config.Dir, id)
	c.call(func() {
		if err != nil {
			c.model.Opened("! "+explain(err), false)
			return
		}
		c.unfollow()
		c.session, c.shown = next, nil
		note := "A new conversation."
		if id != "" {
			note = ""
		}
		c.model.Opened(note, true)
		c.follow(ctx)
		c.catchUp()
	})
}

func (c *console) listSessions(ctx context.Context, now acp.SessionID) {
	all, err := sessionsOf(ctx, c.client, c.config.Dir, now)
	c.call(func() {
		if err != nil {
			c.model.Note("! "+explain(err), text.Style{Color: text.Yellow})
			return
		}
		c.model.SetSessions(all)
	})
}

// command runs a command of the client. It reports false for a line that is for the agent.
func (t *talk) command(ctx context.Context, line string) bool {
	line = strings.TrimRightFunc(line, unicode.IsSpace) // with a space before it, it is no command
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if e := t.session.Snapshot().Get(acpclient.CommandsID); e != nil {
		if i := slices.IndexFunc(e.Slash, func(c view.SlashCommand) bool { return "/"+c.Name == name }); i >= 0 {
			return e.Slash[i].AtOnce && t.atOnce(ctx, line)
		}
	}
	if name != "/new" && name != "/sessions" || name == "/new" && rest != "" {
		return false
	}
	id := acp.SessionID("")
	var err error
	if name == "/sessions" {
		if rest == "" {
			err = t.listSessions(ctx)
		} else if id, err = t.numbered(rest); err == nil {
			err = t.open(ctx, id)
		}
	} else {
		err = t.open(ctx, "")
	}
	if err != nil {
		t.out.Fail(explain(err))
	}
	return true
}

// atOnce has the agent carry out a command that needs no turn.
func (t *talk) atOnce(ctx context.Context, line string) bool {
	said, err := t.session.Command(ctx, line)
	if err != nil {
		t.out.Fail(explain(err))
		return true
	}
	for line := range strings.Lines(strings.TrimSpace(said)) {
		if line = strings.TrimSpace(line); line != "" {
			t.out.Note(line)
		}
	}
	return true
}

func (t *talk) listSessions(ctx context.Context) error {
	all, err := sessionsOf(ctx, t.client, t.config.Dir, t.session.ID())
	if err != nil {
		return err
	}
	t.listed = all
	for _, line := range screen.SessionLines(all) {
		t.out.Note(line)
	}
	return nil
}

// numbered returns the session of a number of the last list.
func (t *talk) numbered(number string) (acp.SessionID, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(t.listed) {
		return "", fmt.Errorf("/sessions %s: /sessions alone lists them, with numbers", show.Line(number))
	}
	return acp.SessionID(t.listed[n-1].ID), nil
}

func (t *talk) open(ctx context.Context, id acp.SessionID) error {
	next, err := openSession(ctx, t.client, t.session, t.config.Dir, id)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.session, t.shown = next, nil
	t.mu.Unlock()
	if t.begins != nil {
		t.again()
	}
	if p, ok := t.out.(*plain.Printer); ok {
		p.Reset()
	}
	if id == "" {
		t.out.Note("A new conversation.")
	}
	t.catchUp()
	t.out.EndTurn()
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
)

// titledValue is the name of the session's value that marks its title as set by a person.
const titledValue = "titled"

// maxTitle bounds titles that are made of a prompt, in characters.
const maxTitle = 80

// SetTitle sets the title, which prompts then no longer change. After an empty title, the next
// prompt makes one.
func (s *Session) SetTitle(ctx context.Context, title string) error {
	c, done, err := s.look(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.update(ctx, titleChange(title)); err != nil {
		return err
	}
	s.announce(ctx, c, s.infoEntity())
	return nil
}

func titleChange(title string) session.Change {
	by := json.RawMessage("true")
	if title == "" {
		by = nil
	}
	return session.Change{Title: &title, Values: map[string]json.RawMessage{titledValue: by}}
}

// nameAfter gives a session without a title one that is made of a prompt.
func (s *Session) nameAfter(ctx context.Context, c *conversation, parts []model.Part) (changed bool, err error) {
	info := s.Info()
	title := titleOf(parts)
	named := func() bool { return info.Title != "" || info.Values[titledValue] != nil }
	if named() || title == "" {
		return false, nil
	}
	if info, err = s.host.store.Get(ctx, s.id); err != nil || named() { // by somebody else, meanwhile
		return false, err
	}
	if err := s.update(ctx, session.Change{Title: &title}); err != nil {
		return false, err
	}
	s.announce(ctx, c, s.infoEntity())
	return true, nil
}

// titleOf makes a title of the first line of a prompt that has words.
func titleOf(parts []model.Part) string {
	for i := range parts {
		if parts[i].Kind != model.PartUser {
			continue
		}
		for line := range strings.Lines(parts[i].Text) {
			line = strings.Join(strings.Fields(show.Line(strings.TrimSpace(line))), " ")
			if line == "" {
				continue
			}
			if utf8.RuneCountInString(line) <= maxTitle {
				return line
			}
			cut := string([]rune(line)[:maxTitle-1])
			if i := strings.LastIndexByte(cut, ' '); i > maxTitle/2 {
				cut = cut[:i]
			}
			return cut + "…"
		}
	}
	return ""
}

// showInfo shows title and time of the session.
func (s *Session) showInfo(c *conversation) { c.Show(s.infoEntity()) }

func (s *Session) infoEntity() *view.Entity {
	info := s.Info()
	return &view.Entity{ID: transcript.SessionID, Kind: view.Session, Title: info.Title, Updated: info.Updated}
}

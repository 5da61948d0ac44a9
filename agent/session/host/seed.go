// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// Claim is a part of an earlier conversation, as a client tells it. Nothing proves that it was
// said.
type Claim struct {
	// Role is the alleged speaker.
	Role view.Role
	// Parts are what was said: texts, and for the user also media with Data. Of each part, only the
	// text, or the data with its type and name, is used.
	Parts []model.Part
}

// Seed gives a session that has no history one that a client claims, oldest first. It is the only
// way in which a client's account of a conversation becomes history, and it takes texts and media
// only: no tool calls and results, no thoughts, and no system prompts. The messages are marked with
// [transcript.Claimed], and what is shown of them too. Claims that are anything else, and a session
// that has a history, are errors that wrap [session.ErrInvalid]. No turn may be running.
func (s *Session) Seed(ctx context.Context, claims ...Claim) error {
	messages, err := claimedMessages(s.id, claims)
	if err != nil || len(messages) == 0 {
		return err
	}
	quiet, err := s.quiet(ctx)
	if err != nil {
		return err
	}
	defer quiet()
	c, done, err := s.use(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	if c.w.Head() > 0 {
		return fmt.Errorf("host: seed session %s: %w: it has a history", s.id, session.ErrInvalid)
	}
	now, err := c.BeginAs(ctx, transcript.Prompt{Turn: messages[0].RunID})
	if err == nil {
		err = now.Finish(ctx, messages, transcript.Done)
	}
	s.drop(c) // it is shown as the store has it
	return err
}

// claimedMessages makes messages of claims. Claims of the same role in a row become one message.
func claimedMessages(id string, claims []Claim) ([]*model.Message, error) {
	var all []*model.Message
	run, at := rand.Text(), time.Now().UTC().Round(0)
	for i := range claims {
		kind, text := model.KindRequest, model.PartUser
		switch claims[i].Role {
		case view.User:
		case view.Assistant:
			kind, text = model.KindResponse, model.PartText
		default:
			return nil, fmt.Errorf(
				"host: seed session %s: %w: claim %d has the role %q", id, session.ErrInvalid, i,
				claims[i].Role,
			)
		}
		var parts []model.Part
		for k := range claims[i].Parts {
			switch p := &claims[i].Parts[k]; {
			case p.Kind == text:
				parts = append(parts, model.Part{Kind: text, Text: p.Text})
			case p.Kind == model.PartMedia && kind == model.KindRequest && len(p.Data) > 0:
				parts = append(parts, model.Part{
					Kind: model.PartMedia, Data: p.Data, MediaType: p.MediaType, Name: p.Name,
				})
			default:
				return nil, fmt.Errorf(
					"host: seed session %s: %w: part %d of claim %d by the %s is of the kind %q",
					id, session.ErrInvalid, k, i, claims[i].Role, p.Kind,
				)
			}
		}
		if len(parts) == 0 {
			continue
		}
		if last := len(all) - 1; last >= 0 && all[last].Kind == kind {
			all[last].Parts = append(all[last].Parts, parts...)
			continue
		}
		all = append(all, &model.Message{
			Kind: kind, Parts: parts, RunID: run, ConversationID: id, Time: at, Metadata: map[string]string{transcript.Claimed: "true"},
		})
	}
	return all, nil
}

// SPDX-License-Identifier: Apache-2.0

package capability

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

// The names of the tools.
const (
	ToolSearchConversations = "search_conversations"
	ToolReadConversation    = "read_conversation"
)

const (
	// MaxConversations is how many sessions one search reads at most.
	MaxConversations = 200
	// MaxConversationBytes is how many bytes of them it reads at most.
	MaxConversationBytes = 64 << 20

	maxHits    = 8
	maxExcerpt = 600
	maxRead    = 16 << 10
)

// ConversationScope selects the sessions that a run may search.
type ConversationScope struct {
	// Store has the sessions. Nil means none, and the tools report that.
	Store session.Store
	// Dir selects the sessions that work in a directory. Empty selects all of the store.
	Dir string
	// Owner selects the sessions of one owner, and Tenant those of a tenant: see [session.Query].
	Owner  *string
	Tenant string
	// Current is the session of the run, which is left out.
	Current string
}

type searchArgs struct {
	Query string `json:"query" jsonschema_description:"Words from the conversation." validate:"required,max=500"`
}

type readArgs struct {
	Session string `json:"session" jsonschema_description:"The id of the session, as the search returned it." validate:"required,max=256"`
	Entry   int64  `json:"entry,omitempty" jsonschema_description:"Where to begin, as the search returned it. Default: the beginning." validate:"min=0"`
}

const conversationInstructions = "Use " + ToolSearchConversations + " if the user refers to an earlier conversation."

// Conversations returns the capability. scope returns the sessions that a run may search.
//
// agent.New reports a scope that is nil.
func Conversations[D any](scope func(deps D) ConversationScope) agent.Capability[D] {
	c := agent.Capability[D]{Name: "conversations", Instructions: conversationInstructions}
	if scope == nil {
		c.Toolsets = []toolset.Toolset[D]{toolset.PerRun[D]("conversations", nil)} // New reports it
		return c
	}
	c.Tools = []*toolset.Tool[D]{
		toolset.Func(ToolSearchConversations, "Search what was said in earlier conversations with the user.", func(ctx context.Context, run *toolset.RunContext[D], in searchArgs) (string, error) {
			text, err := scope(run.Deps).search(ctx, in.Query)
			return text, unreachable(err)
		}, toolset.OfKind(toolset.KindSearch, "Search conversations")),
		toolset.Func(ToolReadConversation, "Read a part of an earlier conversation.", func(ctx context.Context, run *toolset.RunContext[D], in readArgs) (string, error) {
			text, err := scope(run.Deps).read(ctx, in.Session, in.Entry)
			return text, unreachable(err)
		}, toolset.OfKind(toolset.KindRead, "Read conversation")),
	}
	return c
}

// unreachable has the model told if the store cannot be reached: the run may do without earlier
// conversations. The details of the error are not for the model.
func unreachable(err error) error {
	if errors.Is(err, session.ErrUnavailable) || errors.Is(err, session.ErrBusy) {
		return toolset.Failed("Earlier conversations cannot be read at the moment.")
	}
	return err
}

// said is a message in a session.
type said struct {
	who, text string
	seq       int64
}

// saidIn returns what a message of a session says.
func saidIn(e *session.Entry) (s said, ok bool) {
	if e.Kind != session.KindMessage || strings.HasPrefix(e.Key, "changed/") {
		return s, false // a processor has made it of what was said
	}
	var body struct {
		Message *model.Message `json:"message"`
	}
	if json.Unmarshal(e.Data, &body) != nil || body.Message == nil {
		return s, false
	}
	s = said{who: "user", seq: e.Seq}
	want := model.PartUser
	if body.Message.Kind == model.KindResponse {
		s.who, want = "agent", model.PartText
	}
	var texts []string
	for i := range body.Message.Parts {
		p := &body.Message.Parts[i]
		if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
			return s, false // what follows comes from tools
		}
		if p.Kind == want && strings.TrimSpace(p.Text) != "" {
			texts = append(texts, p.Text)
		}
	}
	s.text = strings.Join(texts, "\n")
	return s, s.text != ""
}

// hit is a result of a search.
type hit struct {
	said
	session string
	title   string
	time    time.Time
	// words is how many different words of the query it has.
	words int
	at    int
}

func (s ConversationScope) search(ctx context.Context, query string) (string, error) {
	words := strings.Fields(strings.ToLower(query))
	slices.Sort(words)
	words = slices.Compact(words)
	if s.Store == nil || len(words) == 0 {
		return "There are no earlier conversations.", nil
	}
	var hits []hit
	more := false
	sessions, size := 0, int64(0)
	for q := (session.Query{Owner: s.Owner, Tenant: s.Tenant, Dir: s.Dir, Conversations: true, Limit: 50}); ; {
		page, err := s.Store.List(ctx, q)
		if err != nil && (len(page.Sessions) == 0 || !errors.Is(err, session.ErrCorrupt)) {
			return "", fmt.Errorf("capability: %w", err)
		}
		for i := range page.Sessions {
			info := &page.Sessions[i]
			if info.ID == s.Current {
				continue
			}
			if sessions++; sessions > MaxConversations {
				more = true
				break
			}
			found, read, err := s.searchOne(ctx, info, words, MaxConversationBytes-size)
			if err != nil {
				return "", err
			}
			hits = append(hits, found...)
			if len(hits) > 20*maxHits {
				hits = best(hits)
			}
			if size += read; size > MaxConversationBytes {
				more = true
				break
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" || more {
			break
		}
	}
	if len(hits) == 0 {
		return "Nothing fits. Try other words." + left(more), nil
	}
	var b strings.Builder
	for _, h := range best(hits) {
		fmt.Fprintf(&b, "## %s (%s, session %s, entry %d)\n%s: %s\n\n", clean.Short(cmp.Or(h.title, "Untitled"), 100), h.time.Format(time.DateOnly), clean.Short(h.session, 300), h.seq, h.who, excerpt(h.text, h.at))
	}
	return strings.TrimSpace(b.String()) + left(more), nil
}

func left(more bool) string {
	if more {
		return "\n\n[Not all conversations were searched.]"
	}
	return ""
}

// best returns the hits with the most words, the latest first.
func best(hits []hit) []hit {
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.words-a.words, b.time.Compare(a.time)) })
	return hits[:min(len(hits), maxHits)]
}

// searchOne searches a session. read is how many bytes it has looked at.
func (s ConversationScope) searchOne(ctx context.Context, info *session.Info, words []string, limit int64) (hits []hit, read int64, err error) {
	for e, err := range s.Store.Load(ctx, info.ID, 0) {
		if err != nil {
			var one *session.Error
			switch {
			case errors.Is(err, session.ErrCorrupt) && errors.As(err, &one) && one.Seq > 0:
				continue
			case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrCorrupt):
				return hits, read, nil // it has just been deleted, or cannot be opened
			}
			return nil, read, fmt.Errorf("capability: %w", err)
		}
		if read += int64(len(e.Data)); read > limit {
			return hits, read, nil
		}
		said, ok := saidIn(&e)
		if !ok {
			continue
		}
		h := hit{said: said, session: info.ID, title: info.Title, time: e.Time, at: -1}
		lower := strings.ToLower(said.text)
		for _, w := range words {
			if i := strings.Index(lower, w); i >= 0 {
				if h.words++; h.at < 0 || i < h.at {
					h.at = i
				}
			}
		}
		if h.words > 0 {
			hits = append(hits, h)
		}
	}
	return hits, read, nil
}

// excerpt returns the text around a place.
func excerpt(text string, at int) string {
	from := max(0, min(at, len(text))-maxExcerpt/3) // lower case may have another length
	for from > 0 && from < len(text) && text[from]&0xC0 == 0x80 {
		from--
	}
	short := clean.Short(text[from:], maxExcerpt)
	if from > 0 {
		short = "…" + short
	}
	return short
}

func (s ConversationScope) read(ctx context.Context, id string, from int64) (string, error) {
	if s.Store == nil {
		return "", toolset.Failed("There are no earlier conversations.")
	}
	info, err := s.Store.Get(ctx, id)
	mine := session.Query{Owner: s.Owner, Tenant: s.Tenant, Dir: s.Dir}
	unknown := errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrInvalid)
	if unknown || errors.Is(err, session.ErrCorrupt) || err == nil && !mine.Selects(&info) {
		return "", toolset.Failed("There is no session %s.", clean.Short(id, 300))
	}
	if err != nil {
		return "", fmt.Errorf("capability: %w", err)
	}
	var b strings.Builder
	total := int64(0)
	for e, err := range s.Store.Load(ctx, id, max(0, from-1)) {
		if err != nil {
			var one *session.Error
			if errors.Is(err, session.ErrCorrupt) && errors.As(err, &one) && one.Seq > 0 {
				continue
			}
			return "", fmt.Errorf("capability: %w", err)
		}
		said, ok := saidIn(&e)
		if total += int64(len(e.Data)); !ok && total <= MaxConversationBytes {
			continue
		}
		text, cut := clean.Cut(clean.Text(said.text), maxRead/2)
		if cut {
			text += "\n[There is more of this message.]"
		}
		if b.Len() > 0 && b.Len()+len(text) > maxRead || total > MaxConversationBytes {
			fmt.Fprintf(&b, "[To read on, call %s with entry %d.]", ToolReadConversation, e.Seq)
			break
		}
		fmt.Fprintf(&b, "%s: %s\n\n", said.who, text)
	}
	if b.Len() == 0 {
		return "Nothing was said there.", nil
	}
	return strings.TrimSpace(b.String()), nil
}

// SPDX-License-Identifier: Apache-2.0

package capability_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// The last byte that may be looked at is looked at, and no byte behind it.
func TestAsManyBytesAsSaidAreLookedAt(t *testing.T) {
	s := new(session.Memory)
	message := model.UserText("needle")
	add(t, s, session.New{ID: "s1", Created: day}, message)
	data, err := json.Marshal(map[string]any{"message": message})
	require.NoError(t, err)
	fits := make(json.RawMessage, capability.MaxConversationBytes-len(data)+1)
	told := runConversations(t, scope{Store: padded{s, fits[1:]}}, search("needle"), read("s1", 0))
	require.Equal(t, []string{"## Untitled (2026-05-01, session s1, entry 1)\nuser: needle", "user: needle"}, told)
	told = runConversations(t, scope{Store: padded{s, fits}}, search("needle"), read("s1", 0))
	require.Equal(t, []string{
		"Nothing fits. Try other words.\n\n[Not all conversations were searched.]",
		"[To read on, call read_conversation with entry 1.]",
	}, told)
}

// The session of the run itself does not count.
func TestAsManySessionsAsSaidAreSearched(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "now", Created: day.AddDate(9, 0, 0)}, model.UserText("needle"))
	for i := range capability.MaxConversations {
		add(t, s, session.New{ID: fmt.Sprint("s", i), Created: day.AddDate(0, 0, i)}, model.UserText("hay"))
	}
	require.Equal(t, []string{"Nothing fits. Try other words."}, runConversations(t, scope{Store: s, Current: "now"}, search("needle")))
	add(t, s, session.New{ID: "old", Created: day.AddDate(-1, 0, 0)}, model.UserText("needle"))
	require.Equal(t, []string{"Nothing fits. Try other words.\n\n[Not all conversations were searched.]"}, runConversations(t, scope{Store: s, Current: "now"}, search("needle")))
}

// A conversation is read from the entry on that is asked for.
func TestReadingBeginsWhereAsked(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "s1", Created: day}, model.UserText("one"), model.UserText("two"), model.UserText("three"))
	require.Equal(t, []string{
		"user: one\n\nuser: two\n\nuser: three", "user: one\n\nuser: two\n\nuser: three", "user: two\n\nuser: three", "user: three", "Nothing was said there.",
	}, runConversations(t, scope{Store: s}, read("s1", 0), read("s1", 1), read("s1", 2), read("s1", 3), read("s1", 4)))
}

// renamed is a store whose sessions have a long id.
type renamed struct {
	session.Store
	id string
}

func (r renamed) List(ctx context.Context, q session.Query) (session.Page, error) {
	page, err := r.Store.List(ctx, q)
	for i := range page.Sessions {
		page.Sessions[i].ID = r.id
	}
	return page, err
}

func (r renamed) Load(ctx context.Context, _ string, after int64) iter.Seq2[session.Entry, error] {
	return r.Store.Load(ctx, "s1", after)
}

// What a search shows of a session is cut at fixed lengths.
func TestTitlesAndExcerptsHaveBounds(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "s1", Created: day, Title: strings.Repeat("t", 100)}, model.UserText("needle"+strings.Repeat("x", 594)))
	hit := func(id, title, text string) string {
		return fmt.Sprintf("## %s (2026-05-01, session %s, entry 1)\nuser: %s", title, id, text)
	}
	r := func(letter string, n int) string { return strings.Repeat(letter, n) }
	require.Equal(t, hit(r("i", 300), r("t", 100), "needle"+r("x", 594)), runConversations(t, scope{Store: renamed{s, r("i", 300)}}, search("needle"))[0])

	longer := new(session.Memory)
	add(t, longer, session.New{ID: "s1", Created: day, Title: r("t", 101)}, model.UserText("needle"+r("x", 595)))
	require.Equal(t, hit(r("i", 297)+"…", r("t", 97)+"…", "needle"+r("x", 591)+"…"), runConversations(t, scope{Store: renamed{longer, r("i", 301)}}, search("needle"))[0])
}

// The excerpt shows the first of the words, also if the text begins with it.
func TestExcerptsBeginWithTheText(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "s1", Created: day}, model.UserText("alpha"+strings.Repeat("x", 1000)+"omega"))
	told := runConversations(t, scope{Store: s}, search("alpha omega"))
	require.Contains(t, told[0], "\nuser: alphax")
}

// An excerpt begins at the beginning if less than a character would be left out.
func TestExcerptsBeginWithAWholeCharacter(t *testing.T) {
	for skipped, begins := range []string{"user: éb", "user: éb", "user: …b"} {
		s := new(session.Memory)
		add(t, s, session.New{ID: "s1", Created: day}, model.UserText("éb"+strings.Repeat("x", 200+skipped-len("éb "))+" first"))
		require.Contains(t, runConversations(t, scope{Store: s}, search("first"))[0], begins, skipped)
	}
}

// An id that is not known is told in part, and an entry that is damaged is left out, be it the
// first.
func TestUnknownIDsAreToldInPart(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "s1", Created: day}, model.UserText("port one"), model.UserText("port two"))
	told := runConversations(t, scope{Store: s}, read(strings.Repeat("é", 150), 0), read(strings.Repeat("é", 150)+"x", 0))
	require.Equal(t, []string{"There is no session " + strings.Repeat("é", 150) + ".", "There is no session " + strings.Repeat("é", 148) + "…."}, told)
	told = runConversations(t, scope{Store: damaged{s, "s1", 1, session.ErrCorrupt}}, search("port"), read("s1", 0))
	require.Equal(t, []string{"## Untitled (2026-05-01, session s1, entry 2)\nuser: port two", "user: port two"}, told)
}

// Messages are shown up to half of what one call returns, which is so much that two of them fit.
func TestReadingEndsWhenTheNextDoesNotFit(t *testing.T) {
	s := new(session.Memory)
	whole := strings.Repeat("x", 8<<10)
	last := strings.Repeat("y", 8<<10-len("user: \n\n"))
	add(t, s, session.New{ID: "s1", Created: day}, model.UserText(whole), model.UserText(last), model.UserText("end"))
	add(t, s, session.New{ID: "s2", Created: day}, model.UserText(whole+"x"), model.UserText("end"))
	add(t, s, session.New{ID: "s3", Created: day}, model.UserText(whole), model.UserText(last+"y"))
	require.Equal(t, []string{
		"user: " + whole + "\n\nuser: " + last + "\n\n[To read on, call read_conversation with entry 3.]",
		"user: " + whole + "\n[There is more of this message.]\n\nuser: end",
		"user: " + whole + "\n\n[To read on, call read_conversation with entry 2.]",
	}, runConversations(t, scope{Store: s}, read("s1", 0), read("s2", 0), read("s3", 0)))
}

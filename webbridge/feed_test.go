// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// one is a session as a client of a feed knows it.
type one struct {
	fold     *view.Fold
	partial  []view.Change
	position string
	running  bool
	resets   int
	ended    string // the kind of the error
}

func (o *one) text() string { return (&stream{fold: o.fold}).text() }

func (o *one) has(text string) func() bool {
	return func() bool { return strings.Contains(o.text(), text) }
}

// feed is a stream of several sessions.
type feed struct {
	t       testing.TB
	res     *http.Response
	lines   *bufio.Reader
	ones    []*one
	id      string
	listed  map[string]session.Info
	removed []string
	all     int
	events  int
	largest int
	ended   bool
}

// idOf returns the id of a session by its path.
func idOf(path string) string {
	id, _ := url.PathUnescape(strings.TrimPrefix(path, "/api/sessions/"))
	return id
}

// feed begins to follow sessions at positions, which may be nil.
func (s *server) feed(paths, from []string, list bool, header ...string) *feed {
	s.t.Helper()
	q := url.Values{"list": {fmt.Sprint(list)}, "from": from}
	for _, p := range paths {
		q.Add("follow", idOf(p))
	}
	r := s.request("GET", "/api/events?"+q.Encode(), nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(s.t, 200, res.StatusCode)
	f := &feed{t: s.t, res: res, lines: bufio.NewReader(res.Body), listed: map[string]session.Info{}}
	for range paths {
		f.ones = append(f.ones, &one{fold: new(view.Fold)})
	}
	return f
}

// next reads an event. It returns false at the end.
func (f *feed) next() bool {
	f.t.Helper()
	kind, data := "", ""
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return false
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" && kind != "" {
			break
		}
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "event":
			kind = value
		case "data":
			data = value
		case "id":
			f.id = value
		}
	}
	f.events++
	f.largest = max(f.largest, len(data))
	switch kind {
	case "sessions":
		if len(data) < 1<<20 {
			requireIs(f.t, "SessionsNews", []byte(data))
		}
		var u struct {
			Sessions []struct {
				Follow   int
				Changes  []view.Change
				Position string
				Running  bool
				Reset    bool
				More     bool
				End      *struct{ Error struct{ Kind string } }
			}
		}
		require.NoError(f.t, json.Unmarshal([]byte(data), &u))
		for _, s := range u.Sessions {
			o := f.ones[s.Follow]
			require.Empty(f.t, o.ended, "nothing comes after the end")
			if s.End != nil {
				o.ended = s.End.Error.Kind
				continue
			}
			if s.Reset {
				o.fold, o.partial = new(view.Fold), nil
				o.resets++
			}
			if o.partial = append(o.partial, s.Changes...); s.More {
				continue
			}
			for _, c := range o.partial {
				if err := o.fold.Apply(c); c.Op != view.Remove { // who resumes may be told of the removal of what it never knew
					require.NoError(f.t, err)
				}
			}
			o.partial, o.position, o.running = nil, s.Position, s.Running
			require.Equal(f.t, o.position, strings.Split(f.id, ",")[s.Follow], "the id of the event has the position")
		}
	case "list":
		requireIs(f.t, "ListNews", []byte(data))
		var n struct {
			All     bool
			Changed []session.Info
			Removed []string
		}
		require.NoError(f.t, json.Unmarshal([]byte(data), &n))
		if n.All {
			f.all++
		}
		for _, info := range n.Changed {
			f.listed[info.ID] = info
		}
		f.removed = append(f.removed, n.Removed...)
	case "end":
		requireIs(f.t, "Error", []byte(data))
		f.ended = true
	default:
		f.t.Fatalf("event %q", kind)
	}
	return true
}

// until reads events until a condition holds.
func (f *feed) until(ok func() bool) {
	f.t.Helper()
	for !ok() {
		require.True(f.t, f.next(), "the stream has ended")
	}
}

// TestOneStreamFollowsManySessions follows two sessions, one that does not exist and one of another user, and goes on at the positions.
func TestOneStreamFollowsManySessions(t *testing.T) {
	s := serve(t, options{Options: webbridge.Options{User: func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }}})
	ada := s.as("ada")
	a, b, alien := ada.create(), ada.create(), s.as("bob").create()
	ada.do("POST", a+"/prompts", say("one"), 202)
	f := ada.feed([]string{a, b, "/api/sessions/nothing", alien}, nil, false)
	first, second := f.ones[0], f.ones[1]
	f.until(func() bool {
		return first.has("You said one")() && !first.running && f.ones[2].ended != "" && f.ones[3].ended != "" && second.position != ""
	})
	require.Equal(t, webbridge.KindNotFound, f.ones[2].ended)
	require.Equal(t, webbridge.KindNotFound, f.ones[3].ended, "other users' sessions do not exist")
	require.Equal(t, []int{1, 1}, []int{first.resets, second.resets}, "without a position, it begins with everything")
	ada.do("POST", b+"/prompts", say("two"), 202)
	f.until(second.has("You said two"))
	require.Equal(t, 1, second.resets)

	again := ada.feed([]string{b, a}, []string{"", first.position}, false)
	again.until(again.ones[0].has("You said two"))
	ada.do("POST", a+"/prompts", say("three"), 202)
	again.until(func() bool { return again.ones[1].has("You said three")() && !again.ones[1].running })
	require.False(t, again.ones[1].has("You said one")(), "it goes on at the position")
	require.Equal(t, 0, again.ones[1].resets)

	last := ada.feed([]string{b, a}, []string{"x", "y"}, false, "Last-Event-ID", again.id)
	ada.do("POST", a+"/prompts", say("four"), 202)
	last.until(last.ones[1].has("You said four"))
	require.Equal(t, []int{0, 0}, []int{last.ones[0].resets, last.ones[1].resets}, "the id of the last event wins")

	unknown := ada.feed([]string{a}, []string{"nobody.7"}, false)
	unknown.until(unknown.ones[0].has("You said three"))
	require.Equal(t, 1, unknown.ones[0].resets)
}

// TestStreamOfManyIsRefused refuses what makes no sense.
func TestStreamOfManyIsRefused(t *testing.T) {
	s := serve(t, options{})
	for _, query := range []string{"follow=a&from=b&from=c", "from=b", "list=perhaps", strings.Repeat("follow=a&", 101)} {
		require.Equal(t, webbridge.KindInvalid, s.refused("GET", "/api/events?"+query, nil, 400), query)
	}
	few := serve(t, options{Options: webbridge.Options{Limits: webbridge.Limits{UserStreams: 2}}})
	path := few.create()
	f := few.feed([]string{path, path}, nil, false)
	f.until(func() bool { return f.ones[0].ended != "" || f.ones[1].ended != "" })
	require.Equal(t, webbridge.KindLimit, f.ones[0].ended+f.ones[1].ended, "each session counts")
	require.Equal(t, webbridge.KindLimit, few.refused("GET", "/api/events?list=true", nil, 429))
}

// TestStreamTellsOfLists tells each user of the sessions of that user only.
func TestStreamTellsOfLists(t *testing.T) {
	store := new(session.Memory)
	user := func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }
	all := fleet(t, shared{store}, options{Options: webbridge.Options{User: user}}, "one", "two")
	ada, bob := all[0].as("ada"), all[0].as("bob")
	f, g := ada.feed(nil, nil, true), bob.feed(nil, nil, true)
	f.until(func() bool { return f.all == 1 })
	g.until(func() bool { return g.all == 1 })
	mine := all[1].as("ada").create() // by another server
	f.until(func() bool { return f.listed[idOf(mine)].ID != "" })
	require.Nil(t, f.listed[idOf(mine)].Values, "the values are the server's")
	ada.do("PATCH", mine, object{"title": "Rivers"}, 200)
	f.until(func() bool { return f.listed[idOf(mine)].Title == "Rivers" })
	all[1].as("ada").do("DELETE", mine, nil, 204)
	f.until(func() bool { return len(f.removed) > 0 })
	require.Equal(t, []string{idOf(mine)}, f.removed)

	hidden := ada.create()
	f.until(func() bool { return f.listed[idOf(hidden)].ID != "" })
	err := all[0].handler.Host().SetArchived(t.Context(), idOf(hidden), true)
	require.NoError(t, err)
	f.until(func() bool { return len(f.removed) > 1 })

	his := bob.create()
	g.until(func() bool { return len(g.listed) > 0 })
	require.Equal(t, idOf(his), g.listed[idOf(his)].ID)
	require.Len(t, g.listed, 1)
	require.Empty(t, g.removed, "he does not hear of hers")
}

// TestStreamTellsOfManyChangesAsOne makes more sessions than a slow reader is told of by name.
func TestStreamTellsOfManyChangesAsOne(t *testing.T) {
	store := new(session.Memory)
	s := fleet(t, shared{store}, options{}, "one")[0]
	f := s.feed(nil, nil, true)
	f.until(func() bool { return f.all == 1 })
	for i := range 1000 {
		_, err := store.Create(t.Context(), session.New{ID: fmt.Sprint("s", i)})
		require.NoError(t, err)
	}
	f.until(func() bool { return f.all == 2 })
	require.Less(t, f.largest, 200<<10)
}

// TestLargeSessionsComeInParts has two sessions that fit into no event.
func TestLargeSessionsComeInParts(t *testing.T) {
	s := serve(t, options{})
	paths := []string{s.create(), s.create()}
	text := strings.Repeat("0123456789abcdef", 2000)
	for _, path := range paths {
		for i := range 3 {
			g := s.feed([]string{path}, nil, false)
			s.do("POST", path+"/prompts", say(fmt.Sprint(i, text)), 202)
			g.until(func() bool { return g.ones[0].has(fmt.Sprint("You said ", i))() && !g.ones[0].running })
			_ = g.res.Body.Close()
		}
	}
	f := s.feed(paths, nil, false)
	f.until(func() bool { return f.ones[0].position != "" && f.ones[1].position != "" })
	require.Greater(t, f.events, 2)
	require.Less(t, f.largest, 64<<10+2*len(text), "an event ends with the entity that makes it large")
	for _, o := range f.ones {
		require.Equal(t, 6, strings.Count(o.text(), text))
	}
}

// TestStreamShowsTurnsOfOtherServers follows a turn on another server, which is running there.
func TestStreamShowsTurnsOfOtherServers(t *testing.T) {
	paid := make(chan string, 1)
	all := fleet(t, shared{new(session.Memory)}, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}}, "one", "two")
	path := all[0].create()
	f := all[1].feed([]string{path}, nil, false)
	all[0].do("POST", path+"/prompts", say("pay"), 202)
	question := func() *view.Entity { return (&stream{fold: f.ones[0].fold}).question() }
	f.until(func() bool { return question() != nil && f.ones[0].running })
	q := question()
	all[1].do("POST", path+"/questions/"+url.PathEscape(q.ID), answering(q, object{"choice": host.AllowOnce}), 204)
	require.Equal(t, "Ada", <-paid)
	all[1].do("POST", path+"/cancel", object{}, 204)
	f.until(func() bool { return !f.ones[0].running })
}

// TestStreamEndsWithTheServer ends streams, also those that follow nothing.
func TestStreamEndsWithTheServer(t *testing.T) {
	s := serve(t, options{})
	path := s.create()
	for _, paths := range [][]string{nil, {path}, {path, path}} {
		s.feed(paths, nil, true)
	}
	f, g := s.feed([]string{path, "/api/sessions/nothing"}, nil, true), s.feed(nil, nil, false)
	f.until(func() bool { return f.ones[0].position != "" && f.ones[1].ended != "" })
	require.NoError(t, s.handler.Shutdown(t.Context()))
	f.until(func() bool { return f.ended })
	g.until(func() bool { return g.ended })
	require.Equal(t, webbridge.KindUnavailable, f.ones[0].ended)
	require.False(t, f.next())
	require.Equal(t, webbridge.KindUnavailable, s.refused("GET", "/api/events", nil, 503))
}

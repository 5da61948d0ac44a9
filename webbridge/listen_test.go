// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// town is a store whose changes a test tells of. It notes when somebody listens to it, and what is looked at.
type town struct {
	*session.Memory
	changes chan string // ids; "!" is an error

	mu    sync.Mutex
	began time.Time
	noted []string
	fails string // cannot be looked at
}

func newTown() *town {
	return &town{Memory: new(session.Memory), changes: make(chan string, 20_000), began: time.Now()}
}

func (s *town) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = append(s.noted, fmt.Sprint(what, " at ", time.Since(s.began)))
}

// notes returns what was noted since it was called last, in alphabetical order.
func (s *town) notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.noted
	s.noted = nil
	slices.Sort(all)
	return all
}

func (s *town) Listen(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		s.note("listen")
		defer s.note("leave")
		for {
			select {
			case id := <-s.changes:
				var err error
				if id == "!" {
					id, err = "", errors.New("the store is away")
				}
				if !yield(id, err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// failAt has a session not be looked at.
func (s *town) failAt(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = id
}

func (s *town) Get(ctx context.Context, id string) (session.Info, error) {
	s.note("get " + id)
	s.mu.Lock()
	fails := s.fails == id
	s.mu.Unlock()
	if fails {
		return session.Info{}, errors.New("the store is away")
	}
	return s.Memory.Get(ctx, id)
}

// slow is a client that takes nothing while hold has an element.
type slow struct {
	*deadlines
	hold chan none
}

func (s *slow) Write(data []byte) (int, error) {
	s.hold <- none{}
	defer func() { <-s.hold }()
	return s.deadlines.Write(data)
}

// list is a stream of changes in the list of a user.
type list struct {
	*slow
	leave func()
	read  int
}

// listens opens a stream of a user's list.
func listens(t *testing.T, h *webbridge.Handler, user string) *list {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &list{slow: &slow{&deadlines{ResponseRecorder: httptest.NewRecorder()}, make(chan none, 1)}}
	ended := make(chan struct{})
	go func() { h.ServeHTTP(l, of(ctx, user, "GET", "/api/events?list=true", "")); close(ended) }()
	l.leave = func() { cancel(); <-ended }
	synctest.Wait()
	return l
}

// news returns what the stream has told since it was called last, without times and holders.
func (l *list) news() string {
	text := l.text()
	text, l.read = text[l.read:], len(text)
	return strings.ReplaceAll(apiChance.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "20") {
			return "TIME"
		}
		return found
	}), "event: list\ndata: ", "")
}

// TestChangesOfAListAreToldWithinABeat has sessions that are made, hidden and removed, by users who watch their list and by others.
// What has changed is looked at twice a second, and only if somebody watches.
func TestChangesOfAListAreToldWithinABeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTown()
		h := newHandler(t, options{host: host.Config[none, string]{Store: store}, Options: webbridge.Options{User: byHeader, Dirs: []string{"/repo"}}})
		add := func(n session.New) string {
			_, err := store.Create(t.Context(), n)
			require.NoError(t, err)
			store.changes <- n.ID
			return n.ID
		}
		beat := func() { time.Sleep(500 * time.Millisecond); synctest.Wait() }
		told := func(id string) string {
			return `{"id":"` + id + `","dir":"/repo","created":"TIME","updated":"TIME","head":0,"size":0}`
		}
		require.Empty(t, store.notes(), "nobody listens yet")
		ada := listens(t, h, "ada")
		require.Equal(t, []string{"listen at 0s"}, store.notes())
		require.Equal(t, ":\n\n", ada.news())
		store.changes <- "" // from now on, all is heard
		synctest.Wait()
		require.Equal(t, "{\"all\":true}\n\n", ada.news())

		add(session.New{ID: "a", Owner: "ada", Dir: "/repo"})
		time.Sleep(500*time.Millisecond - time.Nanosecond)
		synctest.Wait()
		require.Empty(t, ada.news())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, `{"changed":[`+told("a")+"]}\n\n", ada.news())
		require.Equal(t, []string{"get a at 500ms"}, store.notes())

		for _, n := range []session.New{
			{ID: "b", Owner: "bob", Dir: "/repo"}, {ID: "away", Owner: "ada", Dir: "/elsewhere"}, {ID: "tenant", Owner: "ada", Dir: "/repo", Tenant: "t"}, {ID: "internal", Owner: "ada", Dir: session.InternalDir + "x"},
		} {
			add(n)
		}
		beat()
		require.Empty(t, ada.news(), "she does not hear of what is not hers")
		require.Equal(t, []string{"get away at 1s", "get b at 1s", "get internal at 1s", "get tenant at 1s"}, store.notes())
		store.changes <- "b"
		store.changes <- "b"
		store.changes <- "a"
		beat()
		require.Equal(t, []string{"get a at 1.5s"}, store.notes(), "it is known whose the other one is, and nobody of them listens")
		require.Equal(t, `{"changed":[`+told("a")+"]}\n\n", ada.news())

		bob := listens(t, h, "bob")
		require.Empty(t, store.notes(), "one listens for all")
		require.Equal(t, ":\n\n{\"all\":true}\n\n", bob.news(), "changes are heard, so the list can be read")
		store.changes <- "b"
		beat()
		require.Equal(t, `{"changed":[`+told("b")+"]}\n\n", bob.news())
		require.Empty(t, ada.news())

		for _, id := range []string{"a", "b"} {
			require.NoError(t, store.Delete(t.Context(), id))
			store.changes <- id
		}
		store.changes <- "never there"
		beat()
		require.Equal(t, "{\"removed\":[\"a\"]}\n\n", ada.news())
		require.Equal(t, "{\"removed\":[\"b\"]}\n\n", bob.news())

		add(session.New{ID: "c", Owner: "ada", Dir: "/repo"})
		add(session.New{ID: "d", Owner: "ada", Dir: "/repo"})
		require.NoError(t, h.Host().SetArchived(t.Context(), "c", true))
		store.failAt("d")
		beat()
		require.Equal(t, "{\"removed\":[\"c\"]}\n\n", ada.news(), "what is archived is in no list; what cannot be looked at is not told")

		bob.leave()
		ada.leave()
		synctest.Wait()
		require.Contains(t, store.notes(), "leave at 3s", "nobody listens any more")
		add(session.New{ID: "e", Owner: "ada", Dir: "/repo"})
		beat()
		require.Empty(t, store.notes())
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestStoreThatCannotBeHeardIsAskedAgain has a store that stops to tell of changes. After a beat it is asked again.
func TestStoreThatCannotBeHeardIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTown()
		h := newHandler(t, options{host: host.Config[none, string]{Store: store}, Options: webbridge.Options{User: byHeader}})
		ada := listens(t, h, "ada")
		store.changes <- "!"
		store.changes <- ""
		time.Sleep(500*time.Millisecond - time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{"leave at 0s", "listen at 0s"}, store.notes())
		require.Equal(t, ":\n\n", ada.news())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{"listen at 500ms"}, store.notes())
		require.Equal(t, "{\"all\":true}\n\n", ada.news())
		ada.leave()
		again := listens(t, h, "ada")
		require.Equal(t, ":\n\n", again.news(), "the next one waits for the store, too")
		again.leave()
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestListsOfStoresThatTellNothing has a store that does not tell of changes: the list is read once, and has no news.
func TestListsOfStoresThatTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, options{host: host.Config[none, string]{Store: durable{new(session.Memory)}}, Options: webbridge.Options{User: byHeader}})
		ada := listens(t, h, "ada")
		require.Equal(t, ":\n\n{\"all\":true}\n\n", ada.news())
		time.Sleep(14 * time.Second)
		synctest.Wait()
		require.Empty(t, ada.news())
		ada.leave()
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// TestSlowReadersOfListsAreToldOf200Changes has a reader that takes nothing for a while. It is told of 200 sessions by their ids, and
// to read its list again if there are more.
func TestSlowReadersOfListsAreToldOf200Changes(t *testing.T) {
	for _, c := range []struct{ changed, removed int }{{200, 0}, {201, 0}, {150, 50}, {150, 51}, {0, 200}, {0, 201}} {
		bubble(t, func(t *testing.T) {
			store := newTown()
			h := newHandler(t, options{host: host.Config[none, string]{Store: store}, Options: webbridge.Options{User: byHeader}})
			ada := listens(t, h, "ada")
			ids := make([]string, c.changed+c.removed)
			for i := range ids {
				ids[i] = fmt.Sprint("s", i)
				_, err := store.Create(t.Context(), session.New{ID: ids[i], Owner: "ada"})
				require.NoError(t, err)
			}
			for at := 0; at < len(ids); at += 100 { // all are told, so that it is known whose they are
				for _, id := range ids[at:min(at+100, len(ids))] {
					store.changes <- id
				}
				time.Sleep(500 * time.Millisecond)
				synctest.Wait()
			}
			_ = ada.news()
			ada.hold <- none{}
			store.changes <- "" // it is about to be told of this one
			synctest.Wait()
			for i, id := range ids {
				if i >= c.changed {
					require.NoError(t, store.Delete(t.Context(), id))
				}
				store.changes <- id
			}
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			<-ada.hold
			synctest.Wait()
			text, ok := strings.CutPrefix(ada.news(), "{\"all\":true}\n\n")
			require.True(t, ok)
			if len(ids) > 200 {
				require.Equal(t, "{\"all\":true}\n\n", text)
			} else {
				require.Equal(t, 1, strings.Count(text, "\n\n"))
				require.NotContains(t, text, "all")
				for _, id := range ids {
					require.Equal(t, 1, strings.Count(text, `"`+id+`"`), id)
				}
			}
			ada.leave()
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// TestManyChangesAtOnceAreNotLookedAt has more changes in a beat than are looked at one by one.
func TestManyChangesAtOnceAreNotLookedAt(t *testing.T) {
	for _, n := range []int{10_000, 10_001} {
		bubble(t, func(t *testing.T) {
			store := newTown()
			h := newHandler(t, options{host: host.Config[none, string]{Store: store}, Options: webbridge.Options{User: byHeader}})
			ada := listens(t, h, "ada")
			for i := range n {
				store.changes <- fmt.Sprint("s", i)
			}
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			looked := len(store.notes()) - 1
			if n == 10_000 {
				require.Equal(t, n, looked)
				require.Equal(t, ":\n\n", ada.news())
			} else {
				require.Zero(t, looked)
				require.Equal(t, ":\n\n{\"all\":true}\n\n", ada.news())
			}
			ada.leave()
			require.NoError(t, h.Shutdown(t.Context()))
		})
	}
}

// TestOwnersAreRememberedWithinABound has a user with more sessions than a server remembers the owners of.
func TestOwnersAreRememberedWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		h := newHandler(t, options{host: host.Config[none, string]{Store: durable{store}}, Options: webbridge.Options{User: byHeader}})
		for i := range 10_050 {
			_, err := store.Create(t.Context(), session.New{ID: fmt.Sprintf("s%05d", i), Owner: "ada"})
			require.NoError(t, err)
		}
		cursor := ""
		for page := 1; page <= 101; page++ {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, of(t.Context(), "ada", http.MethodGet, "/api/sessions?limit=100&cursor="+cursor, ""))
			require.Equal(t, 200, w.Code)
			_, next, _ := strings.Cut(w.Body.String(), `"next":"`)
			cursor, _, _ = strings.Cut(next, `"`)
			require.Equal(t, min(page*100, 10_000), h.Remembered())
		}
		require.Empty(t, cursor)
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

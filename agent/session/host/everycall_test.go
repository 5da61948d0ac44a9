// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"iter"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/linediff"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// frail is a store of which one call fails, other than those that load, which sessions also make in the background: the one with a number, of a method. It is done all the same if only its answer is lost.
type frail struct {
	session.Store
	err  error
	lost bool

	mu     sync.Mutex
	at     string // such as "append 2"
	calls  map[string]int
	all    []string
	failed bool
}

// call counts a call, and reports whether it is the one that fails.
func (f *frail) call(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	name := fmt.Sprint(method, " ", f.calls[method])
	f.all = append(f.all, name)
	if name != f.at {
		return false
	}
	f.failed = true
	return true
}

// tries does a call, unless it fails before.
func tries[V any](f *frail, method string, do func() (V, error)) (V, error) {
	if !f.call(method) {
		return do()
	}
	if f.lost {
		_, _ = do()
	}
	var none V
	return none, f.err
}

func (f *frail) Create(ctx context.Context, n session.New) (session.Info, error) {
	return tries(f, "create", func() (session.Info, error) { return f.Store.Create(ctx, n) })
}

func (f *frail) Get(ctx context.Context, id string) (session.Info, error) {
	return tries(f, "get", func() (session.Info, error) { return f.Store.Get(ctx, id) })
}

func (f *frail) List(ctx context.Context, q session.Query) (session.Page, error) {
	return tries(f, "list", func() (session.Page, error) { return f.Store.List(ctx, q) })
}

func (f *frail) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	return tries(f, "update", func() (session.Info, error) { return f.Store.Update(ctx, id, c) })
}

func (f *frail) Fork(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
	return tries(f, "fork", func() (session.Info, error) { return f.Store.Fork(ctx, id, at, n) })
}

func (f *frail) Delete(ctx context.Context, id string) error {
	_, err := tries(f, "delete", func() (int, error) { return 0, f.Store.Delete(ctx, id) })
	return err
}

func (f *frail) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	return tries(f, "acquire", func() (session.Lease, error) { return f.Store.Acquire(ctx, id, c) })
}

func (f *frail) Release(ctx context.Context, l session.Lease) error {
	_, err := tries(f, "release", func() (int, error) { return 0, f.Store.Release(ctx, l) })
	return err
}

func (f *frail) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	return tries(f, "append", func() (int64, error) { return f.Store.Append(ctx, l, head, b) })
}

func (f *frail) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	return tries(f, "put", func() (session.Item, error) { return f.Store.Put(ctx, id, i) })
}

func (f *frail) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
	return tries(f, "change", func() (session.Item, error) { return f.Store.Change(ctx, id, item, version, data) })
}

func (f *frail) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	if f.call("items") {
		return func(yield func(session.Item, error) bool) { yield(session.Item{}, f.err) }
	}
	return f.Store.Items(ctx, id, after, kinds...)
}

// variable is what differs from run to run.
var variable = regexp.MustCompile(`[A-Z2-7]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z|"digest":"[^"]*"`)

// day is a life of a session: all that a surface does with it, and what it is told.
func day(t *testing.T, store *frail) string {
	soon := func() context.Context { // so that nobody waits for ever
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	var b strings.Builder
	var logged bytes.Buffer
	say := func(what string, v any, err error) {
		synctest.Wait() // what goes on in the background comes before the next step
		if errors.Is(err, context.DeadlineExceeded) {
			fmt.Fprintf(&b, "%s: not in time\n", what) // in the middle of one thing or another
			return
		}
		if err != nil {
			fmt.Fprintf(&b, "%s: error %v", what, err)
			for n, is := range []error{errFire, session.ErrUnavailable, session.ErrNotFound, session.ErrHeld, session.ErrConsumed, host.ErrBusy, host.ErrClosed, host.ErrNoPermission} {
				if errors.Is(err, is) {
					fmt.Fprint(&b, " is ", n)
				}
			}
			fmt.Fprintln(&b)
			return
		}
		data, err := json.Marshal(v)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s: %s\n", what, data)
	}
	outcome := func(o *host.Outcome, err error) (any, error) {
		if err != nil || o == nil {
			return nil, err
		}
		return []any{o.Reason, o.Finish, fmt.Sprint(o.Err), o.Failure, o.Titled, o.Steered, o.Elsewhere, len(o.Unread), o.Turn != ""}, nil
	}
	prompted := func(s *host.Session, text string) {
		o, err := s.Prompt(soon(), host.Prompt{Parts: []model.Part{model.User(text)}})
		v, err := outcome(o, err)
		say("prompt "+text, v, err)
	}
	shows := func(s *host.Session) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		snapshot, position, err := s.Snapshot(ctx)
		say("snapshot", position != "", err)
		if err == nil {
			for e := range snapshot.All() {
				say("  shown", e, nil)
			}
		}
	}
	var paid []string
	config := func(m model.Model) host.Config[none, string] {
		return host.Config[none, string]{
			Agent: newAgent(m, pay(&paid)), Store: store, Modes: host.Modes(), Commands: host.BuiltIns(nil), Holder: "this",
			Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})),
		}
	}
	call := modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`))
	h, err := host.New(config(modeltest.Script(modeltest.SayText("One."), call, modeltest.SayText("Paid."), modeltest.SayText("Three."), modeltest.SayText("Four."))))
	require.NoError(t, err)
	s, err := h.Create(soon(), session.New{ID: "s", Dir: "/repo"}, nil)
	say("create", s != nil, err)
	if err != nil {
		if s, err = h.Create(soon(), session.New{ID: "t", Dir: "/repo"}, nil); err != nil {
			say("create again", nil, err)
			require.NoError(t, h.Close(soon()))
			return b.String()
		}
	}
	prompted(s, "First prompt")
	all, err := s.Set(soon(), host.SettingMode, "code")
	say("set", len(all), err)
	_, err = s.Set(soon(), host.SettingMode, "ask")
	say("set back", s.Setting(host.SettingMode), err)
	say("title", nil, s.SetTitle(soon(), "Mine"))
	prompted(s, "Pay.")
	shows(s)
	open, err := questions(s)
	say("questions", len(open), err)
	for _, q := range open {
		if !strings.HasPrefix(q.Title, "Pay") {
			continue
		}
		turn, err := s.Answer(soon(), q.ID, "me", host.Answer{Digest: q.Digest, Choice: "allow_always"})
		say("answer", turn != nil, err)
		if turn != nil {
			v, err := outcome(turn.Resume(host.Prompt{}), nil)
			say("resumed", v, err)
		}
	}
	say("paid", paid, nil)
	prompted(s, "/permissions")
	prompted(s, "/permissions remove 1")
	prompted(s, "/mode plan")
	prompted(s, "Third prompt")
	prompted(s, "/undo")
	shows(s)
	waiting, err := s.Waiting(soon())
	say("waiting", len(waiting), err)
	say("edit what does not wait", nil, s.EditWaiting(soon(), "none", 1, []model.Part{model.User("x")}, nil))
	say("archive", nil, h.SetArchived(soon(), s.ID(), true))
	say("name", nil, h.SetTitle(soon(), s.ID(), "Named"))
	info, err := h.Fork(soon(), s.ID(), "", session.New{ID: "f"})
	say("fork", []any{info.ID, info.Title, info.Head}, err)
	page, err := h.List(soon(), session.Query{})
	say("list", len(page.Sessions), err)
	say("delete the fork", nil, h.Delete(soon(), "f"))
	say("close", nil, s.Close(soon()))
	say("close the host", nil, h.Close(soon()))
	synctest.Wait()

	h, err = host.New(config(modeltest.Script(modeltest.SayText("Later."))))
	require.NoError(t, err)
	id := s.ID()
	s, err = h.Open(soon(), id, nil)
	if say("open", s != nil, err); err == nil {
		shows(s)
		prompted(s, "Later prompt")
		say("info", s.Info(), nil)
		var last *view.Entity
		say("view", nil, s.View(soon(), func(f *view.Fold) { last = f.Snapshot().Last(view.Message) }))
		say("last", last, nil)
		say("rewind", nil, func() error { _, err := s.Rewind(soon(), transcript.PromptID("none")); return err }())
		say("leave", nil, s.Leave(soon(), nil))
	}
	say("delete", nil, h.Delete(soon(), id))
	say("delete again", nil, h.Delete(soon(), id))
	say("close the other host", nil, h.Close(soon()))
	return variable.ReplaceAllString(b.String()+logged.String(), "#")
}

var errFire = errors.New("the disk is on fire")

// TestEveryCallOfTheStoreCanFail has each call of the store fail that the life of a session makes, at once, with a store that cannot be reached
// for a moment, and with an answer that is lost. What is told then, as far as it is other than without trouble, is in testdata.
func TestEveryCallOfTheStoreCanFail(t *testing.T) {
	live := func(f *frail) (said string) {
		synctest.Test(t, func(t *testing.T) {
			f.Store, f.calls = new(session.Memory), map[string]int{}
			said = day(t, f)
		})
		return said
	}
	calm := &frail{}
	whole := live(calm)
	var b strings.Builder
	b.WriteString(whole)
	names := slices.Clone(calm.all)
	slices.SortFunc(names, func(a, b string) int {
		if method := strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0]); method != 0 {
			return method
		}
		return len(a) - len(b)
	})
	for _, name := range names {
		for _, how := range []string{"fails", "is late", "is done, but its answer is lost"} {
			if reads := slices.Contains([]string{"get", "list", "items"}, strings.Fields(name)[0]); how == "is late" && !reads || how != "is late" && how != "fails" && reads {
				continue
			}
			f := &frail{at: name, err: errFire, lost: strings.HasSuffix(how, "lost")}
			if how != "fails" {
				f.err = &session.Error{Op: strings.Fields(name)[0], Session: "s", Err: session.ErrUnavailable}
			}
			said := live(f)
			require.True(t, f.failed, name)
			fmt.Fprintf(&b, "%s %s: %08x\n%s", name, how, crc32.ChecksumIEEE([]byte(said)), differs(whole, said))
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o700))
		require.NoError(t, os.WriteFile("testdata/calls.txt", []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/calls.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// differs returns the first lines that are told instead of others, and their beginnings.
func differs(whole, said string) string {
	var lines []string
	for _, h := range linediff.Hunks(whole, said, 0) {
		for _, l := range h.Lines {
			if l.Op != linediff.Delete {
				text := strings.TrimSuffix(l.Text, "\n")
				lines = append(lines, "  "+text[:min(len(text), 200)]+"\n")
			}
		}
	}
	return strings.Join(lines[:min(len(lines), 12)], "")
}

// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/toolset"
)

// machine is a host on a store of its own.
func machine(t *testing.T, s session.Store, name string, m model.Model, tools ...*toolset.Tool[none]) *host.Host {
	t.Helper()
	a, err := agent.New(agent.Config[none, string]{Model: m, Tools: tools})
	require.NoError(t, err)
	h, err := host.New(host.Config[none, string]{Agent: a, Store: s, Holder: name, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	return h
}

func promptOf(text string) host.Prompt { return host.Prompt{Parts: []model.Part{model.User(text)}} }

// TestMachineTakenForDeadLeavesNothing cuts the connection of a machine's leases while a tool of it is running, as if the machine had been paused. Another
// machine takes the session and answers. Then the first one goes on.
func TestMachineTakenForDeadLeavesNothing(t *testing.T) {
	database, schema := database(t)
	first, second := store(t, database, pgstore.Options{Schema: schema}), store(t, database, pgstore.Options{Schema: schema})
	acting, act := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(act) })
	tool := toolset.Func("act", "Act.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		close(acting)
		<-act
		return "acted", nil
	})
	here := machine(t, first, "here", modeltest.Script(modeltest.Say(model.ToolCall("c", "act", "{}")), modeltest.SayText("too late"), modeltest.SayText("three")), tool)
	there := machine(t, second, "there", modeltest.Script(modeltest.SayText("two")))
	t.Cleanup(release)
	s, err := here.Create(t.Context(), session.New{ID: "a"}, nil)
	require.NoError(t, err)
	outcome := make(chan *host.Outcome, 1)
	go func() {
		o, err := s.Prompt(t.Context(), promptOf("one"))
		if err != nil {
			o = &host.Outcome{Err: err}
		}
		outcome <- o
	}()
	<-acting
	other, err := there.Open(t.Context(), "a", nil)
	require.NoError(t, err, "it follows")

	conn := admin(t, database)
	var o *host.Outcome
	require.Eventually(t, func() bool { // the server ends the connection in its own time, and the machine connects again
		_, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
			AND (classid::bigint << 32 | objid::bigint) = (SELECT instance FROM `+pgx.Identifier{schema}.Sanitize()+`.sessions WHERE id = 'a')`)
		require.NoError(t, err)
		o, err = other.Prompt(t.Context(), promptOf("and now?"))
		require.NoError(t, err)
		return !errors.Is(o.Err, session.ErrHeld)
	}, time.Minute, time.Millisecond)
	require.NoError(t, o.Err)
	info, err := second.Get(t.Context(), "a")
	require.NoError(t, err)

	release()
	o = <-outcome
	require.ErrorIs(t, o.Err, session.ErrLeaseLost)
	after, err := second.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, info.Head, after.Head, "nothing of the first machine follows")

	o, err = s.Prompt(t.Context(), promptOf("hello?"))
	require.NoError(t, err)
	require.NoError(t, o.Err, "it is free")
}

// TestAppendsThatWereGivenUp ends contexts at any point of appends. What was acknowledged is there once, and what was not, at most once.
func TestAppendsThatWereGivenUp(t *testing.T) {
	database, schema := database(t)
	s := store(t, database, pgstore.Options{Schema: schema})
	_, err := admin(t, database).Exec(t.Context(), strings.ReplaceAll(`CREATE FUNCTION SCHEMA.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.002); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON SCHEMA.entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION SCHEMA.slow()`,
		"SCHEMA", pgx.Identifier{schema}.Sanitize())) // the commit takes a while
	require.NoError(t, err)
	for _, id := range []string{"by a writer", "by a lease"} {
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), s, id, session.Claim{})
		require.NoError(t, err)
		head := int64(0)
		add := func(ctx context.Context, text string) (err error) {
			if id == "by a writer" {
				_, err = w.Append(ctx, message(text))
				return err
			}
			last, err := s.Append(ctx, w.Lease(), head, session.Batch{Entries: []session.Entry{message(text)}})
			var moved *session.Error
			if errors.Is(err, session.ErrHeadMoved) && errors.As(err, &moved) { // the one that was given up has been appended after all
				require.Equal(t, head+1, moved.Head)
				last, err = s.Append(ctx, w.Lease(), moved.Head, session.Batch{Entries: []session.Entry{message(text)}})
			}
			if err == nil {
				head = last
			}
			return err
		}
		acknowledged, given := map[string]bool{}, 0
		for n := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Millisecond/2)
			text := fmt.Sprint("hasty ", n)
			if err := add(ctx, text); err != nil {
				given++
				require.ErrorIs(t, err, context.DeadlineExceeded)
			} else {
				acknowledged[text] = true
			}
			cancel()
			text = fmt.Sprint("patient ", n)
			require.NoError(t, add(t.Context(), text))
			acknowledged[text] = true
		}
		require.Positive(t, given)
		seen := map[string]bool{}
		for e, err := range s.Load(t.Context(), id, 0) {
			require.NoError(t, err)
			text := strings.Trim(string(e.Data), `"`)
			require.False(t, seen[text], "%s is there twice", text)
			seen[text] = true
		}
		for text := range acknowledged {
			require.True(t, seen[text], "%s is lost", text)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"time"
)

// Retention selects the sessions that [Prune] removes. A bound that is zero does not count. The
// bounds are for conversations: see [Internal].
type Retention struct {
	// MaxAge bounds the time since a session was changed.
	MaxAge time.Duration
	// MaxSessions bounds how many sessions are kept. Those that were changed last are kept.
	MaxSessions int
	// MaxBytes bounds the size of the sessions that are kept, see Info.Size. Those that were
	// changed last are kept.
	MaxBytes int64
	// Dir limits it to the sessions of one directory, Owner and Tenant to those of an owner or a
	// tenant: see [Query].
	Dir    string
	Owner  *string
	Tenant string
	// Keep reports whether to keep a session in any case. Such a session still counts towards the
	// bounds. It may be nil.
	Keep func(Info) bool
	// DryRun reports what would be removed, and removes nothing.
	DryRun bool
}

// Pruned is the result of [Prune] or [Purge].
type Pruned struct {
	// Removed are the sessions that were removed.
	Removed []Info
	// Held is how many sessions were left because they are held.
	Held int
	// Bytes is the size of the removed sessions.
	Bytes int64
}

// Prune removes the sessions that are older, more or larger than r allows. It never removes a
// session that is held or damaged, that has changed since Prune has begun, or whose inbox has items
// that wait, such as a prompt. Internal sessions do not count, and none is removed for a bound;
// those that are stale are removed.
func Prune(ctx context.Context, s Store, r Retention) (Pruned, error) {
	var done Pruned
	if err := checkStore("prune", s); err != nil {
		return done, err
	}
	begin := now()
	kept, bytes := 0, int64(0)
	q := Query{Owner: r.Owner, Tenant: r.Tenant, Dir: r.Dir, Limit: MaxLimit}
	err := each(ctx, s, q, func(info Info) error {
		if Internal(&info) {
			if stale(&info, begin) && (r.Keep == nil || !r.Keep(info)) {
				_, err := remove(ctx, s, info, r.DryRun, &done)
				return err
			}
			return nil
		}
		excess := r.MaxAge > 0 && begin.Sub(info.Updated) > r.MaxAge ||
			r.MaxSessions > 0 && kept >= r.MaxSessions ||
			r.MaxBytes > 0 && bytes+info.Size > r.MaxBytes
		if excess && (r.Keep == nil || !r.Keep(info)) {
			if gone, err := remove(ctx, s, info, r.DryRun, &done); gone || err != nil {
				return err
			}
		}
		kept, bytes = kept+1, bytes+info.Size
		return nil
	})
	return done, err
}

// remove removes a session, unless it is held, damaged, changed or has items that wait. It reports
// whether the session is gone: others may have removed it.
func remove(ctx context.Context, s Store, info Info, dry bool, done *Pruned) (bool, error) {
	present, err := s.Get(ctx, info.ID)
	if err == nil && (present.Waiting > 0 || present.Head != info.Head ||
		!present.Updated.Equal(info.Updated)) { // the clock of who appended may be behind
		return false, nil
	}
	if err == nil && !dry {
		err = s.Delete(ctx, info.ID)
	} else if err == nil && present.Holder != "" {
		err = ErrHeld
	}
	switch {
	case errors.Is(err, ErrHeld):
		done.Held++
		return false, nil
	case errors.Is(err, ErrCorrupt): // nobody knows what it is
		return false, nil
	case errors.Is(err, ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	done.Removed, done.Bytes = append(done.Removed, info), done.Bytes+info.Size
	return true, nil
}

// Compacter is implemented by stores in which something of removed sessions is left until they are
// compacted.
type Compacter interface {
	// Compact gives room back, and leaves nothing behind of what was removed.
	Compact(ctx context.Context) error
}

// Purge removes all sessions that a query selects, whatever its Limit, and then compacts the store
// if it is a [Compacter]. It leaves the sessions that are held. What waits in the inboxes of the
// others is gone with them. Without Query.Conversations it also removes internal sessions, which
// resets spending windows.
func Purge(ctx context.Context, s Store, q Query) (Pruned, error) {
	var done Pruned
	if err := checkStore("purge", s); err != nil {
		return done, err
	}
	q.Limit = MaxLimit
	err := each(ctx, s, q, func(info Info) error {
		switch err := s.Delete(ctx, info.ID); {
		case errors.Is(err, ErrHeld):
			done.Held++
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return err
		default:
			done.Removed, done.Bytes = append(done.Removed, info), done.Bytes+info.Size
		}
		return nil
	})
	if err != nil {
		return done, err
	}
	if c, ok := s.(Compacter); ok {
		return done, c.Compact(ctx)
	}
	return done, nil
}

// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
)

func listFaults() []broken {
	return []broken{
		{"it lists by name", []string{ruleList}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				p, err := f.Memory.List(ctx, q)
				slices.SortFunc(p.Sessions, func(a, b session.Info) int { return strings.Compare(a.ID, b.ID) })
				return p, err
			}
		}},
		{"it lists all directories", []string{ruleList}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				q.Dir = ""
				return f.Memory.List(ctx, q)
			}
		}},
		{"its pages have no bound", []string{rulePage}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				if q.Limit == 0 {
					q.Limit = session.MaxLimit
				}
				return f.Memory.List(ctx, q)
			}
		}},
		{"its cursors are counts", []string{ruleStable, ruleOnce}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				at := 0
				if _, err := q.Start(); err != nil && len(q.Cursor) != 1 {
					return f.Memory.List(ctx, q)
				}
				if q.Cursor != "" {
					at = int(q.Cursor[0])
				}
				limit := q.PageSize()
				q.Cursor, q.Limit = "", session.MaxLimit
				p, err := f.Memory.List(ctx, q)
				p.Sessions = p.Sessions[min(at, len(p.Sessions)):]
				if len(p.Sessions) > limit {
					p.Sessions, p.Next = p.Sessions[:limit], string(rune(at+limit))
				}
				return p, err
			}
		}},
		{"it lists internal sessions as conversations", []string{ruleTalks}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				q.Conversations = false
				return f.Memory.List(ctx, q)
			}
		}},
		{"it never lists internal sessions", []string{ruleTalks}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				q.Conversations = true
				return f.Memory.List(ctx, q)
			}
		}},
		{"it takes all that has the prefix in any case for internal", []string{ruleTalks}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				p, err := f.Memory.List(ctx, q)
				if q.Conversations {
					p.Sessions = slices.DeleteFunc(p.Sessions, func(i session.Info) bool {
						return len(i.Dir) >= 6 && strings.EqualFold(i.Dir[:6], session.InternalDir)
					})
				}
				return p, err
			}
		}},
		{"a page is filtered after it was made", []string{ruleTalks}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				if !q.Conversations {
					return f.Memory.List(ctx, q)
				}
				q.Conversations = false
				p, err := f.Memory.List(ctx, q)
				p.Sessions = slices.DeleteFunc(p.Sessions, func(i session.Info) bool { return session.Internal(&i) })
				return p, err
			}
		}},
		{"a fork has values that it should not have", []string{ruleFork}, func(f *fault) {
			f.fork = func(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
				n.Values = maps.Clone(n.Values)
				maps.DeleteFunc(n.Values, func(_ string, v json.RawMessage) bool { return v == nil })
				return f.Memory.Fork(ctx, id, at, n)
			}
		}},
		{"its cursors belong to every list", []string{ruleCursor}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				p, err := f.Memory.List(ctx, q)
				if errors.Is(err, session.ErrInvalid) && q.Cursor != "" {
					q.Cursor = ""
					return f.Memory.List(ctx, q)
				}
				return p, err
			}
		}},
		{"a fork has all of its parent", []string{ruleFork, ruleForks}, func(f *fault) {
			f.fork = func(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
				i, err := f.Memory.Get(ctx, id)
				if err != nil {
					return i, err
				}
				if at > i.Head {
					return f.Memory.Fork(ctx, id, at, n)
				}
				return f.Memory.Fork(ctx, id, i.Head, n)
			}
		}},
		{"a fork of a fork has its parent's own entries only", []string{ruleForks}, func(f *fault) {
			f.load = func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
				if i, err := f.Memory.Get(ctx, id); err == nil && i.Parent != "" {
					if parent, err := f.Memory.Get(ctx, i.Parent); err == nil && parent.Parent != "" {
						after = max(after, parent.ForkedAt)
					}
				}
				return f.Memory.Load(ctx, id, after)
			}
		}},
		{"a fork goes with its parent", []string{ruleOutlive}, func(f *fault) {
			f.delete = func(ctx context.Context, id string) error {
				err := f.Memory.Delete(ctx, id)
				if err != nil {
					return err
				}
				p, err := f.Memory.List(ctx, session.Query{Parent: id})
				for _, s := range p.Sessions {
					_ = f.Memory.Delete(ctx, s.ID)
				}
				return err
			}
		}},
		{"a fork loses what its parent supersedes", []string{ruleForkKept}, func(f *fault) {
			f.load = func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
				i, err := f.Memory.Get(ctx, id)
				own := loads(f, func(_ int64, entries []session.Entry) []session.Entry {
					if err == nil && i.Parent == "a" {
						return slices.DeleteFunc(entries, func(e session.Entry) bool { return e.Kind == session.KindStep || e.Kind == session.KindView })
					}
					return entries
				})
				return own(ctx, id, after)
			}
		}},
		{"it watches what is there only", []string{ruleWatch}, func(f *fault) { f.watch = f.Memory.Load }},
		{"a watch does not end with the session", []string{ruleWatchEnd}, func(f *fault) {
			f.watch = func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
				return func(yield func(session.Entry, error) bool) {
					for e, err := range f.Memory.Watch(ctx, id, after) {
						if errors.Is(err, session.ErrNotFound) {
							<-ctx.Done()
							err = &session.Error{Op: "watch", Err: context.Cause(ctx)}
						}
						if !yield(e, err) {
							return
						}
					}
				}
			}
		}},
		{"a session that changes is listed again", []string{ruleOnce}, func(f *fault) {
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				p, err := f.Memory.List(ctx, q)
				if err == nil && q.Cursor != "" && q.Dir == "" && q.Limit == 2 {
					again, _ := f.Memory.List(ctx, session.Query{Limit: 1})
					p.Sessions = append(again.Sessions, p.Sessions...)[:min(2, len(p.Sessions))]
				}
				return p, err
			}
		}},
	}
}

// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"

	"github.com/ponte-go/ponte/agent/session"
)

// inboxFaults are ways to break the contract of inboxes.
func inboxFaults() []broken {
	puts := func(change func(f *fault, i *session.Item)) func(f *fault) {
		return func(f *fault) {
			f.put = func(ctx context.Context, id string, i session.Item) (session.Item, error) {
				change(f, &i)
				return f.Memory.Put(ctx, id, i)
			}
		}
	}
	shows := func(change func(i *session.Item) bool) func(f *fault) {
		return func(f *fault) {
			f.items = func(ctx context.Context, id string, after int64, kinds []session.ItemKind) iter.Seq2[session.Item, error] {
				return func(yield func(session.Item, error) bool) {
					for i, err := range f.Memory.Items(ctx, id, after, kinds...) {
						if (err != nil || change(&i)) && !yield(i, err) {
							return
						}
					}
				}
			}
		}
	}
	return []broken{
		{"it writes data anew", []string{rulePut}, puts(func(_ *fault, i *session.Item) {
			var b bytes.Buffer
			if i.Data != nil && json.Compact(&b, i.Data) == nil {
				i.Data = b.Bytes()
			}
		})},
		{"it forgets who put an item", []string{rulePut}, puts(func(_ *fault, i *session.Item) { i.By = "" })},
		{"it shows items in local time", []string{rulePut}, shows(func(i *session.Item) bool { i.Time = i.Time.Local().In(zone); return true })},
		{"it takes an id again once it was consumed", []string{ruleAgain, ruleEdit}, puts(func(f *fault, i *session.Item) {
			for old := range f.Memory.Items(context.Background(), "a", 1) {
				if old.ID == i.ID && old.State != session.ItemWaiting {
					i.ID = ""
				}
			}
		})},
		{"it takes an id again", []string{ruleAgain}, func(f *fault) {
			f.put = func(ctx context.Context, id string, i session.Item) (session.Item, error) {
				for old := range f.Memory.Items(ctx, id, 0) {
					if old.ID == i.ID {
						return f.Memory.Change(ctx, id, i.ID, old.Version, i.Data)
					}
				}
				return f.Memory.Put(ctx, id, i)
			}
		}},
		{"it wants the lease", []string{ruleNoLease}, func(f *fault) {
			f.put = func(ctx context.Context, id string, i session.Item) (session.Item, error) {
				if info, err := f.Memory.Get(ctx, id); err == nil && info.Holder != "" {
					return session.Item{}, &session.Error{Op: "put", Session: id, Err: session.ErrHeld}
				}
				return f.Memory.Put(ctx, id, i)
			}
		}},
		{"it changes whatever version", []string{ruleEdit}, func(f *fault) {
			f.change = func(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
				i, err := f.Memory.Change(ctx, id, item, version, data)
				if errors.Is(err, session.ErrChanged) {
					return f.Memory.Change(ctx, id, item, i.Version, data)
				}
				return i, err
			}
		}},
		{"it removes twice", []string{ruleEdit, ruleTakeOne}, func(f *fault) {
			f.change = func(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
				i, err := f.Memory.Change(ctx, id, item, version, data)
				if errors.Is(err, session.ErrConsumed) && data == nil {
					err = nil
				}
				return i, err
			}
		}},
		{"it does not look at contexts when it changes items", []string{ruleItemBad}, func(f *fault) {
			f.change = func(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
				return f.Memory.Change(context.WithoutCancel(ctx), id, item, version, data)
			}
		}},
		{"it consumes before it appends", []string{ruleConsume}, func(f *fault) {
			f.consume = func(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
				at, err := f.Memory.Append(ctx, l, head, session.Batch{Consumed: b.Consumed})
				if err != nil {
					return at, err
				}
				return f.Memory.Append(ctx, l, at, session.Batch{Entries: b.Entries})
			}
		}},
		{"it appends before it consumes", []string{ruleConsume}, func(f *fault) {
			f.consume = func(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
				at, err := f.Memory.Append(ctx, l, head, session.Batch{Entries: b.Entries})
				if err != nil {
					return at, err
				}
				return f.Memory.Append(ctx, l, at, session.Batch{Consumed: b.Consumed})
			}
		}},
		{"it consumes notes", []string{ruleNote}, func(f *fault) {
			f.consume = func(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
				for i := range f.Memory.Items(ctx, l.Session, 0, session.ItemNote) {
					if i.ID == b.Consumed[0].ID {
						_, err := f.Memory.Change(ctx, l.Session, i.ID, i.Version, nil)
						return head, err
					}
				}
				return f.Memory.Append(ctx, l, head, b)
			}
		}},
		{"it counts notes", []string{ruleNote}, func(f *fault) {
			f.get = func(i session.Info, err error) (session.Info, error) {
				for range f.Memory.Items(context.Background(), i.ID, 0, session.ItemNote) {
					i.Waiting++
				}
				return i, err
			}
		}},
		{"it shows those who follow what is left only", []string{ruleFollow}, shows(func(i *session.Item) bool { return i.State == session.ItemWaiting })},
		{"it shows a page only", []string{ruleFollow}, func(f *fault) {
			f.items = func(ctx context.Context, id string, after int64, kinds []session.ItemKind) iter.Seq2[session.Item, error] {
				return func(yield func(session.Item, error) bool) {
					n := 0
					for i, err := range f.Memory.Items(ctx, id, after, kinds...) {
						if n++; n > 256 || !yield(i, err) {
							return
						}
					}
				}
			}
		}},
		{"it names sessions that somebody holds", []string{ruleWork}, func(f *fault) {
			f.work = func(ctx context.Context) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					for _, id := range []string{"a", "b"} {
						if i, err := f.Memory.Get(ctx, id); err == nil && i.Waiting > 0 && !yield(id, nil) {
							return
						}
					}
				}
			}
		}},
		{"it does not tell of changes", []string{ruleListen}, func(f *fault) {
			f.listen = func(ctx context.Context) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					if yield("", nil) {
						<-ctx.Done()
						yield("", ctx.Err())
					}
				}
			}
		}},
		{"it copies inboxes into forks", []string{ruleOwnInbox}, func(f *fault) {
			f.fork = func(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
				info, err := f.Memory.Fork(ctx, id, at, n)
				for i := range f.Memory.Items(ctx, id, 0) {
					if _, putErr := f.Memory.Put(ctx, info.ID, i); putErr != nil {
						return info, putErr
					}
				}
				return info, err
			}
		}},
		{"it lets two consume an item", []string{ruleTakeOne, ruleConsume}, func(f *fault) {
			f.consume = func(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
				at, err := f.Memory.Append(ctx, l, head, b)
				if errors.Is(err, session.ErrConsumed) || errors.Is(err, session.ErrNoItem) {
					return f.Memory.Append(ctx, l, head, session.Batch{Entries: b.Entries})
				}
				return at, err
			}
		}},
		{"its items have no order", []string{rulePutMany}, func(f *fault) {
			var mu sync.Mutex
			f.put = func(ctx context.Context, id string, i session.Item) (session.Item, error) {
				made, err := f.Memory.Put(ctx, id, i)
				mu.Lock()
				defer mu.Unlock()
				made.Pos = -made.Pos
				return made, err
			}
		}},
		{"it takes items that are no JSON", []string{ruleItemBad}, puts(func(_ *fault, i *session.Item) {
			if !json.Valid(i.Data) {
				i.Data = nil
			}
		})},
	}
}

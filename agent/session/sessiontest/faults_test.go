// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

func sessionFaults() []broken {
	return []broken{
		{"it forgets titles", []string{ruleNew, ruleChanged}, func(f *fault) {
			f.get = func(i session.Info, err error) (session.Info, error) { i.Title = ""; return i, err }
		}},
		{"it forgets values", []string{ruleNew}, func(f *fault) {
			f.get = func(i session.Info, err error) (session.Info, error) { i.Values = nil; return i, err }
		}},
		{"it gives local times", []string{ruleNew}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				i, err := f.Memory.Create(ctx, n)
				i.Created = i.Created.In(time.FixedZone("here", 3600))
				return i, err
			}
		}},
		{"it gives one id to all", []string{ruleOwnID}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				if n.ID == "" {
					n.ID = "id"
					if i, err := f.Memory.Get(ctx, "id"); err == nil {
						return i, nil
					}
				}
				return f.Memory.Create(ctx, n)
			}
		}},
		{"it replaces sessions", []string{ruleOneID}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				_ = f.Memory.Delete(ctx, n.ID)
				return f.Memory.Create(ctx, n)
			}
		}},
		{"it takes letters for their capitals", []string{ruleOneID}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				n.ID = strings.ToLower(n.ID)
				return f.Memory.Create(ctx, n)
			}
		}},
		{"it makes sessions that are asked for", []string{ruleMissing}, func(f *fault) {
			f.acquire = func(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
				_, _ = f.Memory.Create(ctx, session.New{ID: id})
				return f.Memory.Acquire(ctx, id, c)
			}
		}},
		{"its errors have no type", []string{ruleMissing, ruleOneID}, func(f *fault) {
			plain := func(err error) error {
				if e := new(session.Error); errors.As(err, &e) {
					return e.Err
				}
				return err
			}
			f.get = func(i session.Info, err error) (session.Info, error) { return i, plain(err) }
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				i, err := f.Memory.Create(ctx, n)
				return i, plain(err)
			}
		}},
		{"it takes any id", []string{ruleInvalid}, func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				if len(n.ID) > 256 {
					n.ID = n.ID[:256]
				}
				return f.Memory.Create(ctx, n)
			}
		}},
		{"it takes data that is no JSON", []string{ruleInvalid, ruleWhole}, func(f *fault) {
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				entries = slices.Clone(entries)
				for i := range entries {
					if !json.Valid(entries[i].Data) {
						entries[i].Data, _ = json.Marshal(string(entries[i].Data))
					}
				}
				return f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
			}
		}},
		{"it replaces all values", []string{ruleChanged}, func(f *fault) {
			f.update = func(ctx context.Context, id string, c session.Change) (session.Info, error) {
				i, err := f.Memory.Get(ctx, id)
				if err != nil {
					return i, err
				}
				for name := range i.Values {
					if _, ok := c.Values[name]; !ok {
						if c.Values == nil {
							c.Values = map[string]json.RawMessage{}
						}
						c.Values = maps.Clone(c.Values)
						c.Values[name] = nil
					}
				}
				return f.Memory.Update(ctx, id, c)
			}
		}},
		{"it hides what was deleted", []string{ruleDeleted}, func(f *fault) {
			f.delete = func(ctx context.Context, id string) error {
				if _, err := f.Memory.Get(ctx, id); err != nil {
					return err
				}
				return nil
			}
		}},
		{"it does not look at contexts when it appends", []string{ruleContext}, func(f *fault) {
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				return f.Memory.Append(context.WithoutCancel(ctx), l, head, session.Batch{Entries: entries})
			}
		}},
		{"it does not look at contexts when it updates", []string{ruleContext}, func(f *fault) {
			f.update = func(ctx context.Context, id string, c session.Change) (session.Info, error) {
				return f.Memory.Update(context.WithoutCancel(ctx), id, c)
			}
		}},
	}
}

// all reads a session.
func all(ctx context.Context, m session.Store, id string, after int64) (found []session.Entry, err error) {
	for e, err := range m.Load(ctx, id, after) {
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, nil
}

// loads returns a Load that changes what it yields.
func loads(f *fault, change func(after int64, entries []session.Entry) []session.Entry) func(context.Context, string, int64) iter.Seq2[session.Entry, error] {
	return func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
		return func(yield func(session.Entry, error) bool) {
			found, err := all(ctx, f.Memory, id, after)
			if err != nil {
				yield(session.Entry{}, err)
				return
			}
			for _, e := range change(after, found) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func entryFaults() []broken {
	changeEach := func(change func(e *session.Entry)) func(f *fault) {
		return func(f *fault) {
			f.load = loads(f, func(_ int64, entries []session.Entry) []session.Entry {
				for i := range entries {
					change(&entries[i])
				}
				return entries
			})
		}
	}
	appends := func(change func(e *session.Entry)) func(f *fault) {
		return func(f *fault) {
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				entries = slices.Clone(entries)
				for i := range entries {
					change(&entries[i])
				}
				return f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
			}
		}
	}
	return []broken{
		{"it is read backwards", []string{ruleEntries, ruleAfter}, func(f *fault) {
			f.load = loads(f, func(_ int64, entries []session.Entry) []session.Entry { slices.Reverse(entries); return entries })
		}},
		{"it loses entries", []string{ruleEntries, ruleMany}, func(f *fault) {
			f.load = loads(f, func(_ int64, entries []session.Entry) []session.Entry { return entries[:min(len(entries), 10)] })
		}},
		{"it loads the position too", []string{ruleAfter}, func(f *fault) {
			f.load = func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
				return f.Memory.Load(ctx, id, max(after-1, 0))
			}
		}},
		{"it compacts JSON", []string{ruleEntries}, changeEach(func(e *session.Entry) {
			var b bytes.Buffer
			if json.Compact(&b, e.Data) == nil {
				e.Data = b.Bytes()
			}
		})},
		{"it cuts times to milliseconds", []string{ruleEntries, ruleNumbers}, appends(func(e *session.Entry) { e.Time = e.Time.Truncate(time.Millisecond) })},
		{"it drops kinds that it does not know", []string{ruleEntries}, func(f *fault) {
			f.load = loads(f, func(_ int64, entries []session.Entry) []session.Entry {
				return slices.DeleteFunc(entries, func(e session.Entry) bool { return e.Kind == "new kind" })
			})
		}},
		{"it gives entries numbers of its own", []string{ruleNumbers}, appends(func(e *session.Entry) { e.Seq = 0 })},
		{"it sets no times", []string{ruleNumbers}, appends(func(e *session.Entry) {
			if e.Time.IsZero() {
				e.Time = time.Unix(0, 1)
			}
		})},
		{"it appends one by one", []string{ruleWhole}, func(f *fault) {
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				if len(entries) == 0 {
					return f.Memory.Append(ctx, l, head, session.Batch{})
				}
				var err error
				for _, e := range entries {
					if head, err = f.Memory.Append(ctx, l, head, session.Batch{Entries: []session.Entry{e}}); err != nil {
						return 0, err
					}
				}
				return head, nil
			}
		}},
		{"it lends its memory", []string{ruleMemory}, func(f *fault) {
			kept := map[int64][]byte{}
			f.load = loads(f, func(_ int64, entries []session.Entry) []session.Entry {
				for i := range entries {
					if kept[entries[i].Seq] == nil || len(kept[entries[i].Seq]) != len(entries[i].Data) {
						kept[entries[i].Seq] = entries[i].Data
					}
					entries[i].Data = kept[entries[i].Seq]
				}
				return entries
			})
		}},
		{"it keeps what a message replaces", []string{ruleMessage}, appends(func(e *session.Entry) {
			if e.Kind == session.KindMessage {
				e.Kind = "message "
			}
		})},
		{"a message replaces what has its key in other runs", []string{ruleMessage}, appends(func(e *session.Entry) {
			if e.Key == "k" {
				e.Run = "r"
			}
		})},
		{"it keeps the steps of runs that have ended", []string{ruleEnd}, appends(func(e *session.Entry) {
			if e.Kind == session.KindEnd {
				e.Kind = "end "
			}
		})},
		{"the end of a run replaces the steps of those with like names", []string{ruleEnd}, appends(func(e *session.Entry) {
			if e.Kind == session.KindStep && strings.HasPrefix(e.Run, "r") {
				e.Run = "r"
			}
		})},
		{"it mixes sessions up", []string{ruleMany, ruleEntries}, func(f *fault) {
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				entries = slices.Clone(entries)
				for i := range entries {
					if len(entries[i].Data) == 5 {
						entries[i].Data = []byte(`"0.0"`)
					}
					if len(entries[i].Data) == 7 {
						entries[i].Data = []byte(`"other"`)
					}
					if bytes.HasPrefix(entries[i].Data, []byte(`{"a"`)) {
						entries[i].Data = []byte(`"other"`)
					}
				}
				return f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
			}
		}},
		{"it is locked while entries are loaded", []string{ruleNested}, func(f *fault) {
			var reading sync.Mutex
			f.load = func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
				return func(yield func(session.Entry, error) bool) {
					if !reading.TryLock() {
						yield(session.Entry{}, errBad)
						return
					}
					defer reading.Unlock()
					f.Memory.Load(ctx, id, after)(yield)
				}
			}
		}},
	}
}

func leaseFaults() []broken {
	return []broken{
		{"an update holds what was held before", []string{ruleStays}, func(f *fault) {
			held := map[string]string{}
			f.acquire = func(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
				held[id] = c.Holder
				return f.Memory.Acquire(ctx, id, c)
			}
			f.update = func(ctx context.Context, id string, c session.Change) (session.Info, error) {
				i, err := f.Memory.Update(ctx, id, c)
				if holder := held[id]; err == nil && holder != "" && i.Holder == "" {
					_, err = f.Memory.Acquire(ctx, id, session.Claim{Holder: holder})
				}
				return i, err
			}
		}},
		{"an update ends a lease of nobody's name", []string{ruleStays}, func(f *fault) {
			var last session.Lease
			f.acquire = func(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
				l, err := f.Memory.Acquire(ctx, id, c)
				last = l
				return l, err
			}
			f.update = func(ctx context.Context, id string, c session.Change) (session.Info, error) {
				if last.Holder == "" && last.Session == id {
					_ = f.Memory.Release(ctx, last)
				}
				return f.Memory.Update(ctx, id, c)
			}
		}},
		{"everybody gets a lease", []string{ruleHeld, ruleOneLease}, func(f *fault) {
			f.acquire = func(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
				c.Force = true
				return f.Memory.Acquire(ctx, id, c)
			}
		}},
		{"it does not say who has a session", []string{ruleHeld, ruleKept}, func(f *fault) {
			nameless := func(err error) error {
				if e := new(session.Error); errors.As(err, &e) {
					e.Holder = ""
				}
				return err
			}
			f.acquire = func(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
				l, err := f.Memory.Acquire(ctx, id, c)
				return l, nameless(err)
			}
			f.delete = func(ctx context.Context, id string) error { return nameless(f.Memory.Delete(ctx, id)) }
		}},
		{"old leases append", []string{ruleFenced}, func(f *fault) {
			latest := map[string]session.Lease{}
			f.acquire = func(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
				l, err := f.Memory.Acquire(ctx, id, c)
				if err == nil {
					latest[id] = l
				}
				return l, err
			}
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				if _, ok := latest[l.Session]; ok {
					l = latest[l.Session]
				}
				return f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
			}
		}},
		{"leases are released twice", []string{ruleFenced}, func(f *fault) {
			f.release = func(ctx context.Context, l session.Lease) error {
				if err := f.Memory.Release(ctx, l); !errors.Is(err, session.ErrLeaseLost) {
					return err
				}
				return nil
			}
		}},
		{"it appends at any head", []string{ruleHead, ruleOneHead}, func(f *fault) {
			var mu sync.Mutex
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				mu.Lock()
				defer mu.Unlock()
				if i, err := f.Memory.Get(ctx, l.Session); err == nil {
					head = i.Head
				}
				return f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
			}
		}},
		{"it looks at the head of the lease", []string{ruleHead}, func(f *fault) {
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				h, err := f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
				if e := new(session.Error); errors.As(err, &e) {
					e.Head = l.Head
				}
				return h, err
			}
		}},
		{"it deletes what is held", []string{ruleKept}, func(f *fault) {
			f.delete = func(ctx context.Context, id string) error {
				if l, err := f.Memory.Acquire(ctx, id, session.Claim{Force: true}); err == nil {
					_ = f.Memory.Release(ctx, l)
				}
				return f.Memory.Delete(ctx, id)
			}
		}},
	}
}

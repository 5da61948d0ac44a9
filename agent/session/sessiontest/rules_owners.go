// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent/session"
)

// ownerRules are about whose sessions are whose.
func ownerRules() []rule {
	return []rule{
		{"a session belongs to its owner", func(p *probe) {
			n := session.New{ID: "a", Tenant: "ACME ä/1", Owner: "ada@example.com", Created: date(1)}
			want := session.Info{ID: "a", Tenant: n.Tenant, Owner: n.Owner, Created: date(1), Updated: date(1)}
			p.described(p.create(n), want, "Create")
			other, err := p.another().Get(p.ctx, "a")
			p.ok(err, "Get in another process")
			p.described(other, want, "Get in another process")
			fork := p.fork("a", 0, session.New{ID: "fork"})
			equal(p, fork.Tenant+" "+fork.Owner, n.Tenant+" "+n.Owner, "the owner of a fork")
			fork = p.fork("a", 0, session.New{ID: "given", Owner: "grace"})
			equal(p, fork.Tenant+" "+fork.Owner, " grace", "the owner of a fork that was given away")
			title := "new"
			got, err := p.Update(p.ctx, "a", session.Change{Title: &title})
			p.ok(err, "Update")
			equal(p, got.Owner, n.Owner, "the owner after an update")
			for _, bad := range []session.New{{Owner: strings.Repeat("x", 257)}, {Owner: "a\nb"}, {Owner: "\xff"}, {Tenant: strings.Repeat("x", 257)}, {Tenant: "a\x00"}, {Limit: -1}} {
				_, err := p.Create(p.ctx, bad)
				p.is(err, session.ErrInvalid, "Create(%.20q, %.20q, %d)", bad.Owner, bad.Tenant, bad.Limit)
			}
		}},
		{"a list has the sessions of one owner", func(p *probe) {
			owners := []session.New{
				{}, {Owner: "ada"}, {Owner: "Ada"}, {Tenant: "t", Owner: "ada"}, {Tenant: "t"},
				{Tenant: "t", Owner: "grace"}, {Tenant: "ada"},
			}
			dirs := []string{"", "/repo", session.InternalDir + "x"}
			var all []session.Info
			for i := range 63 {
				n := owners[i%len(owners)]
				n.ID, n.Dir, n.Created = fmt.Sprintf("s%02d", i), dirs[i/len(owners)%len(dirs)], date(i%30)
				all = append(all, p.create(n))
			}
			queries := []session.Query{
				{Tenant: "t"}, {Tenant: "none"}, {Owner: new("nobody")}, {Owner: new("\xff")},
				{Owner: new("a\x00")}, {Tenant: "\xff"},
			}
			for _, o := range owners {
				queries = append(queries, session.Query{Tenant: o.Tenant, Owner: &o.Owner})
			}
			for _, q := range queries {
				for _, q.Dir = range dirs {
					for _, q.Conversations = range []bool{false, true} {
						for _, q.Order = range []session.Order{session.OrderUpdated, session.OrderCreated} {
							for _, q.Limit = range []int{0, 2} {
								var want []string
								found := slices.DeleteFunc(slices.Clone(all), func(i session.Info) bool { return !q.Selects(&i) })
								slices.SortFunc(found, func(a, b session.Info) int {
									if c := b.Created.Compare(a.Created); c != 0 {
										return c
									}
									return strings.Compare(b.ID, a.ID)
								})
								for _, i := range found {
									want = append(want, i.ID)
								}
								if got, _ := p.list(q, nil); !slices.Equal(got, want) {
									p.report("List(%s) has %q, want %q", asked(q), got, want)
								}
							}
						}
					}
				}
			}
			page, err := p.List(p.ctx, session.Query{Owner: new("ada"), Limit: 1})
			p.ok(err, "List")
			for _, q := range []session.Query{{}, {Owner: new("Ada")}, {Owner: new("ada"), Tenant: "t"}, {Tenant: "ada"}} {
				q.Cursor = page.Next
				_, err := p.List(p.ctx, q)
				p.is(err, session.ErrInvalid, "List with the cursor of another owner")
			}
		}},
		{"an owner has no more sessions than the limit", func(p *probe) {
			const limit = 5
			n := session.New{Tenant: "t", Owner: "ada", Limit: limit}
			p.create(session.New{Owner: "ada"}) // somebody else
			p.create(session.New{Tenant: "t", Owner: "ada", Dir: session.InternalDir + "x"})
			made := sync.Map{}
			var count atomic.Int64
			var all sync.WaitGroup
			stores := []session.Store{p.Store, p.another(), p.another()}
			for i := range 24 {
				all.Go(func() {
					info, err := stores[i%len(stores)].Create(p.ctx, n)
					switch {
					case err == nil:
						count.Add(1)
						made.Store(info.ID, true)
					case !errors.Is(err, session.ErrTooMany):
						p.report("Create of one session too many: %v, want an error that wraps ErrTooMany", err)
					}
				})
			}
			all.Wait()
			equal(p, count.Load(), limit, "how many sessions were made of 24 at the same time, with a limit of 5")
			var ids []string
			made.Range(func(id, _ any) bool { ids = append(ids, id.(string)); return true })
			if len(ids) == 0 {
				return
			}
			again := n
			again.ID = ids[0]
			_, err := p.Create(p.ctx, again)
			p.is(err, session.ErrExists, "Create of a session that exists, of an owner with too many")
			_, err = p.Fork(p.ctx, ids[0], 0, session.New{Limit: limit})
			p.is(err, session.ErrTooMany, "Fork of one session too many")
			p.create(session.New{Tenant: "t", Owner: "grace", Limit: 1})
			p.ok(p.Delete(p.ctx, ids[0]), "Delete")
			p.create(n)
			_, err = p.Create(p.ctx, n)
			p.is(err, session.ErrTooMany, "Create of one session too many")
		}},
		{"texts may be long", func(p *probe) {
			r := rand.New(rand.NewPCG(1, 2))
			long := func(prefix string) string { // which no store makes shorter
				var b strings.Builder
				b.WriteString(prefix)
				for b.Len() < 6000 {
					fmt.Fprintf(&b, "%x", r.Uint64())
				}
				return b.String()
			}
			same := strings.Repeat("\ue000ä", 600)
			dirs := []string{long("/"), long(same), long(same), same}
			for i, dir := range dirs {
				n := session.New{
					ID: fmt.Sprint(i), Dir: dir, Title: long(""),
					Values: values(long(""), `"`+long("")+`"`), Created: date(i),
				}
				p.described(p.create(n), session.Info{
					ID: n.ID, Dir: dir, Title: n.Title, Values: n.Values, Created: date(i),
					Updated: date(i),
				}, "Create")
			}
			for i, dir := range dirs {
				for _, q := range []session.Query{{Dir: dir}, {Dir: dir, Conversations: true, Order: session.OrderCreated}} {
					found, _ := p.list(q, nil)
					if !slices.Equal(found, []string{fmt.Sprint(i)}) {
						p.report("a list of a directory of %d bytes has %q, want %d", len(dir), found, i)
					}
				}
			}
			p.create(session.New{ID: "e"})
			l := p.acquire("e", long("holder"))
			run, key := long(same), long(same)
			other := run + "0"
			e := func(k session.Kind, run, key string, data string) session.Entry {
				return session.Entry{Kind: k, Run: run, Key: key, Data: []byte(`"` + data + `"`)}
			}
			p.append(l, e("view", run, key, "gone"), e("view", other, key, "other run"),
				e("view", run, long(same), "other key"), e("step", run, "", "gone"),
				e("step", run+"/inner", "", "gone"), e("step", other, "", "other's step"))
			p.append(l, e(session.KindMessage, run, key, "message"), e(session.KindEnd, run, "", "end"))
			var got []string
			for e, err := range p.Load(p.ctx, "e", 0) {
				p.ok(err, "Load")
				got = append(got, string(e.Data))
			}
			if want := []string{`"other run"`, `"other key"`, `"other's step"`, `"message"`, `"end"`}; !slices.Equal(got, want) {
				p.report("entries with long runs and keys are %q, want %q", got, want)
			}
			put := session.Item{ID: "i", Kind: session.ItemKind(long("")), By: long(""), Digest: long("")}
			equal(p, len(p.put(p.Store, "e", put).By), len(put.By), "how long a long sender is")
			_, err := p.Get(p.ctx, long(""))
			p.is(err, session.ErrNotFound, "Get with a long id")
		}},
	}
}

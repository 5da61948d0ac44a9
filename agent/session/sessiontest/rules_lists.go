// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
)

// asked shows what a query selects, for people.
func asked(q session.Query) string {
	var words []string
	v := reflect.ValueOf(q)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			name := v.Type().Field(i).Name
			words = append(words, fmt.Sprintf("%s: %+v", name, reflect.Indirect(f)))
		}
	}
	return strings.Join(words, ", ")
}

// list reads all pages. between is called after each.
func (p *probe) list(q session.Query, between func(page int)) (ids []string, pages int) {
	for {
		page, err := p.List(p.ctx, q)
		p.ok(err, "List(%s)", asked(q))
		pages++
		if n := q.Limit; n > 0 && len(page.Sessions) > n {
			p.report("a page of at most %d sessions has %d", n, len(page.Sessions))
		}
		for _, s := range page.Sessions {
			ids = append(ids, s.ID)
		}
		if page.Next == "" || pages > 1000 {
			return ids, pages
		}
		if len(page.Sessions) == 0 {
			p.stop("a page without sessions says that there are more")
		}
		q.Cursor = page.Next
		if between != nil {
			between(pages)
		}
	}
}

// listRules are about lists.
func listRules() []rule {
	return []rule{
		{"a list has every session once, in order", func(p *probe) {
			const n = 23
			var created []string
			for i := range n {
				id := fmt.Sprintf("s%02d", i)
				p.create(session.New{
					ID: id, Title: "title " + id, Dir: []string{"/repo", "/other", ""}[i%3],
					Created: date(i / 2),
				})
				created = append([]string{id}, created...)
			}
			// Every fourth session has a later entry, so the orders differ.
			updated := slices.Clone(created)
			for i := 0; i < n; i += 4 {
				id := fmt.Sprintf("s%02d", i)
				l := p.acquire(id, "me")
				e := text("x")
				e.Time = date(40 + i)
				p.append(l, e)
				p.ok(p.Release(p.ctx, l), "Release")
				at := slices.Index(updated, id)
				updated = slices.Insert(slices.Delete(updated, at, at+1), 0, id)
			}
			in := func(ids []string, rest int) (found []string) {
				for _, id := range ids {
					var i int
					_, _ = fmt.Sscanf(id, "s%02d", &i)
					if i%3 == rest {
						found = append(found, id)
					}
				}
				return found
			}
			for _, limit := range []int{0, 1, 5, 23, 24, 5000} {
				for _, c := range []struct {
					q    session.Query
					want []string
				}{
					{session.Query{Limit: limit}, updated},
					{session.Query{Limit: limit, Order: session.OrderCreated}, created},
					{session.Query{Limit: limit, Dir: "/repo"}, in(updated, 0)},
					{session.Query{Limit: limit, Dir: "/other", Order: session.OrderCreated}, in(created, 1)},
					{session.Query{Limit: limit, Dir: "/repo/"}, nil},
				} {
					if got, _ := p.list(c.q, nil); !slices.Equal(got, c.want) {
						p.report("List(%s) has %q, want %q", asked(c.q), got, c.want)
					}
				}
			}
			page, err := p.List(p.ctx, session.Query{Limit: 1})
			p.ok(err, "List")
			if len(page.Sessions) != 1 {
				p.stop("a page of one session has %d", len(page.Sessions))
			}
			p.described(page.Sessions[0], p.get(page.Sessions[0].ID), "a listed session")
		}},
		{"a page has a bound", func(p *probe) {
			for i := range session.DefaultLimit + 1 {
				p.create(session.New{ID: fmt.Sprint(i)})
			}
			page, err := p.List(p.ctx, session.Query{})
			p.ok(err, "List")
			equal(p, len(page.Sessions), session.DefaultLimit, "how many sessions a page has")
		}},
		{"a list is stable while sessions come and go", func(p *probe) {
			for _, order := range []session.Order{session.OrderUpdated, session.OrderCreated} {
				id := func(i int) string { return fmt.Sprintf("%ss%02d", order, i) }
				var want []string
				for i := range 20 {
					p.create(session.New{ID: id(i), Dir: "/" + string(order), Created: date(10 + i)})
					if i%5 != 0 {
						want = append([]string{id(i)}, want...)
					}
				}
				next := 15 // pages go from the latest to the earliest
				got, pages := p.list(session.Query{Limit: 3, Order: order, Dir: "/" + string(order)}, func(page int) {
					p.create(session.New{ID: id(50 + page), Dir: "/" + string(order), Created: date(50 + page)})
					if next >= 0 { // a session that was listed, or is yet to come; the last one of a page among them
						p.ok(p.Delete(p.ctx, id(next)), "Delete")
						next -= 5
					}
				})
				if pages < 6 {
					p.report("a list of 20 sessions had %d pages of 3", pages)
				}
				for i, one := range got {
					if slices.Contains(got[i+1:], one) {
						p.report("session %s is listed twice", one)
					}
				}
				got = slices.DeleteFunc(got, func(one string) bool { return !slices.Contains(want, one) })
				if !slices.Equal(got, want) {
					p.report("of the sessions that stayed %q were listed, want %q", got, want)
				}
			}
		}},
		{"a session that changes is listed once at most", func(p *probe) {
			for i := range 9 {
				p.create(session.New{ID: fmt.Sprint(i), Created: date(i)})
			}
			for _, order := range []session.Order{session.OrderUpdated, session.OrderCreated} {
				got, _ := p.list(session.Query{Limit: 2, Order: order}, func(page int) {
					title := fmt.Sprint(page)
					_, err := p.Update(p.ctx, fmt.Sprint(page*2), session.Change{Title: &title})
					p.ok(err, "Update")
				})
				for i, one := range got {
					if slices.Contains(got[i+1:], one) {
						p.report("session %s is listed twice", one)
					}
				}
				if order == session.OrderCreated {
					equal(p, len(got), 9, "how many sessions are listed in the order of their creation")
				}
			}
		}},
		{"a list of conversations leaves out internal sessions", func(p *probe) {
			var every, conversations []string
			for i, dir := range []string{session.InternalDir + "a", "/repo", session.InternalDir, "", "ponte", "PONTE:a", "/ponte:", session.InternalDir + "a", "/repo", session.InternalDir + "b"} {
				id := fmt.Sprint(i)
				p.create(session.New{ID: id, Dir: dir, Created: date(i)})
				every = append([]string{id}, every...)
				if !strings.HasPrefix(dir, session.InternalDir) {
					conversations = append([]string{id}, conversations...)
				}
			}
			p.fork("1", 0, session.New{ID: "fork", Dir: session.InternalDir + "a", Created: date(10)})
			every = append([]string{"fork"}, every...)
			for _, c := range []struct {
				q    session.Query
				want []string
			}{
				{session.Query{}, every},
				{session.Query{Conversations: true}, conversations},
				{session.Query{Dir: "/repo", Conversations: true}, []string{"8", "1"}},
				{session.Query{Dir: session.InternalDir + "a", Conversations: true}, nil},
				{session.Query{Dir: session.InternalDir + "a"}, []string{"fork", "7", "0"}},
				{session.Query{Parent: "1", Conversations: true}, nil},
				{session.Query{Parent: "1"}, []string{"fork"}},
			} {
				for _, c.q.Order = range []session.Order{session.OrderUpdated, session.OrderCreated} {
					for _, c.q.Limit = range []int{0, 1, 3} {
						if got, _ := p.list(c.q, nil); !slices.Equal(got, c.want) {
							p.report("List(%s) has %q, want %q", asked(c.q), got, c.want)
						}
					}
				}
			}
		}},
		{"a cursor belongs to its list", func(p *probe) {
			for i := range 3 {
				p.create(session.New{ID: fmt.Sprint(i), Dir: "/repo"})
			}
			page, err := p.List(p.ctx, session.Query{Limit: 1, Dir: "/repo"})
			p.ok(err, "List")
			for _, q := range []session.Query{{}, {Dir: "/other"}, {Dir: "/repo", Order: session.OrderCreated}, {Dir: "/repo", Parent: "1"}, {Dir: "/repo", Conversations: true}} {
				q.Cursor = page.Next
				_, err := p.List(p.ctx, q)
				p.is(err, session.ErrInvalid, "List with the cursor of another list")
			}
			rest, err := p.another().List(p.ctx, session.Query{Limit: 5, Dir: "/repo", Cursor: page.Next})
			p.ok(err, "List in another process, with another limit")
			equal(p, len(rest.Sessions), 2, "how many sessions follow")
		}},
	}
}

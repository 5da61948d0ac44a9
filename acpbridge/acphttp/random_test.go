// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// Clients that lose all their streams at random places, and resume them, read each message once and in order, and each answer on the stream that
// it belongs to.
func TestRandomBreaksLoseNothing(t *testing.T) {
	for seed := range uint64(30) {
		made := make(chan *scripted, 1)
		inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 1500 }, func(t *testing.T, n *network) {
			r := rand.New(rand.NewPCG(seed, 1))
			conn, agent := one(n, made)
			want := map[string][]string{"": nil, "a": nil, "b": nil}
			type write struct {
				session string
				n, size int
				answer  int
			}
			var writes []write
			id := 1
			for i := range 60 {
				session := []string{"a", "b", ""}[r.IntN(3)]
				if i < 2 { // which make the sessions known
					session = []string{"a", "b"}[i]
				}
				w := write{session: session, n: i, size: r.IntN(300)}
				stream, what := session, fmt.Sprint("note ", i)
				if i >= 2 && r.IntN(5) == 0 {
					id++
					method := []string{"session/load", "session/prompt", "session/set_mode", "session/new"}[r.IntN(4)]
					params := fmt.Sprintf(`{"sessionId":%q}`, session)
					if method == "session/new" || session == "" {
						method, params = "session/new", "{}"
					}
					if stream = session; method == "session/load" || method == "session/new" {
						stream = ""
					}
					n.post(conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
					<-agent.in
					w.answer, what = id, fmt.Sprint("answer ", id)
				}
				want[stream] = append(want[stream], what)
				writes = append(writes, w)
			}
			var work sync.WaitGroup
			got := map[string]*[]string{}
			for session, all := range want {
				mine := &[]string{}
				got[session] = mine
				own := rand.New(rand.NewPCG(seed, uint64(len(got))))
				work.Go(func() {
					last := ""
					for tries := 0; len(*mine) < len(all); tries++ {
						headers := []string{conn}
						if session != "" {
							headers = append(headers, ofSession(session))
						}
						if last != "" {
							headers = append(headers, "Last-Event-ID: "+last)
						}
						breaks := own.IntN(2500)
						if tries > 100 {
							breaks = -1
						}
						s := n.open(breaks, headers...)
						for e, ok := s.next(); ok; e, ok = s.next() {
							last = s.last
							if e.Method == "" {
								*mine = append(*mine, fmt.Sprint("answer ", string(e.ID)))
							} else {
								*mine = append(*mine, fmt.Sprint("note ", e.Params.N))
							}
							if len(*mine) == len(all) {
								break
							}
							time.Sleep(time.Duration(own.IntN(300)) * time.Millisecond)
						}
						s.close()
						time.Sleep(time.Duration(own.IntN(1500)) * time.Millisecond)
					}
				})
			}
			for _, w := range writes {
				if w.answer != 0 {
					_, err := fmt.Fprintf(agent.out, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", w.answer)
					require.NoError(t, err)
				} else {
					require.NoError(t, agent.note(w.session, w.n, w.size))
				}
			}
			work.Wait()
			synctest.Wait()
			for session, all := range want {
				if session == "" { // the answer to a load waits for what came before it on the session's stream
					slices.Sort(all)
					slices.Sort(*got[session])
				}
				require.Equal(t, all, *got[session], "seed %d session %q", seed, session)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// note writes the n-th notification of a session, or of the connection, with so many bytes of text.
func (s *scripted) note(session string, n, size int) error {
	id := ""
	if session != "" {
		id = fmt.Sprintf(`"sessionId":%q,`, session)
	}
	_, err := fmt.Fprintf(s.out, `{"jsonrpc":"2.0","method":"_x","params":{%s"n":%d,"text":"%s"}}`+"\n", id, n, strings.Repeat("x", size))
	return err
}

// one starts a connection with a scripted agent.
func one(n *network, made chan *scripted) (conn string, agent *scripted) {
	conn = n.begin()
	return conn, <-made
}

func TestBrokenStreamGoesOnWithTheMessageThatBroke(t *testing.T) {
	for _, resumes := range []bool{true, false} {
		for _, size := range []int{1, 300, 70_000} {
			if size == 1 && !resumes {
				continue // it may break between the end of the message and that of its chunk
			}
			for _, cut := range []int{0, 1, 400, 450, size / 2, size + 300} {
				t.Run(fmt.Sprintf("%v %d %d", resumes, size, cut), func(t *testing.T) {
					made := make(chan *scripted, 1)
					inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 1000 }, func(t *testing.T, n *network) {
						conn, agent := one(n, made)
						const messages = 5
						go func() {
							for i := range messages {
								if agent.note("a", i, size) != nil {
									return
								}
							}
						}()
						var got []int
						last := ""
						for breaks := cut; len(got) < messages; breaks = cut + 700*len(got) { // it goes further each time
							headers := []string{conn, ofSession("a")}
							if last != "" && resumes {
								headers = append(headers, "Last-Event-ID: "+last)
							}
							if len(got) > 0 || breaks > size+400 {
								breaks = -1
							}
							r := n.open(breaks, headers...)
							for e, ok := r.next(); ok; e, ok = r.next() {
								got = append(got, e.Params.N)
								last = r.last
								if len(got) == messages {
									break
								}
							}
							r.close()
							if len(got) == 0 {
								cut += 1 + size/2
							}
							synctest.Wait()
						}
						require.Equal(t, []int{0, 1, 2, 3, 4}, got)
					})
				})
			}
		}
	}
}

// A stream may break at each byte, several times in a row. A client that resumes reads each message once, and then the answer to load.
func TestStreamMayBreakAtEachByte(t *testing.T) {
	for cut := range 800 {
		made := make(chan *scripted, 1)
		inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 1000 }, func(t *testing.T, n *network) {
			conn, agent := one(n, made)
			own := n.open(-1, conn)
			n.post(conn, `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"a"}}`)
			<-agent.in
			go func() {
				for i := range 4 {
					if agent.note("a", i, 20) != nil {
						return
					}
				}
				_, _ = fmt.Fprint(agent.out, `{"jsonrpc":"2.0","id":2,"result":{}}`+"\n")
			}()
			var got []int
			last := ""
			tries := 0
			for len(got) < 4 {
				headers := []string{conn, ofSession("a")}
				if last != "" {
					headers = append(headers, "Last-Event-ID: "+last)
				}
				breaks := cut
				if tries++; tries > 3 {
					breaks = -1
				}
				r := n.open(breaks, headers...)
				for e, ok := r.next(); ok; e, ok = r.next() {
					got = append(got, e.Params.N)
					last = r.last
					if len(got) == 4 {
						break
					}
				}
				r.close()
				synctest.Wait()
			}
			require.Equal(t, []int{0, 1, 2, 3}, got, cut)
			require.Equal(t, "2", string(own.must().ID))
			own.close()
		})
	}
}

// A client has half a minute to read a part of a message. Its stream ends after that.
func TestSlowReaderHasItsTime(t *testing.T) {
	for late, whole := range map[time.Duration]bool{30*time.Second - 1: true, 30*time.Second + 1: false} {
		made := make(chan *scripted, 1)
		inNetwork(t, func(c *acphttp.Config) { c.Serve, c.Heartbeat = scriptedAgents(made), time.Hour }, func(t *testing.T, n *network) {
			conn, agent := one(n, made)
			r := n.open(-1, conn, ofSession("a"))
			require.NoError(t, agent.note("a", 1, 1000))
			time.Sleep(late)
			_, ok := r.next()
			require.Equal(t, whole, ok, late)
			r.close()
		})
	}
}

func TestResumedStreamRepeatsWhatItsClientHasNotRead(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 400 }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		r := n.open(-1, conn, ofSession("a"))
		for i := range 4 {
			require.NoError(t, agent.note("a", i, 40))
			require.Equal(t, i, r.must().Params.N)
		}
		for _, after := range []int{2, 3, 1, 4} { // a client that resumes takes its stream over, even if the old one seems to be open
			again := n.open(-1, conn, ofSession("a"), fmt.Sprintf("Last-Event-ID: %d", after))
			_, ok := r.next()
			require.False(t, ok, "the old stream ends")
			for i := after; i < 4; i++ {
				require.Equal(t, i, again.must().Params.N)
			}
			r.close()
			r = again
		}
		r.close()
		for id, want := range map[string]int{"99": http.StatusConflict, "0": http.StatusConflict, "-1": http.StatusBadRequest, "x": http.StatusBadRequest} {
			if id == "0" { // what is kept is bounded
				s := n.open(-1, conn, ofSession("a"))
				for i := range 10 {
					require.NoError(t, agent.note("a", i, 100))
					require.Equal(t, i, s.must().Params.N)
				}
				s.close()
			}
			synctest.Wait()
			status, text, _ := n.ask("GET", "", conn, ofSession("a"), "Last-Event-ID: "+id)
			require.Equal(t, want, status, "%s: %s", id, text)
		}
	})
}

func TestStreamThatIsNotReadLeavesOtherSessionsAlone(t *testing.T) {
	for name, open := range map[string]func(n *network, conn string) *reading{
		"never opened": func(*network, string) *reading { return nil },
		"opened, and nothing is read": func(n *network, conn string) *reading {
			return n.open(-1, conn, ofSession("a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := make(chan *scripted, 1)
			inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 1000 }, func(t *testing.T, n *network) {
				conn, agent := one(n, made)
				a := open(n, conn)
				b := n.open(-1, conn, ofSession("b"))
				before := time.Now()
				go func() {
					_, _ = fmt.Fprint(agent.out, `{"jsonrpc":"2.0","id":"early","method":"session/request_permission","params":{"sessionId":"a"}}`+"\n")
					for i := range 100 {
						if agent.note("a", i, 400) != nil || agent.note("b", i, 400) != nil {
							return
						}
					}
					_, _ = fmt.Fprint(agent.out, `{"jsonrpc":"2.0","id":"late","method":"session/request_permission","params":{"sessionId":"a"}}`+"\n")
				}()
				for i := range 100 {
					require.Equal(t, i, b.must().Params.N)
				}
				require.LessOrEqual(t, time.Since(before), 3*time.Second, "the default of Stall, once")
				answered := map[string]bool{}
				for range 3 {
					e := <-agent.in
					answered[e.Method+string(e.ID)] = true
					if e.Method == "" {
						require.Contains(t, string(e.Error), "does not read")
					}
				}
				if a == nil { // else it may have reached the client
					require.True(t, answered[`"early"`], answered)
				}
				require.True(t, answered[`"late"`], answered)
				require.True(t, answered["session/cancel"], answered)
				if a != nil {
					for _, ok := a.next(); ok; _, ok = a.next() {
					}
					a.close()
				}
				synctest.Wait()
				status, text, _ := n.ask("GET", "", conn, ofSession("a"))
				require.Equal(t, http.StatusConflict, status)
				require.Contains(t, text, "load the session again")
				again := n.open(-1, conn, ofSession("a")) // as a client does that loads the session
				require.NoError(t, agent.note("a", 7, 400))
				require.Equal(t, 7, again.must().Params.N)
				again.close()
				b.close()
			})
		})
	}
}

func TestSlowClientGetsEverything(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 1000 }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		go func() {
			for i := range 50 {
				if agent.note("a", i, 400) != nil {
					return
				}
			}
		}()
		a := n.open(-1, conn, ofSession("a"))
		for i := range 50 {
			time.Sleep(time.Second) // less than the default of Stall
			require.Equal(t, i, a.must().Params.N)
		}
		a.close()
	})
}

func TestClientThatReadsAByteASecondBlocksNobody(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 1000 }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		a := n.open(-1, conn, ofSession("a"))
		b := n.open(-1, conn, ofSession("b"))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for one := make([]byte, 1); ; time.Sleep(time.Second) {
				if _, err := a.wire.Read(one); err != nil {
					return
				}
			}
		}()
		go func() {
			for i := range 100 {
				if agent.note("a", i, 100_000) != nil || agent.note("b", i, 400) != nil {
					return
				}
			}
		}()
		before := time.Now()
		for i := range 100 {
			require.Equal(t, i, b.must().Params.N)
		}
		require.Less(t, time.Since(before), 10*time.Second)
		a.close()
		b.close()
		<-ended
	})
}

func TestConnectionEndsIfItsOwnStreamIsNotRead(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve, c.MaxBuffered = scriptedAgents(made), 1000 }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		b := n.open(-1, conn, ofSession("b")) // so that it is not idle
		for err := error(nil); err == nil; {
			err = agent.note("", 0, 400)
		}
		_, ok := b.next()
		require.False(t, ok)
		b.close()
		<-agent.done
		synctest.Wait()
		status, _, _ := n.ask("GET", "", conn)
		require.Equal(t, http.StatusNotFound, status)
	})
}

func TestStreamHasOneReader(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve = scriptedAgents(made) }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		r := n.open(-1, conn, ofSession("a"))
		status, text, _ := n.ask("GET", "", conn, ofSession("a"))
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, text, "open already")
		require.NoError(t, agent.note("a", 0, 1))
		require.Equal(t, 0, r.must().Params.N, "the first goes on")
		r.close()
	})
}

func TestReconnectStormLosesNothing(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve = scriptedAgents(made) }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		keep := n.open(-1, conn)
		last := "0"
		for i := range 300 {
			require.NoError(t, agent.note("a", i, 1))
			r := n.open(-1, conn, ofSession("a"), "Last-Event-ID: "+last) // the one before may not have ended yet
			require.Equal(t, i, r.must().Params.N)
			last = r.last
			if i%2 == 0 {
				r.close()
			} else {
				defer r.close()
			}
		}
		keep.close()
	})
}

func TestAnswerToLoadFollowsTheHistoryOnTheConnectionsStream(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve = scriptedAgents(made) }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		own := n.open(-1, conn)
		a := n.open(-1, conn, ofSession("a"))
		answer := func(id int) { _, _ = fmt.Fprintf(agent.out, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", id) }
		for id, method := range map[int]string{2: "session/load", 3: "session/prompt", 4: "session/resume", 5: "session/close"} {
			n.post(conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":"a"}}`, id, method))
			<-agent.in
		}
		arrived := make(chan event, 1)
		go func() {
			e, _ := own.next()
			arrived <- e
		}()
		for i := range 3 {
			require.NoError(t, agent.note("a", i, 100))
		}
		answer(2)
		for i := range 3 {
			synctest.Wait()
			require.Empty(t, arrived, "the history comes first")
			require.Equal(t, i, a.must().Params.N)
		}
		answers := make(chan string)
		go func() { // which reads the end of the last message, too
			for e, ok := a.next(); ok; e, ok = a.next() {
				answers <- string(e.ID)
			}
			close(answers)
		}()
		require.Equal(t, "2", string((<-arrived).ID))
		for _, id := range []int{3, 4, 5} {
			answer(id)
			require.Equal(t, fmt.Sprint(id), <-answers)
		}
		n.post(conn, `{"jsonrpc":"2.0","id":6,"method":"session/load","params":{"sessionId":"unopened"}}`)
		<-agent.in
		require.NoError(t, agent.note("unopened", 1, 1))
		answer(6)
		require.Equal(t, "6", string(own.must().ID), "a client that opens the stream later is not kept waiting")
		own.close()
		a.close()
		require.Empty(t, <-answers)
	})
}

// A client that leaves the stream with the history gets the answer all the same.
func TestAnswerToLoadDoesNotWaitForAStreamThatWasLeft(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve = scriptedAgents(made) }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		own, a := n.open(-1, conn), n.open(-1, conn, ofSession("a"))
		n.post(conn, `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"a"}}`)
		<-agent.in
		require.NoError(t, agent.note("a", 0, 100))
		_, err := fmt.Fprint(agent.out, `{"jsonrpc":"2.0","id":2,"result":{}}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		a.close()
		require.Equal(t, "2", string(own.must().ID))
		own.close()
	})
}

func TestSilentStreamHasAHeartbeat(t *testing.T) {
	made := make(chan *scripted, 1)
	inNetwork(t, func(c *acphttp.Config) { c.Serve = scriptedAgents(made) }, func(t *testing.T, n *network) {
		conn, agent := one(n, made)
		r := n.open(-1, conn)
		for range 3 {
			before := time.Now()
			line, err := r.body.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, ":\n", line)
			_, _ = r.body.ReadString('\n')
			require.Equal(t, 15*time.Second, time.Since(before))
		}
		before := time.Now() // it stops reading, and its connection stays: the next heartbeat cannot be written
		<-agent.done
		require.Less(t, time.Since(before), time.Minute)
		r.close()
	})
}

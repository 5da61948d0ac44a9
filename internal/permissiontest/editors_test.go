// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/host"
	acpdeps "github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// wire is an editor that drives the agent of a bank over ACP, line by line.
type wire struct {
	*suite
	*bank
	in   io.Writer
	out  *bufio.Reader
	last int // the id of the last request
}

// line is what the agent sends.
type line struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Params struct {
		SessionID string
		Options   []struct{ OptionID, Kind string }
	}
}

func newWire(s *suite) *wire {
	b := new(bank)
	in, toAgent := acp.Pipe()
	fromAgent, out := acp.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = acpbridge.Serve(ctx, acpbridge.Config[acpdeps.ACPDeps, string]{
			Host: host.Config[acpdeps.ACPDeps, string]{
				Agent:  agent.Must(agent.New(agent.Config[acpdeps.ACPDeps, string]{Model: paying(), Tools: []*toolset.Tool[acpdeps.ACPDeps]{payTool[acpdeps.ACPDeps](b)}})),
				Logger: slog.New(slog.DiscardHandler),
			},
			Options: acpbridge.Options{In: in, Out: out},
		})
	}()
	s.Cleanup(func() {
		_ = toAgent.Close()
		cancel()
		_ = fromAgent.Close()
		<-ended
	})
	w := &wire{s, b, toAgent, bufio.NewReaderSize(fromAgent, 1<<16), 0}
	w.result(w.request("initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"e","version":"1"}}`))
	return w
}

func (w *wire) write(text string) {
	_, err := io.WriteString(w.in, strings.ReplaceAll(text, "\n", " ")+"\n")
	require.NoError(w, err)
}

func (w *wire) request(method, params string) (id int) {
	w.last++
	w.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":%q,"params":%s}`, w.last, method, params))
	return w.last
}

// next reads lines until one is as wanted.
func (w *wire) next(ok func(*line) bool) *line {
	for {
		text, err := w.out.ReadString('\n')
		require.NoError(w, err)
		l := new(line)
		require.NoError(w, json.Unmarshal([]byte(text), l), text)
		if ok(l) {
			return l
		}
	}
}

// result waits for the answer to a request.
func (w *wire) result(id int) *line {
	return w.next(func(l *line) bool { return l.Method == "" && string(l.ID) == fmt.Sprintf(`"r%d"`, id) })
}

func (w *wire) session() string {
	var made struct{ SessionID string }
	require.NoError(w, json.Unmarshal(w.result(w.request("session/new", `{"cwd":"/project","mcpServers":[]}`)).Result, &made))
	return made.SessionID
}

// say sends a prompt, and returns its request and the question that it leads to.
func (w *wire) say(session, text string) (turn int, question *line) {
	turn = w.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text))
	return turn, w.question()
}

func (w *wire) question() *line {
	return w.next(func(l *line) bool { return l.Method == "session/request_permission" })
}

// respond answers a question of the agent.
func (w *wire) respond(id json.RawMessage, result string) {
	w.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

const chosen = `{"outcome":{"outcome":"selected","optionId":%q}}`

// editorAnswers are outcomes of session/request_permission.
func editorAnswers(s *suite) {
	w := newWire(s)
	session := w.session()
	// forge sends lines instead of the answer, then withdraws the question, and waits for the end of the turn.
	forge := func(what string, forged func(id json.RawMessage) []string) {
		before := w.paid()
		turn, q := w.say(session, "pay Ada")
		for _, l := range forged(q.ID) {
			w.write(l)
		}
		w.respond(q.ID, `{"outcome":{"outcome":"cancelled"}}`)
		w.result(turn)
		w.attack(w.paid() == before, "%s: paid", what)
	}
	outcome := func(result string) {
		forge(result, func(id json.RawMessage) []string {
			return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)}
		})
	}
	for _, id := range []string{
		"", "allow", "yes", "ALLOW_ONCE", "Allow_once", " allow_once", "allow_once ", "allow_once\\n", "allow_once\\u0000", "allow-once", "allow_onc", "allow_once_", "Allow once", "allow_always_project", "allow_always_wider_0", "allow_always_wider_1", "allow_always_wider_2", "0", "1", "*", "allow_once,reject_once",
		"proceed_once", "proceed_always", "approved", "choice-0", "true", "null", "reject_once ", "\\u0061llow_once\\u200b", "ａllow_once",
	} {
		outcome(fmt.Sprintf(`{"outcome":{"outcome":"selected","optionId":"%s"}}`, id))
	}
	for _, result := range []string{
		`null`, `{}`, `[]`, `true`, `"allow_once"`, `1`, `{"outcome":null}`, `{"outcome":"selected"}`, `{"outcome":"allow_once"}`, `{"outcome":{}}`, `{"outcome":[]}`, `{"outcome":{"outcome":"selected"}}`, `{"outcome":{"optionId":"allow_once"}}`, `{"optionId":"allow_once"}`,
		`{"outcome":{"outcome":"selected","optionId":null}}`, `{"outcome":{"outcome":"selected","optionId":["allow_once"]}}`, `{"outcome":{"outcome":"selected","optionId":{"id":"allow_once"}}}`, `{"outcome":{"outcome":"selected","optionId":1}}`, `{"outcome":{"outcome":"selected","option_id":"allow_once"}}`,
		`{"outcome":{"outcome":"SELECTED","optionId":"allow_once"}}`, `{"outcome":{"outcome":"approved","optionId":"allow_once"}}`, `{"outcome":{"outcome":"cancelled","optionId":"allow_once"}}`, `{"outcome":{"outcome":"","optionId":"allow_once"}}`, `{"outcome":{"outcome":null,"optionId":"allow_once"}}`, `{"outcome":{"selected":{"optionId":"allow_once"}}}`,
		`{"outcome":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`, `{"outcome":{"outcome":["selected"],"optionId":"allow_once"}}`, `{"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`, `[{"outcome":{"outcome":"selected","optionId":"allow_once"}}]`,
	} {
		outcome(result)
	}
	yes := fmt.Sprintf(chosen, "allow_once")
	forge("an error and a result", func(id json.RawMessage) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"},"result":%s}`, id, yes)}
	})
	for _, f := range []string{`"%s"`, `%s0`, `1%s`, `-%s`, `%s.5`, `[%s]`, `{"id":%s}`, `null`, `true`, `""`} {
		forge("the id is "+f, func(id json.RawMessage) []string {
			other := f
			if strings.Contains(f, "%s") {
				other = fmt.Sprintf(f, id)
			}
			if other == string(id) {
				return nil
			}
			return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, other, yes)}
		})
	}
	forge("a notification", func(json.RawMessage) []string {
		return []string{`{"jsonrpc":"2.0","method":"session/request_permission","params":` + yes + `}`}
	})
	forge("a request", func(id json.RawMessage) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":%s}`, id, yes)}
	})
	forge("after it was withdrawn", func(id json.RawMessage) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"cancelled"}}}`, id), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, yes)}
	})
	forge("after it was rejected", func(id json.RawMessage) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, fmt.Sprintf(chosen, "reject_once")), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, yes)}
	})
	forge("after the turn was stopped", func(id json.RawMessage) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, session), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, yes)}
	})

	// Answers before there is a question, and those to questions before.
	turn, q := w.say(session, "pay Ada")
	w.respond(q.ID, yes)
	w.result(turn)
	require.Equal(s, 1, w.paid(), "the right answer counts")
	for n := range 400 {
		w.respond(json.RawMessage(fmt.Sprint(n)), yes)
	}
	turn, next := w.say(session, "pay Ada")
	w.respond(q.ID, yes)
	w.respond(next.ID, `{"outcome":{"outcome":"cancelled"}}`)
	w.result(turn)
	s.attack(w.paid() == 1, "answers that came before the question: paid %d times", w.paid())
	// Two calls that look the same, and two sessions.
	turn, first := w.say(session, "twins Ada")
	w.respond(first.ID, yes)
	second := w.question()
	for range 5 {
		w.respond(first.ID, yes)
	}
	s.attack(string(first.ID) != string(second.ID), "both questions have the id %s", first.ID)
	w.respond(second.ID, fmt.Sprintf(chosen, "reject_once"))
	w.result(turn)
	s.attack(w.paid() == 2, "one is allowed and the other rejected: paid %d times", w.paid()-1)
	other := w.session()
	turn, first = w.say(session, "pay Ada")
	turn2, second := w.say(other, "pay Ada")
	w.respond(second.ID, yes)
	w.result(turn2)
	s.attack(w.paid() == 3, "two sessions, one is answered: paid %d times", w.paid()-2)
	w.respond(second.ID, yes)
	w.respond(first.ID, `{"outcome":{"outcome":"cancelled"}}`)
	w.result(turn)
	s.attack(w.paid() == 3, "two sessions, one is answered twice: paid %d times", w.paid()-2)
}

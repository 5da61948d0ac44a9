// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// sent makes an update of the agent, and writes down how much of the limit the session takes.
func (d *desk) sent(update string) {
	does(d, d.updates, `{"sessionId":"s","update":`+update+`}`)
	fmt.Fprintf(d.told, "  size: %d\n", d.s.fold.size)
}

// chunkOf is an update with a piece of text.
func chunkOf(kind, more, text string) string {
	return fmt.Sprintf(`{"sessionUpdate":%q%s,"content":{"type":"text","text":%q}}`, kind, more, text)
}

// TestUpdatesOfHandlers compares what is shown after each update of an agent, and how much of the
// limit that takes.
func TestUpdatesOfHandlers(t *testing.T) {
	var told strings.Builder
	d := newDesk(t, &told, Config{}, nil)
	const agent, thought, user = "agent_message_chunk", "agent_thought_chunk", "user_message_chunk"
	for _, u := range []string{
		chunkOf(agent, "", "one"), chunkOf(agent, "", " two"), chunkOf(thought, "", "hm"), chunkOf(thought, "", "m"), chunkOf(agent, "", "three"),
		chunkOf(agent, `,"messageId":"m1"`, "first"), chunkOf(agent, `,"messageId":"m2"`, "second"), chunkOf(agent, `,"messageId":"m1"`, " more"), chunkOf(thought, `,"messageId":"m1"`, "thought"),
		chunkOf(agent, "", "without"), chunkOf(user, "", "user"), chunkOf(user, "", " goes on"),
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AAAA","uri":"file:///x"}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///y","name":"y"}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Call","kind":"edit","status":"pending","rawInput":{"path":"x"},"locations":[{"path":"/repo/x","line":3}],"content":[{"type":"diff","path":"/repo/x","oldText":"old","newText":"newer"}],"_meta":{"a":1}}`,
		chunkOf(agent, "", "after a call"),
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}`,
		chunkOf(agent, "", " it goes on"),
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Read it","kind":"read","content":[],"locations":[]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Ended","rawOutput":{"ok":true},"status":"completed"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"unknown"}`,
		`{"sessionUpdate":"plan","entries":[{"content":"step","priority":"high","status":"pending"}],"_meta":{"p":1}}`,
		`{"sessionUpdate":"plan","entries":[]}`,
		`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"a","description":"A","input":{"hint":"what"}},{"name":"b","description":"B","_meta":{"ponte-go.dev/atOnce":true}}]}`,
		`{"sessionUpdate":"current_mode_update","currentModeId":"code"}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"type":"boolean","id":"web","name":"Web","description":"D","category":"other","currentValue":true},{"type":"select","id":"m","name":"M","currentValue":"a","options":[{"value":"a","name":"A","description":"d"}]},{"type":"select","id":"g","name":"G","currentValue":"b","options":[{"group":"g1","name":"Group","options":[{"value":"b","name":"B"}]}]},{"type":"later","id":"z","name":"Z"}]}`,
		`{"sessionUpdate":"current_mode_update","currentModeId":"ask"}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"type":"select","id":"mode","name":"Own","currentValue":"x","options":[{"value":"x","name":"X"}]}]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[]}`,
		`{"sessionUpdate":"session_info_update","title":"Title","updatedAt":"2026-01-02T03:04:05Z"}`,
		`{"sessionUpdate":"session_info_update","updatedAt":"nonsense"}`,
		`{"sessionUpdate":"session_info_update","title":null}`,
		`{"sessionUpdate":"session_info_update","_meta":{"ponte-go.dev/waiting":[{"id":"1","version":2,"number":"#1","text":"first"},{"id":"2","version":1,"number":"#2","text":"second"}]}}`,
		`{"sessionUpdate":"session_info_update","_meta":{"ponte-go.dev/waiting":[{"id":"2","version":1,"number":"#1","text":"second"}]}}`,
		`{"sessionUpdate":"session_info_update","_meta":{"ponte-go.dev/waiting":[]}}`,
		`{"sessionUpdate":"usage_update","used":5,"size":10}`,
		`{"sessionUpdate":"usage_update","used":5,"size":10,"cost":{"amount":1.5,"currency":"USD"}}`,
		`{"sessionUpdate":"notice","severity":"warning","title":"careful","message":"very"}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}`,
		`{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"sum"}}`,
		`{"sessionUpdate":"compaction_summary_chunk","compactionId":"late","content":{"type":"text","text":"sum"}}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"failed","error":"because"}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"completed","error":null,"summary":[{"type":"text","text":"all"}]}`,
		`{"sessionUpdate":"telepathy"}`,
	} {
		d.sent(u)
	}

	told.WriteString("\n# turns\n")
	prompt := func(text string) {
		d.s.fold.beginTurn([]acp.ContentBlock{acp.TextBlock(text)})
		fmt.Fprintf(&told, "\nprompt %q\n", text)
		d.look()
	}
	prompt("hello you")
	d.sent(chunkOf(user, "", "hello"))
	d.sent(chunkOf(user, "", " you"))
	d.sent(chunkOf(user, "", "!"))
	prompt("abc")
	d.sent(chunkOf(user, "", "ab"))
	d.sent(chunkOf(user, "", "x"))
	d.sent(chunkOf(user, "", "y"))
	prompt("abc")
	d.sent(chunkOf(user, "", "ab"))
	d.sent(chunkOf(agent, "", "answer"))
	d.sent(chunkOf(user, "", "c"))
	d.sent(chunkOf(agent, "", "second answer"))
	d.sent(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ignored"},"_meta":{"ponte-go.dev/status":"stopped"}}`)
	require.Len(t, d.s.fold.endTurn(view.CutOff), 2)
	d.look()
	d.sent(chunkOf(agent, "", "third"))
	d.s.turn, d.s.loading = nil, true
	d.sent(chunkOf(agent, "", " replayed"))
	d.s.loading = false
	for _, u := range []string{
		chunkOf(agent, "", "late"), chunkOf(thought, "", "late"), chunkOf(user, "", "late"), `{"sessionUpdate":"tool_call","toolCallId":"l","title":"L"}`, `{"sessionUpdate":"tool_call_update","toolCallId":"l"}`, `{"sessionUpdate":"plan","entries":[]}`,
		`{"sessionUpdate":"usage_update","used":5,"size":10}`, `{"sessionUpdate":"notice","severity":"info","title":"fine"}`,
	} {
		d.sent(u)
	}
	d.s.ended = true
	d.sent(chunkOf(agent, "", "closed"))
	d.s.ended = false
	d.s.fold.limit = d.s.fold.size
	d.sent(chunkOf(agent, "", "x"))
	d.sent(chunkOf(agent, "", "beyond"))
	require.True(t, d.s.fold.full)

	told.WriteString("\n# outside of sessions\n")
	does(d, d.updates, `{"sessionId":"other","update":`+chunkOf(agent, "", "x")+`}`)
	d.s.client.opening = 1
	does(d, d.updates, `{"sessionId":"other","update":`+chunkOf(agent, "", "early")+`}`)
	require.Len(t, d.s.client.early["other"], 1)
	golden(t, "updates.txt", told.String())
}

// An update of an unknown kind is an error of a transcript, and changes nothing.
func TestFoldsRefuseUnknownUpdates(t *testing.T) {
	var f Fold
	f.Prompt(acp.TextBlock("hi"))
	require.EqualError(t, f.Apply(&acp.SessionUpdate{}), "acpclient: session/update: the agent broke the protocol: an update of an unknown kind")
	u := acp.TextChunk("there")
	require.NoError(t, f.Apply(&u))
	var all []string
	for e := range f.View().Snapshot().All() {
		all = append(all, string(e.Role)+": "+e.Text())
	}
	require.Equal(t, []string{"user: hi", "assistant: there"}, all)
}

// TestElicitationsOfHandlers compares what agents hear of their questions, and what is shown.
func TestElicitationsOfHandlers(t *testing.T) {
	var told strings.Builder
	var answer ElicitationFunc
	d := newDesk(t, &told, Config{Elicitation: func(ctx context.Context, e *Elicitation) (Answer, error) {
		call := ""
		if e.Call != nil {
			call = e.Call.ID
		}
		fmt.Fprintf(&told, "  asked: %q url %q id %q session %t call %q form %t\n", e.Message, e.URL, e.ID, e.Session != nil, call, e.Form != nil)
		return answer(ctx, e)
	}}, nil)
	always := func(a Answer, err error) ElicitationFunc {
		return func(context.Context, *Elicitation) (Answer, error) { return a, err }
	}
	const fields = `{"type":"object","properties":{"city":{"type":"string","minLength":2}},"required":["city"]}`
	const choices = `{"type":"object","properties":{"city":{"type":"string","oneOf":[{"const":"o","title":"Oslo"},{"const":"b","title":"Bonn"}]}},"required":["city"]}`
	form := func(more, schema string) string {
		return `{"mode":"form","message":"Where?"` + more + `,"requestedSchema":` + schema + `}`
	}
	visit := func(more, id string) string {
		return `{"mode":"url","message":"Log in."` + more + `,"elicitationId":"` + id + `","url":"https://example.com"}`
	}
	const session = `,"sessionId":"s"`
	create := func(request string) {
		does(d, d.h.CreateElicitation, request)
		fmt.Fprintf(&told, "  size: %d\n", d.s.fold.size)
	}
	d.sent(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Call"}`)
	city := func(text string) Answer {
		return Answer{Action: toolset.ActionAccept, Content: map[string]acp.ElicitationContentValue{"city": {String: &text}}}
	}
	accept, decline := Answer{Action: toolset.ActionAccept}, Answer{Action: toolset.ActionDecline}
	for _, a := range []ElicitationFunc{
		always(city("Oslo"), nil), always(city("O"), nil), always(accept, nil), always(decline, nil), always(Answer{Action: toolset.ActionCancel}, nil), always(Answer{}, nil),
		always(Answer{Action: toolset.Action(strings.Repeat("x", 101))}, nil), always(city("Oslo"), errors.New("because")),
		func(context.Context, *Elicitation) (Answer, error) { panic("because") },
	} {
		answer = a
		create(form(session, fields))
		create(form(`,"requestId":7`, fields))
		create(visit(session, "v"))
		create(visit(`,"requestId":7`, "w"))
	}
	answer = always(city("o"), nil)
	create(form(session+`,"toolCallId":"c"`, choices))
	create(form(session+`,"toolCallId":"none"`, choices))
	create(form(`,"sessionId":"none"`, fields))
	create(`{"mode":"later","message":"x","sessionId":"s"}`)

	told.WriteString("\n# visits\n")
	answer = always(accept, nil)
	complete := func(ctx context.Context, n *acp.CompleteElicitationNotification) (*struct{}, error) {
		return &struct{}{}, d.h.CompleteElicitation(ctx, n)
	}
	create(visit(session+`,"toolCallId":"c"`, "v1"))
	does(d, complete, `{"elicitationId":"other"}`)
	does(d, complete, `{"elicitationId":"v1"}`)
	answer = always(decline, nil)
	create(visit(session, "v2"))
	does(d, complete, `{"elicitationId":"v2"}`)

	told.WriteString("\n# of the session, and of nobody\n")
	d.s.elicitation = func(context.Context, *Elicitation) (Answer, error) { return decline, nil }
	create(form(session, fields))
	d.s.turn = nil
	create(form(session, fields))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.ctx = ctx
	create(form(session, fields))
	create(form(`,"requestId":7`, fields))
	d.ctx = t.Context()
	d.s.client.config.Elicitation = nil
	create(form(session, fields))
	golden(t, "elicitations.txt", told.String())
}

// TestTerminalsOfHandlers compares what agents hear of their commands, what people are asked, and what
// is started.
func TestTerminalsOfHandlers(t *testing.T) {
	var told strings.Builder
	d := newDesk(t, &told, Config{}, nil)
	d.answer = chooses("allow_once")
	create := func(request string) *acp.CreateTerminalResponse {
		return does(d, func(ctx context.Context, r *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
			answer, err := d.h.CreateTerminal(ctx, r)
			d.s.terminals.ending.Wait() // the command has ended, and all of it is shown
			return answer, err
		}, `{"sessionId":"s",`+request+`}`)
	}
	for _, request := range []string{
		`"command":"ls"`, `"command":"ls -l"`, `"command":"ls","args":["-l","a b"],"env":[{"name":"A","value":"1"}],"cwd":"/repo"`, `"command":""`, `"command":"ls","cwd":"/etc"`, `"command":"ls","cwd":"sub/../."`,
		`"command":"ls","env":[{"name":"A=","value":""}]`, `"command":"ls","env":[{"name":"","value":"x"}]`,
	} {
		create(request)
	}
	d.fails["start"] = fmt.Errorf("because")
	create(`"command":"ls"`)
	clear(d.fails)
	d.answer = chooses("reject_once")
	create(`"command":"ls"`)
	d.answer = chooses("allow_always")
	create(`"command":"make","args":["all"]`)
	create(`"command":"make","args":["all"]`)
	d.answer = chooses("reject_once")
	create(`"command":"make","args":["none"]`)

	told.WriteString("\n# output\n")
	d.answer = chooses("allow_once")
	at := func(a *acp.CreateTerminalResponse) string {
		return `{"sessionId":"s","terminalId":"` + string(a.TerminalID) + `"}`
	}
	for _, limit := range []string{"", `,"outputByteLimit":0`, `,"outputByteLimit":2`, `,"outputByteLimit":3`, `,"outputByteLimit":99999999999`} {
		a := create(`"command":"ls"` + limit)
		fmt.Fprintf(&told, "  limit: %d\n", d.s.terminals.byID[a.TerminalID].limit)
		does(d, d.h.TerminalOutput, at(a))
		does(d, d.h.WaitForTerminalExit, at(a))
		does(d, d.h.KillTerminal, at(a))
		does(d, d.h.ReleaseTerminal, at(a))
		does(d, d.h.ReleaseTerminal, at(a))
	}
	none := &acp.CreateTerminalResponse{TerminalID: acp.TerminalID(strings.Repeat("t", 101))}
	does(d, d.h.TerminalOutput, at(none))
	does(d, d.h.WaitForTerminalExit, at(none))
	does(d, d.h.KillTerminal, at(none))
	does(d, d.h.KillTerminal, strings.Replace(at(none), `"s"`, `"none"`, 1))

	told.WriteString("\n# many\n")
	for len(d.s.terminals.byID) < maxTerminals-1 {
		d.s.terminals.byID[acp.TerminalID(fmt.Sprint(len(d.s.terminals.byID)))] = ended()
	}
	create(`"command":"ls"`)
	require.Len(t, d.s.terminals.byID, maxTerminals)
	create(`"command":"ls"`)
	require.Zero(t, d.s.terminals.coming)
	d.s.terminals.releaseAll()
	require.Empty(t, d.s.terminals.byID)
	create(`"command":"ls"`)

	told.WriteString("\n# a trusted agent\n")
	d = newDesk(t, &told, Config{Trusted: true}, nil)
	create(`"command":"ls","_meta":{"ponte.sandbox":"network"}`)
	d = newDesk(t, &told, Config{}, nil)
	d.answer = chooses("allow_once")
	create(`"command":"ls","_meta":{"ponte.sandbox":"network"}`)
	golden(t, "terminals.txt", told.String())
}

// ended is a terminal whose command has ended.
func ended() *terminal {
	one := &terminal{process: gone{}, stop: func() {}, watched: make(chan struct{})}
	close(one.watched)
	return one
}

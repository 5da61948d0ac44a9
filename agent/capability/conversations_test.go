// SPDX-License-Identifier: Apache-2.0

package capability_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
)

type scope = capability.ConversationScope

// add makes a session with messages.
func add(t testing.TB, s session.Store, n session.New, messages ...*model.Message) {
	t.Helper()
	info, err := s.Create(t.Context(), n)
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, info.ID, session.Claim{Holder: "test"})
	require.NoError(t, err)
	for i, m := range messages {
		data, err := json.Marshal(map[string]any{"message": m})
		require.NoError(t, err)
		_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Data: data, Time: n.Created.Add(time.Duration(i) * time.Second)})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
}

// run returns what the model is told of its calls.
func runConversations(t *testing.T, s scope, calls ...model.Part) (told []string) {
	t.Helper()
	var steps []modeltest.Step
	for _, c := range calls {
		steps = append(steps, modeltest.Say(c))
	}
	a := agent.Must(agent.New(agent.Config[scope, string]{
		Model:        modeltest.Script(append(steps, modeltest.SayText("done"))...),
		Capabilities: []agent.Capability[scope]{capability.Conversations(func(s scope) scope { return s })},
	}))
	res, err := a.Run(t.Context(), s, "go")
	require.NoError(t, err)
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				told = append(told, p.Text)
			}
		}
	}
	return told
}

func search(query string) model.Part {
	return model.ToolCall("1", capability.ToolSearchConversations, fmt.Sprintf(`{"query":%q}`, query))
}

func read(id string, entry int) model.Part {
	return model.ToolCall("1", capability.ToolReadConversation, fmt.Sprintf(`{"session":%q,"entry":%d}`, id, entry))
}

var day = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func returned(text string) *model.Message {
	return &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "read", text), model.User("added by the tool: port")}}
}

func TestEarlierConversationsAreSearched(t *testing.T) {
	s := new(session.Memory)
	add(t, s, session.New{ID: "s1", Title: "Server\nsetup", Dir: "/repo", Created: day},
		model.UserText("Which port does the server use?"), model.Response(model.Thinking("port port"), model.ToolCall("1", "read", `{"port":1}`)),
		returned("port = 1234"), model.Response(model.Text("The server uses PORT 8080.")))
	add(t, s, session.New{ID: "s2", Dir: "/repo", Created: day.AddDate(0, 0, 1)}, model.UserText("Paint the port blue.\x1b[2J"))
	add(t, s, session.New{ID: "s3", Dir: "/other", Created: day}, model.UserText("The port of others."))
	add(t, s, session.New{ID: "now", Dir: "/repo", Created: day.AddDate(0, 0, 2)}, model.UserText("What was the port?"))
	sc := scope{Store: s, Dir: "/repo", Current: "now"}
	told := runConversations(t, sc, search("server port"), search("Blue"), search("1234"), search("nothing of this"))
	require.Equal(t, "## Server setup (2026-05-01, session s1, entry 4)\nagent: The server uses PORT 8080.\n\n"+
		"## Server setup (2026-05-01, session s1, entry 1)\nuser: Which port does the server use?\n\n"+
		"## Untitled (2026-05-02, session s2, entry 1)\nuser: Paint the port blue.⟨ESC⟩[2J", told[0])
	require.Contains(t, told[1], "Paint the port blue.")
	require.Equal(t, []string{"Nothing fits. Try other words.", "Nothing fits. Try other words."}, told[2:])

	told = runConversations(t, sc, read("s1", 4), read("s1", 0), read("s3", 0), read("gone", 0), read("a\nb", 0), read("s1", 99))
	require.Equal(t, []string{
		"agent: The server uses PORT 8080.", "user: Which port does the server use?\n\nagent: The server uses PORT 8080.",
		"There is no session s3.", "There is no session gone.", "There is no session a b.", "Nothing was said there.",
	}, told)
	require.Equal(t, []string{"There are no earlier conversations.", "There are no earlier conversations."}, runConversations(t, scope{}, search("port"), read("s1", 0)))
}

func TestSearchesAreBounded(t *testing.T) {
	s := new(session.Memory)
	long := strings.Repeat("ü", 500) + " needle " + strings.Repeat("ü", 500)
	for i := range capability.MaxConversations + 5 {
		text := long
		if i == 0 {
			text = strings.Repeat(long, 10)
		}
		add(t, s, session.New{ID: fmt.Sprintf("s%03d", i), Created: day.AddDate(0, 0, i)}, model.UserText(text), model.UserText("last"))
	}
	told := runConversations(t, scope{Store: s}, search("needle"), read("s000", 1))
	require.Less(t, len(told[0]), 8<<10)
	require.Equal(t, 8, strings.Count(told[0], "needle"))
	require.Contains(t, told[0], "session s204")
	require.True(t, strings.HasSuffix(told[0], "[Not all conversations were searched.]"))
	require.Less(t, len(told[1]), 17<<10)
	require.Contains(t, told[1], "[There is more of this message.]")
	require.Contains(t, told[1], "user: last")

	many := make([]*model.Message, 100)
	for i := range many {
		many[i] = model.UserText(strings.Repeat("word ", 200))
	}
	add(t, s, session.New{ID: "many", Created: day}, many...)
	told = runConversations(t, scope{Store: s}, read("many", 1))
	require.Contains(t, told[0], "[To read on, call read_conversation with entry 17.]")
}

// away is a store that cannot be reached.
type away struct{ session.Store }

var errAway = &session.Error{Op: "list", Err: fmt.Errorf("%w: no answer from db.internal", session.ErrUnavailable)}

func (away) List(context.Context, session.Query) (session.Page, error) {
	return session.Page{}, errAway
}
func (away) Get(context.Context, string) (session.Info, error) { return session.Info{}, errAway }

func TestStoreThatIsAwayDoesNotEndTheRun(t *testing.T) {
	told := runConversations(t, scope{Store: away{}}, search("port"), read("s1", 0))
	require.Equal(t, []string{"Earlier conversations cannot be read at the moment.", "Earlier conversations cannot be read at the moment."}, told)
}

func TestScopeIsRequired(t *testing.T) {
	_, err := agent.New(agent.Config[scope, string]{Capabilities: []agent.Capability[scope]{capability.Conversations[scope](nil)}})
	require.ErrorContains(t, err, "the function is nil")

	ctx, cancel := context.WithCancel(t.Context())
	a := agent.Must(agent.New(agent.Config[scope, string]{
		Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			cancel()
			return model.Response(search("x")), nil
		}),
		Capabilities: []agent.Capability[scope]{capability.Conversations(func(s scope) scope { return s })},
	}))
	_, err = a.Run(ctx, scope{Store: new(session.Memory)}, "go")
	require.ErrorIs(t, err, context.Canceled)
}

func ExampleConversations() {
	ctx := context.Background()
	store := new(session.Memory)
	if _, err := store.Create(ctx, session.New{ID: "s1", Title: "Setup", Dir: "/repo"}); err != nil {
		fmt.Println(err)
		return
	}
	w, err := session.Open(ctx, store, "s1", session.Claim{Holder: "editor"})
	if err != nil {
		fmt.Println(err)
		return
	}
	entry := session.Entry{Kind: session.KindMessage, Time: day, Data: json.RawMessage(`{"message":{"v":1,"kind":"request","parts":[{"kind":"user","text":"Use port 8080."}]}}`)}
	if _, err := w.Append(ctx, entry); err != nil {
		fmt.Println(err)
		return
	}
	a := agent.Must(agent.New(agent.Config[session.Store, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "search_conversations", `{"query":"port"}`)), modeltest.SayText("8080.")),
		Capabilities: []agent.Capability[session.Store]{capability.Conversations(func(s session.Store) capability.ConversationScope {
			return capability.ConversationScope{Store: s, Dir: "/repo"}
		})},
	}))
	res, err := a.Run(ctx, store, "Which port did we agree on?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Messages[2].Parts[0].Text)
	// Output:
	// ## Setup (2026-05-01, session s1, entry 1)
	// user: Use port 8080.
}

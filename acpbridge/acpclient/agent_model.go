// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// ModelProvider is the provider in the info and the messages of a [Model].
const ModelProvider = "acp"

// Model uses an ACP agent as the model of another agent: each response is a whole turn. It suits
// agents without tools: a named sub-agent (agent.HandOver, agent.AsTool), or an agent with a typed
// output and agent.OutputPrompted.
//
//   - Unsupported parts of a request are errors that name them and wrap [errors.ErrUnsupported]: tools, a required tool call, a schema that
//     constrains the text, settings, media.
//   - A request continues the session of the previous response. If that session is gone, as in another process, a new one gets the
//     conversation as text.
//   - The messages do not contain the agent's own tool calls. Its questions go to Session.Permission or Config.Permission.
//
// It is safe for concurrent use. Close must be called.
type Model struct {
	agent *Agent

	mu     sync.Mutex
	client *Client
	end    func()
	live   []*conversation // the one that was used last is the last
	closed bool
}

// conversation is a session whose last response had the id.
type conversation struct {
	session *Session
	id      string
	turns   int
}

// maxLive is how many sessions a model keeps open.
const maxLive = 16

var _ model.Model = (*Model)(nil)

// NewModel returns a model that is an agent. The agent is started by the first request.
func NewModel(a Agent) *Model { return &Model{agent: &a} }

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Provider: ModelProvider, Name: m.agent.name(), NoForcedCalls: true}
}

// Close ends the sessions, and the agent if the model has started it.
func (m *Model) Close() error {
	m.mu.Lock()
	live, end := m.live, m.end
	m.live, m.client, m.end, m.closed = nil, nil, nil, true
	m.mu.Unlock()
	for _, c := range live {
		closeSession(context.Background(), c.session)
	}
	if end != nil {
		end()
	}
	return nil
}

// Generate implements [model.Model].
func (m *Model) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := m.check(req); err != nil {
		return nil, err
	}
	c, prompt, err := m.conversation(ctx, req)
	if err != nil {
		return nil, m.failed(err)
	}
	resp, err := m.turn(ctx, c, prompt, sink)
	if err != nil {
		closeSession(ctx, c.session)
		return nil, err
	}
	m.keep(ctx, c)
	return resp, nil
}

func (m *Model) failed(err error) error { return fmt.Errorf("acpclient: %s: %w", m.agent.name(), err) }

// check refuses what an agent cannot be told.
func (m *Model) check(req *model.Request) error {
	refuse := func(format string, args ...any) error {
		return m.failed(fmt.Errorf("an ACP agent as a model cannot take %s: %w", fmt.Sprintf(format, args...), errors.ErrUnsupported))
	}
	if n := len(req.Tools); n > 0 {
		names := make([]string, n)
		for i := range req.Tools {
			names[i] = req.Tools[i].Name
		}
		return refuse("tools (%s); it has its own", strings.Join(names, ", "))
	}
	if mode := req.ToolChoice.Mode; mode == model.ToolChoiceRequired || mode == model.ToolChoiceTool {
		return refuse("a demanded tool call")
	}
	if req.Output != nil {
		return refuse("an output schema; use agent.OutputPrompted")
	}
	if s := req.Settings; s != nil {
		for name, set := range map[string]bool{
			"MaxTokens": s.MaxTokens != 0, "Temperature": s.Temperature != nil, "TopP": s.TopP != nil, "Stop": s.Stop != nil, "Seed": s.Seed != nil,
			"Thinking": s.Thinking != "", "ServiceTier": s.ServiceTier != "", "NativeTools": s.NativeTools != nil, "CompactAt": s.CompactAt != 0, "ExtraHeaders": s.ExtraHeaders != nil, "ExtraBody": s.ExtraBody != nil,
		} {
			if set {
				return refuse("the setting %s", name)
			}
		}
	}
	for _, msg := range req.Messages {
		for i := range msg.Parts {
			if msg.Parts[i].Kind == model.PartMedia && msg.Kind == model.KindRequest {
				return refuse("media (%s)", msg.Parts[i].MediaType)
			}
		}
	}
	return nil
}

// conversation returns the session of a request, and what it is to be told. Nobody else has the
// session then.
func (m *Model) conversation(ctx context.Context, req *model.Request) (*conversation, string, error) {
	last := len(req.Messages) - 1
	for last >= 0 && req.Messages[last].Kind != model.KindResponse {
		last--
	}
	if last >= 0 && req.Messages[last].Provider == ModelProvider {
		if c := m.take(req.Messages[last].ResponseID); c != nil {
			return c, textOf(req.Messages[last+1:]), nil
		}
	}
	client, err := m.connect(ctx)
	if err != nil {
		return nil, "", err
	}
	session, err := client.NewSession(ctx, m.agent.Session)
	if err != nil {
		return nil, "", err
	}
	prompt := textOf(req.Messages)
	if last >= 0 {
		prompt = transcript(req.Messages[:last+1]) + textOf(req.Messages[last+1:])
	}
	if req.Instructions != "" {
		prompt = req.Instructions + "\n\n" + prompt
	}
	return &conversation{session: session}, prompt, nil
}

// take takes a conversation out of those that are kept.
func (m *Model) take(id string) *conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.live, func(c *conversation) bool { return c.id == id })
	if i < 0 || id == "" || m.live[i].session.Client().Err() != nil {
		return nil
	}
	c := m.live[i]
	m.live = slices.Delete(m.live, i, i+1)
	return c
}

// keep keeps a conversation for the next request, and closes the oldest if there are too many.
func (m *Model) keep(ctx context.Context, c *conversation) {
	m.mu.Lock()
	m.live = append(m.live, c)
	var old *conversation
	switch {
	case m.closed:
		old, m.live = c, nil
	case len(m.live) > maxLive:
		old, m.live = m.live[0], slices.Clone(m.live[1:])
	}
	m.mu.Unlock()
	if old != nil {
		closeSession(ctx, old.session)
	}
}

// connect returns the client, and starts the agent if there is none, or if it has ended.
func (m *Model) connect(ctx context.Context) (*Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if m.client != nil && m.client.Err() == nil {
		return m.client, nil
	}
	if m.end != nil {
		m.end()
		m.end, m.client = nil, nil
	}
	client, end, err := m.agent.connect(ctx)
	if err != nil {
		return nil, err
	}
	m.client, m.end = client, end
	return client, nil
}

// turn has the agent answer. The sink is called on this goroutine, during the turn.
func (m *Model) turn(ctx context.Context, c *conversation, prompt string, sink model.Sink) (*model.Message, error) {
	before := c.session.Snapshot()
	sub := c.session.Cursor(before)
	turnCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	var turn *Turn
	var err error
	watching, done := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer done()
		turn, err = c.session.Say(turnCtx, prompt)
	}()
	told := &telling{sink: sink, parts: map[string]*toldPart{}}
	var refused error
	for {
		u, nextErr := sub.Update(watching)
		if nextErr != nil {
			break
		}
		if sink != nil && refused == nil {
			if refused = told.update(u); refused != nil {
				cancel()
			}
		}
	}
	<-ended
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, m.failed(err)
	case turn.StopReason == acp.StopReasonCancelled:
		return nil, m.failed(errors.New("the agent cancelled its turn"))
	}
	c.turns++
	c.id = fmt.Sprintf("%s#%d", c.session.ID(), c.turns)
	resp := &model.Message{
		Kind: model.KindResponse, Provider: ModelProvider, Model: m.agent.name(), ResponseID: c.id, Finish: finishOf(turn.StopReason), Usage: usageOf(turn),
	}
	for e := range turn.Snapshot.All() {
		if before.Get(e.ID) != nil || e.Text() == "" {
			continue
		}
		switch {
		case e.Kind == view.Thought:
			resp.Parts = append(resp.Parts, model.Thinking(e.Text()))
		case e.Kind == view.Message && e.Role == view.Assistant:
			resp.Parts = append(resp.Parts, model.Text(e.Text()))
		}
	}
	return resp, nil
}

func finishOf(why acp.StopReason) model.FinishReason {
	switch why {
	case acp.StopReasonEndTurn:
		return model.FinishStop
	case acp.StopReasonMaxTokens, acp.StopReasonMaxTurnRequests:
		return model.FinishLength
	case acp.StopReasonRefusal:
		return model.FinishRefusal
	}
	return model.FinishOther
}

// telling passes on what the agent says.
type telling struct {
	sink  model.Sink
	parts map[string]*toldPart // by entity
}

// toldPart is a part of the response, and how many bytes of it have been passed on.
type toldPart struct{ part, bytes int }

func (t *telling) update(u *view.Update) error {
	for i := range u.Changes {
		kind := model.PartText
		e := u.Changes[i].Entity
		switch {
		case e == nil:
			continue
		case e.Kind == view.Thought:
			kind = model.PartThinking
		case e.Kind != view.Message || e.Role != view.Assistant:
			continue
		}
		text := e.Text()
		p := t.parts[e.ID]
		if p == nil {
			if text == "" {
				continue
			}
			p = &toldPart{part: len(t.parts)}
			t.parts[e.ID] = p
		}
		if len(text) <= p.bytes {
			continue
		}
		d := model.Delta{Part: p.part, Kind: kind, Text: text[p.bytes:]}
		p.bytes = len(text)
		if err := t.sink(d); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns the text of requests.
func textOf(all []*model.Message) string {
	var texts []string
	for _, msg := range all {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	return strings.Join(texts, "\n\n")
}

// transcript tells a new session what was said before.
func transcript(all []*model.Message) string {
	var b strings.Builder
	b.WriteString("This is the conversation so far.\n\n")
	for _, msg := range all {
		who := "User"
		if msg.Kind == model.KindResponse {
			who = "Assistant"
		}
		for i := range msg.Parts {
			switch p := &msg.Parts[i]; p.Kind {
			case model.PartUser, model.PartSystem, model.PartText:
				fmt.Fprintf(&b, "%s: %s\n\n", who, p.Text)
			case model.PartToolCall:
				fmt.Fprintf(&b, "Assistant called %s: %s\n\n", p.Tool, p.Args)
			case model.PartToolReturn, model.PartRetry:
				fmt.Fprintf(&b, "Result: %s\n\n", p.Text)
			}
		}
	}
	b.WriteString("Continue it.\n\nUser: ")
	return b.String()
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (m *Model) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "Model("+m.agent.name()+")")
}

// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// asking returns the call that a request of the server belongs to.
//
// Since protocol version 2026-07-28 that is certain: the request is part of the answer to a call.
// Before, a request names no call. It then belongs to the run whose calls are the only ones in
// progress, unless the server has left a call of another run unanswered: it may still ask about
// that one, and its person must not be mistaken for this one.
func (l *link) asking(ctx context.Context) (*flight, error) {
	if f, ok := ctx.Value(flightKey{}).(*flight); ok {
		return f, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *flight
	for _, f := range l.flights {
		if found != nil && f.info.RunID != found.info.RunID {
			return nil, errors.New("several runs use this connection, and it is not known which one the request belongs to")
		}
		if found == nil || f.token < found.token {
			found = f
		}
	}
	if found == nil {
		return nil, errors.New("no tool call is in progress that the request could belong to")
	}
	for run := range l.abandoned {
		if run != found.info.RunID {
			return nil, errors.New("a call of another run was cancelled before, and it is not known which one the request belongs to")
		}
	}
	return found, nil
}

// turn finds the run for a request of the server and keeps its call from ending. The caller calls
// done.
func (l *link) turn(ctx context.Context) (_ *flight, _ context.Context, done func(), err error) {
	f, err := l.asking(ctx)
	if err == nil && f.host == nil {
		err = toolset.ErrNobody
	}
	if err == nil {
		err = f.enter()
	}
	if err != nil {
		return nil, nil, nil, refused(err)
	}
	// The request ends with the call, and if the server cancels it.
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(f.ctx, cancel)
	return f, ctx, func() { stop(); cancel(); f.work.Done() }, nil
}

// refused is the answer to a request that is not served.
func refused(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "refused: " + err.Error()}
}

// elicit asks the person of the run.
func (l *link) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	q, err := l.server.question(r.Params)
	if err != nil {
		return nil, refused(err)
	}
	f, ctx, done, err := l.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	reply, err := f.host.Ask(ctx, *f.call, q)
	if err != nil {
		return nil, refused(err)
	}
	res := &mcp.ElicitResult{Action: string(reply.Action)}
	if reply.Action == toolset.ActionAccept && len(reply.Content) > 0 && q.URL == "" {
		content, _ := decoded(reply.Content)
		object, ok := exact(content).(map[string]any)
		if !ok {
			return nil, refused(errors.New("the answer is not a JSON object"))
		}
		res.Content = object
	}
	return res, nil
}

// question converts an elicitation. People see who asks, and all characters of the text.
func (s *Server) question(p *mcp.ElicitParams) (toolset.Question, error) {
	q := toolset.Question{Message: fmt.Sprintf(
		"The MCP server %q asks:\n%s", s.config.Name, visibleText(p.Message, 4000),
	)}
	if p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || visible(p.URL, 2000) != p.URL {
			return toolset.Question{}, errors.New("the address is not a plain web address")
		}
		q.URL, q.ID = p.URL, head(p.ElicitationID, 200)
		return q, nil
	}
	schema, ok := p.RequestedSchema.(map[string]any)
	if !ok {
		schema = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	if depth(schema, 10) > 8 {
		return toolset.Question{}, errors.New("the form is too deep")
	}
	data, err := json.Marshal(shownSchema(schema, false))
	if err != nil || len(data) > s.config.Limits.Schema {
		return toolset.Question{}, errors.New("the form is too large")
	}
	q.Schema = data
	return q, nil
}

// shownSchema writes out invisible characters in the texts of a form. Names of fields and values
// stay as they are, because the answer has them.
func shownSchema(v any, text bool) any {
	switch v := v.(type) {
	case string:
		if text {
			return visible(v, 1000)
		}
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = shownSchema(e, text)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, e := range v {
			_, literal := e.(string)
			_, names := e.([]any)
			object[k] = shownSchema(
				e, (literal && (k == "title" || k == "description")) || (names && k == "enumNames"),
			)
		}
		return object
	}
	return v
}

// maxSample bounds the text of a server's request to the model that a person is shown.
const maxSample = 4000

// sample sends a request of the server to the run's model.
func (l *link) sample(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	req, shown, err := sampleRequest(r.Params)
	if err != nil {
		return nil, refused(err)
	}
	f, ctx, done, err := l.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if l.server.config.Sampling != SamplingAllow {
		reply, err := f.host.Ask(ctx, *f.call, toolset.Question{
			Message: fmt.Sprintf(
				"The MCP server %q wants to use your model. Accept to send this request:\n%s",
				l.server.config.Name, visibleText(shown, maxSample),
			),
			Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		})
		if err != nil {
			return nil, refused(err)
		}
		if reply.Action != toolset.ActionAccept {
			return nil, refused(errors.New("the user did not allow it"))
		}
	}
	msg, err := f.host.Generate(ctx, *f.call, req)
	if err != nil {
		if errors.Is(err, toolset.ErrNobody) {
			return nil, refused(errors.New("there is no model"))
		}
		return nil, refused(errors.New("the model did not answer")) // the reason is none of the server's business
	}
	res := &mcp.CreateMessageResult{
		Role: "assistant", Model: "unknown", StopReason: "endTurn",
		Content: &mcp.TextContent{Text: msg.Text()},
	}
	if f.info.Model != nil {
		res.Model = f.info.Model.Name
	}
	switch msg.Finish {
	case model.FinishLength:
		res.StopReason = "maxTokens"
	case model.FinishContentFilter, model.FinishRefusal, model.FinishError:
		return nil, refused(errors.New("the model gave no usable answer"))
	}
	return res, nil
}

// sampleRequest converts a request to the model, and returns it as text for people.
func sampleRequest(p *mcp.CreateMessageParams) (*model.Request, string, error) {
	req := &model.Request{Instructions: p.SystemPrompt, Settings: &model.Settings{
		MaxTokens: int(min(p.MaxTokens, 1<<30)), Stop: p.StopSequences,
	}}
	if p.Temperature != 0 {
		req.Settings.Temperature = &p.Temperature
	}
	shown := ""
	if p.SystemPrompt != "" {
		shown = "[instructions] " + p.SystemPrompt
	}
	for _, m := range p.Messages {
		var part model.Part
		switch c := m.Content.(type) {
		case *mcp.TextContent:
			if part = model.User(c.Text); m.Role == "assistant" {
				part = model.Text(c.Text)
			}
			shown += fmt.Sprintf("\n[%s] %s", m.Role, c.Text)
		case *mcp.ImageContent:
			part = model.Media(mediaType(c.MIMEType), c.Data)
			shown += fmt.Sprintf("\n[%s] (an image)", m.Role)
		case *mcp.AudioContent:
			part = model.Media(mediaType(c.MIMEType), c.Data)
			shown += fmt.Sprintf("\n[%s] (audio)", m.Role)
		default:
			return nil, "", errors.New("this kind of content is not supported")
		}
		kind := model.KindRequest
		if m.Role == "assistant" {
			kind = model.KindResponse
		}
		req.Messages = append(req.Messages, &model.Message{Kind: kind, Parts: []model.Part{part}})
	}
	if len(req.Messages) == 0 || req.Messages[len(req.Messages)-1].Kind != model.KindRequest {
		return nil, "", errors.New("the last message must be the user's")
	}
	return req, shown, nil
}

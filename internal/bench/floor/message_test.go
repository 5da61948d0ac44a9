// SPDX-License-Identifier: Apache-2.0

package floor

import (
	"context"
	"iter"

	"github.com/google/jsonschema-go/jsonschema"
)

// Model answers, at once or as a stream of text.
type Model interface {
	Generate(ctx context.Context, req *Request) (*Response, error)
	Stream(ctx context.Context, req *Request) iter.Seq2[Part, error]
}

// Request is a request to a model.
type Request struct {
	Instructions string
	Messages     []Message
	Tools        []*Def
}

// Def is a tool as the model sees it.
type Def struct {
	Name, Description string
	Schema            *jsonschema.Schema
}

// Response is a model's response.
type Response struct {
	Parts []Part
	Usage Usage
}

// Role is the role of a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is a turn of the conversation.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is a text, a tool call, or a tool's result: CallID tells the text from the others.
type Part struct{ Text, CallID, Tool, Args string }

// Usage counts tokens.
type Usage struct{ Input, Output int }

// SPDX-License-Identifier: Apache-2.0

package floor

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// Conn is JSON-RPC by hand, as much of it as the benchmarks need: a message a line, one goroutine that reads, one call under way
// at a time, and neither cancellation nor limits.
type Conn struct {
	writing sync.Mutex
	w       io.Writer
	answers chan message
	handle  func(method string, params json.RawMessage) (any, error)
}

type message struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// outgoing is a message whose contents are not encoded yet.
type outgoing struct {
	Version string   `json:"jsonrpc"`
	ID      *int     `json:"id,omitempty"`
	Method  string   `json:"method,omitempty"`
	Params  any      `json:"params,omitempty"`
	Result  any      `json:"result,omitempty"`
	Error   *failure `json:"error,omitempty"`
}

// NewConn returns a connection that answers requests with handle.
func NewConn(w io.Writer, handle func(method string, params json.RawMessage) (any, error)) *Conn {
	return &Conn{w: w, answers: make(chan message), handle: handle}
}

// Serve reads until the end.
func (c *Conn) Serve(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.Method == "" {
			c.answers <- m
			continue
		}
		result, err := c.handle(m.Method, m.Params)
		answer := outgoing{ID: m.ID, Result: result}
		if err != nil {
			answer.Error = &failure{-32603, err.Error()}
		}
		if err := c.send(answer); err != nil {
			return err
		}
	}
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	return c.send(outgoing{Method: method, Params: params})
}

// Call sends a request and waits for its answer.
func (c *Conn) Call(method string, params, result any) error {
	if err := c.send(outgoing{ID: new(1), Method: method, Params: params}); err != nil {
		return err
	}
	answer := <-c.answers
	if answer.Error != nil {
		return errors.New(answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, result)
}

func (c *Conn) send(m outgoing) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.w.Write(append(line, '\n'))
	return err
}

// The messages.
type (
	// Update is the content of session/update.
	Update struct {
		SessionID string `json:"sessionId"`
		Update    Chunk  `json:"update"`
	}

	// Chunk is a part of the agent's answer.
	Chunk struct {
		Kind    string `json:"sessionUpdate"`
		Content Text   `json:"content"`
	}

	// Text is a block of content.
	Text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}

	// Prompt is the content of session/prompt, and Stop of its answer.
	Prompt struct {
		SessionID string `json:"sessionId"`
		Prompt    []Text `json:"prompt"`
	}

	// Stop says why a turn ended.
	Stop struct {
		StopReason string `json:"stopReason"`
	}

	// ReadFile is the content of fs/read_text_file, and File of its answer.
	ReadFile struct {
		SessionID string `json:"sessionId"`
		Path      string `json:"path"`
	}

	// File is a file's content.
	File struct {
		Content string `json:"content"`
	}
)

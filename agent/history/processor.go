// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Processor replaces the history of a run before a request to the model. It goes into an agent's
// configuration. The run context may be nil in unit tests. An error ends the run.
//
// The constructors of this package accept any configuration. A processor with an invalid one
// returns an error from every call.
type Processor[D any] = func(ctx context.Context, run *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error)

// Keys of [model.Message.Metadata] that mark the messages a processor made. Metadata is never sent
// to a model.
const (
	// MetaSummary marks a summary. The value is the number of messages that it replaces.
	MetaSummary = "ponte.history.summary"
	// MetaTrimmed marks a message of which only the system prompt was kept.
	MetaTrimmed = "ponte.history.trimmed"
	// MetaShortened marks a message with tool returns that were shortened. The value is the number
	// of bytes left out.
	MetaShortened = "ponte.history.shortened"
	// MetaCleared marks a message with tool returns that were cleared. The value is the number of
	// bytes left out.
	MetaCleared = "ponte.history.cleared"
	// MetaClearedText precedes the ids of calls whose results were cleared and are remembered: see
	// [Clear.Remember]. The values are the results.
	MetaClearedText = "ponte.history.cleared."
	// MetaRedacted marks a message in which something was replaced.
	MetaRedacted = "ponte.history.redacted"
	// MetaContext corrects, on a response, the input tokens that the provider reported: the value
	// is what the messages before it would cost as they are now. The response's usage stays as
	// reported.
	MetaContext = "ponte.history.context"
)

// marked returns a clone of a message with one more entry in its metadata.
func marked(m *model.Message, key, value string) *model.Message {
	c := m.Clone()
	if c.Metadata == nil {
		c.Metadata = make(map[string]string, 1)
	}
	c.Metadata[key] = value
	return c
}

// count reads a number from a message's metadata; 0 if there is none.
func count(m *model.Message, key string) int64 {
	value, ok := m.Metadata[key]
	if !ok {
		return 0 // without the error that ParseInt would allocate
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// broken returns the processor for an invalid configuration.
func broken[D any](format string, args ...any) Processor[D] {
	err := fmt.Errorf("history: "+format, args...)
	return func(context.Context, *toolset.RunContext[D], []*model.Message) ([]*model.Message, error) {
		return nil, err
	}
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	ws "github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// outputInterval is how often the output of a command on this machine is shown anew.
	outputInterval = 200 * time.Millisecond
	// outputShown is how much of its end is shown, in bytes.
	outputShown = 16 << 10
	// outputAtOnce is how much may be sent in any case while a command runs. Beyond that it is a third of the output: what is shown anew is
	// sent again, and the result has the output as a whole.
	outputAtOnce = 2 << 10
	// outputLeast is the shortest end of an output that is shown anew.
	outputLeast = 256
)

// localProcess is a command on this machine. The user sees its output while a tool call waits for it.
type localProcess struct{ ws.Process }

// Wait implements [ws.Process].
func (p *localProcess) Wait(ctx context.Context) (ws.Exit, error) {
	a := activityOf(ctx)
	if a == nil {
		return p.Process.Wait(ctx)
	}
	seen, sent := int64(0), int64(0)
	for {
		slice, cancel := context.WithTimeout(ctx, outputInterval)
		exit, err := p.Process.Wait(slice)
		over := slice.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !over {
			return exit, err
		}
		chunk, err := p.Output(ctx, -1, 1)
		room := min(outputAtOnce+chunk.End/3-sent, outputShown)
		if err != nil || chunk.End <= seen || room < min(outputLeast, chunk.End) {
			continue
		}
		if chunk, err = p.Output(ctx, -room, 0); err == nil {
			seen, sent = chunk.End, sent+int64(len(chunk.Data))
			a.showOutput(ctx, &chunk)
		}
	}
}

// endOfOutput returns the end of an output as text.
func endOfOutput(c *ws.Chunk) string {
	data := c.Data
	for i := 0; i < utf8.UTFMax && len(data) > 0 && !utf8.RuneStart(data[0]); i++ {
		data = data[1:]
	}
	text := strings.ToValidUTF8(string(data), "\ufffd")
	if c.From > 0 {
		text = fmt.Sprintf("[%d bytes before]\n%s", c.From, text)
	}
	return strings.TrimSuffix(text, "\n")
}

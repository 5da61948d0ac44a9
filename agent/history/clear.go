// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Clear configures [ClearResults]. Threshold is required.
type Clear struct {
	// Threshold is the size in tokens beyond which results are cleared, at least 1,000.
	Threshold int
	// KeepSteps is how many of the last responses keep the results of their calls; 0 is 5.
	KeepSteps int
	// MinBytes is the size in bytes from which on a result is cleared; 0 is 512, the minimum is
	// 128.
	MinBytes int
	// Keep are the names of tools whose results stay.
	Keep []string
	// Remember leaves the results in the metadata of their messages, which requests do not
	// contain. [Summarise] and [Compact] still show them to the model that writes the summary.
	// The history does not become smaller then, but for the agent's model.
	Remember bool
	// Estimate is as in [Budget].
	Estimate func(*model.Message) int
}

// Cleared is emitted as a custom event when results have been cleared.
type Cleared struct {
	// Results is how many were cleared, Bytes how much text they had.
	Results int
	Bytes   int64
	// Before and After are the sizes of the history in tokens.
	Before, After int64
}

const (
	defaultMinClear = 512
	minClear        = 128
)

// note takes the place of a result.
const note = "[This result (%d bytes) was removed to save space. Call %s again if you need it.]"

// ClearResults replaces the results of old tool calls by a short note, when the history has grown
// beyond a threshold. It is cheaper than a summary and loses less: the calls stay, and the model
// can make them again. The results of the last steps stay, and so do corrections, failures, and
// what a call that waits for an answer has.
//
// Results are cleared only if the history then has at most three quarters of the threshold,
// because it costs the prompt cache: the history can grow by a quarter before it is done again.
// Each time emits a [Cleared].
func ClearResults[D any](c Clear) Processor[D] {
	if c.KeepSteps == 0 {
		c.KeepSteps = defaultKeepSteps
	}
	if c.MinBytes == 0 {
		c.MinBytes = defaultMinClear
	}
	if c.Threshold < minThreshold || c.KeepSteps < 1 || c.MinBytes < minClear {
		return broken[D]("ClearResults: Threshold is %d, KeepSteps %d, MinBytes %d; must be at least %d, 1 and %d", c.Threshold, c.KeepSteps, c.MinBytes, minThreshold, minClear)
	}
	c.Keep = slices.Clone(c.Keep)
	gauge := newGauge(c.Estimate)
	return func(_ context.Context, run *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error) {
		before := gauge.tokens(messages)
		if before <= int64(c.Threshold) {
			return messages, nil
		}
		t := gauge.try(messages)
		version, done := c.cleared(messages)
		if done.Results == 0 {
			return messages, nil
		}
		done.Before, done.After = before, t.tokens(version)
		if done.After > int64(c.Threshold-c.Threshold/4) {
			return messages, nil
		}
		if run != nil {
			run.Emit(done)
		}
		return t.settle(version), nil
	}
}

// cleared returns the history without the results before the last steps.
func (c *Clear) cleared(messages []*model.Message) (version []*model.Message, done Cleared) {
	end, left := len(messages), c.KeepSteps
	for end > 0 && left > 0 {
		if end--; messages[end].HasToolCalls() {
			left--
		}
	}
	version = messages
	for i, m := range messages[:end] {
		short := c.clearedMessage(m, &done)
		if short == nil {
			continue
		}
		if &version[0] == &messages[0] {
			version = slices.Clone(messages)
		}
		version[i] = short
	}
	return version, done
}

// clearedMessage returns nil if there is nothing to clear.
func (c *Clear) clearedMessage(m *model.Message, done *Cleared) *model.Message {
	if m.Kind != model.KindRequest || m.Pending {
		return nil
	}
	var short *model.Message
	bytes := count(m, MetaCleared)
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != model.PartToolReturn || p.Outcome != model.OutcomeSuccess || len(p.Text) < c.MinBytes || slices.Contains(c.Keep, p.Tool) {
			continue
		}
		if begin, _, _ := strings.Cut(note, "%"); bytes > 0 && strings.HasPrefix(p.Text, begin) {
			continue // with a long name
		}
		if short == nil {
			short = marked(m, MetaCleared, "")
		}
		if c.Remember {
			short.Metadata[MetaClearedText+p.CallID] = p.Text
		}
		short.Parts[i].Text = fmt.Sprintf(note, len(p.Text), p.Tool)
		done.Results++
		done.Bytes += int64(len(p.Text))
		bytes += int64(len(p.Text))
	}
	if short == nil {
		return nil
	}
	short.Metadata[MetaCleared] = strconv.FormatInt(bytes, 10)
	return short
}

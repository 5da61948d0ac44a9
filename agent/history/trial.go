// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
)

// trial weighs other versions of a history before one of them is chosen. A version shares the
// responses of the history; its requests may be new. Each message is estimated once.
type trial struct {
	old   []*model.Message
	gauge *gauge
	sizes map[*model.Message]int64
	rate  rate
}

func (g *gauge) try(old []*model.Message) *trial {
	t := &trial{old: old, gauge: g, sizes: make(map[*model.Message]int64, len(old))}
	t.rate = t.measure()
	return t
}

func (t *trial) size(m *model.Message) int64 {
	n, ok := t.sizes[m]
	if !ok {
		n = t.gauge.size(m)
		t.sizes[m] = n
	}
	return n
}

func (t *trial) sizeOf(messages []*model.Message) int64 {
	var total int64
	for _, m := range messages {
		total += t.size(m)
	}
	return total
}

// rate converts estimated tokens into real ones. It is a ratio of integers, to be the same on
// every machine.
type rate struct{ tokens, estimated int64 }

func (r rate) of(estimated int64) int64 { return estimated * r.tokens / r.estimated }

// measure compares the estimates with reported usage. The difference between two responses is the
// cost of the messages between them, whatever instructions and tools cost. A processor that
// changes a history marks its last response, so what follows the last mark is as it was when
// usage was reported. Earlier figures are less sure: they count only if there is nothing better,
// and not for messages that have been cut.
func (t *trial) measure() rate {
	var sure, unsure rate
	var last, between int64
	whole := false // all that lies between is as it was
	for _, m := range t.old {
		if n, ok := intake(m); ok {
			if whole && n > last {
				sure.tokens += n - last
				sure.estimated += between
			}
			last, between, whole = n, 0, true
			if count(m, MetaContext) > 0 {
				unsure.tokens += sure.tokens
				unsure.estimated += sure.estimated
				sure, whole = rate{}, false
			}
		}
		if m.Metadata[MetaCleared] != "" || m.Metadata[MetaShortened] != "" {
			whole = false
		}
		between += t.size(m)
	}
	r := sure
	if r.estimated == 0 {
		r = unsure
	}
	if r.estimated == 0 {
		// One response alone does not tell messages from instructions; it only bounds what
		// messages cost.
		r = rate{1, 1}
		if i, n := anchor(t.old); i >= 0 {
			if before := t.sizeOf(t.old[:i]); before > n {
				r = rate{n, before}
			}
		}
	}
	r.tokens = min(max(r.tokens, (r.estimated+3)/4), 4*r.estimated)
	return r
}

// anchor returns the index of the last response with reported input tokens, or -1.
func anchor(messages []*model.Message) (index int, before int64) {
	for i := len(messages) - 1; i >= 0; i-- {
		if n, ok := intake(messages[i]); ok {
			return i, n
		}
	}
	return -1, 0
}

// tokens returns the input tokens of a request with a version. [gauge.tokens] returns the same once
// it is settled or, if no response is left that reports the cost of instructions and tools, less.
func (t *trial) tokens(version []*model.Message) int64 {
	i, total := t.corrected(version)
	if i < 0 {
		i, total = 0, t.overhead()
	}
	for _, m := range version[i:] {
		if n, ok := output(m); ok {
			total += n
		} else {
			total += t.size(m)
		}
	}
	return total
}

// overhead returns the tokens that requests cost in addition to the messages.
func (t *trial) overhead() int64 {
	i, before := anchor(t.old)
	if i < 0 {
		return 0
	}
	return max(0, before-t.rate.of(t.sizeOf(t.old[:i])))
}

// corrected returns the anchor of a version and what the messages before it cost there.
func (t *trial) corrected(version []*model.Message) (int, int64) {
	i, before := anchor(version)
	if i < 0 {
		return i, 0
	}
	was := slices.Index(t.old, version[i])
	saved := t.rate.of(t.sizeOf(t.old[:was]) - t.sizeOf(version[:i]))
	return i, max(1, before-saved)
}

// settle makes a version the history: it corrects the anchor's figure and adds what tools keep.
func (t *trial) settle(version []*model.Message) []*model.Message {
	if i, before := t.corrected(version); i >= 0 {
		if _, was := anchor(version); was != before { // so the version has a slice of its own
			version[i] = marked(version[i], MetaContext, strconv.FormatInt(before, 10))
		}
	}
	return model.Carry(t.old, version)
}

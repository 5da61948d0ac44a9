// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
)

// maxCount bounds a count, which keeps sums of counts from overflowing.
const maxCount = 1 << 53

// Tokens is a number of tokens as some proxies write it: with a fraction, or as a string. Anything
// else is 0.
type Tokens int64

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *Tokens) UnmarshalJSON(data []byte) error {
	n, _ := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	if *t = 0; n > 0 { // NaN is not
		*t = Tokens(min(n, maxCount))
	}
	return nil
}

// Count corrects a provider's counts to what [model.Usage] promises. OpenAI's protocols count
// reasoning as part of the output, and cached tokens as part of the input, but some providers count
// them separately, as xAI counts reasoning. The total tells: a count is separate if the total
// includes it in addition, or if it is greater than the whole. Tokens of the total beyond all
// counts are unreported reasoning, as at Google's compatible endpoint. Tokens that are counted both
// as read from the cache and as written to it, as OpenRouter does, are counted as read. Without a
// total, or with one that is too small, only impossible counts are corrected.
func Count(total int64, u model.Usage) model.Usage {
	for _, n := range []*int64{&total, &u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), maxCount)
	}
	read, written, reasoning := u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens
	missing := total - u.InputTokens - u.OutputTokens
	rest := missing - reasoning
	if reasoning > u.OutputTokens || reasoning > 0 && (rest == 0 || rest == read || rest == written || rest == read+written) {
		u.OutputTokens += reasoning
		missing = rest
	}
	beside := int64(0)
	switch {
	case read > u.InputTokens, written > u.InputTokens, missing == read+written:
		beside = read + written
	case missing == read, missing == written:
		beside = missing
	}
	u.InputTokens += beside
	missing -= beside
	u.CacheWriteTokens = min(written, u.InputTokens-read)
	if missing > 0 && reasoning == 0 {
		u.OutputTokens += missing
		u.ReasoningTokens = missing
	}
	return u
}

// SPDX-License-Identifier: Apache-2.0

package adapter

import "github.com/ponte-go/ponte/agent/model"

// maxCount bounds a count, so that sums of counts fit.
const maxCount = 1 << 53

// Count corrects a provider's counts to what [model.Usage] promises. OpenAI's protocols count reasoning as part of the output,
// and cached tokens as part of the input, but providers differ: xAI counts reasoning beside the output. The total tells. A
// count stands beside the whole if the total has it in addition, or if it is greater than the whole. What the total has
// beyond all counts is reasoning that is not mentioned elsewhere, as at Google's compatible endpoint. Without a total, or
// with one that is too small, only impossible counts are corrected.
func Count(total int64, u model.Usage) model.Usage {
	for _, n := range []*int64{&total, &u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), maxCount)
	}
	cached, reasoning := u.CacheReadTokens+u.CacheWriteTokens, u.ReasoningTokens
	missing := total - u.InputTokens - u.OutputTokens
	if reasoning > u.OutputTokens || reasoning > 0 && (missing == reasoning || missing == reasoning+cached) {
		u.OutputTokens += reasoning
		missing -= reasoning
	}
	if cached > u.InputTokens || cached > 0 && missing == cached {
		u.InputTokens += cached
		missing -= cached
	}
	if missing > 0 && reasoning == 0 {
		u.OutputTokens += missing
		u.ReasoningTokens = missing
	}
	return u
}

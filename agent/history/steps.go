// SPDX-License-Identifier: Apache-2.0

package history

import "github.com/ponte-go/ponte/agent/model"

// steps returns the indexes at which the steps of the turn that begins at start begin: a step is a
// run of responses and the requests that follow it.
func steps(messages []*model.Message, start int) []int {
	var begins []int
	for i := start; i < len(messages); i++ {
		if messages[i].Kind == model.KindResponse && (i == start || messages[i-1].Kind == model.KindRequest) {
			begins = append(begins, i)
		}
	}
	return begins
}

// withoutSteps splits off the steps that a turn took before index keep: it returns what the user
// said in the turn that begins at start followed by everything from keep on, and what that leaves
// out.
func withoutSteps(messages []*model.Message, start, keep int) (kept, left []*model.Message) {
	kept = make([]*model.Message, 0, len(messages)-start)
	prompt := true
	for _, m := range messages[start:keep] {
		prompt = prompt && m.Kind == model.KindRequest
		if prompt || says(m) {
			kept = append(kept, m)
		} else {
			left = append(left, m)
		}
	}
	return append(kept, messages[keep:]...), left
}

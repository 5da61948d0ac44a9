// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"strings"
)

// common are bytes by how often they occur in source code and prose, the most frequent first. All
// others are rarer.
const common = " etaionsrlcdpumfg\n\th.b_(),;=\"w:v0y/1xk'2-SETACIRNODPLMFBUxjGVqzHK3{}[]<>*4586W7J9#&!|"

// rarest returns the position of the byte of a text that is likely to occur least.
func rarest(text []byte) int {
	best, rank := 0, -1
	for i, c := range text {
		r := strings.IndexByte(common, c)
		if r < 0 {
			r = len(common)
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

// rarestIn returns the position of the byte of a text that occurs least in a sample.
func rarestIn(sample, text []byte) int {
	var count [256]int
	for _, c := range sample {
		count[c]++
	}
	best := 0
	for i, c := range text {
		if count[c] < count[text[best]] {
			best = i
		}
	}
	return best
}

// indexRare is bytes.Index for a text whose byte at the position rare is likely to occur least.
// It looks for that byte, and so passes over most of a block at the speed of memory.
func indexRare(block, text []byte, rare int) int {
	fails := 0
	for at := rare; at < len(block); {
		i := bytes.IndexByte(block[at:], text[rare])
		if i < 0 {
			return -1
		}
		from := at + i - rare
		if from+len(text) > len(block) {
			return -1
		}
		if bytes.Equal(block[from:from+len(text)], text) {
			return from
		}
		at += i + 1
		if fails++; fails > 64+(at-rare)/64 { // not rare here
			rest := at - rare
			if i := bytes.Index(block[rest:], text); i >= 0 {
				return rest + i
			}
			return -1
		}
	}
	return -1
}

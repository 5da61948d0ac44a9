// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	_ "embed"
	"strconv"
	"strings"
)

// ErrorAnswer is an answer with which a provider reports an error.
type ErrorAnswer struct {
	// Provider sends the answer. Source is where its wording was found.
	Provider, Source string
	Status           int
	Body             string
}

// contextLength has two lists, which a line begins. Each answer is a line with its status, provider
// and source, and a line with its body.
//
//go:embed contextlength.txt
var contextLength string

// TooLong are error responses for a conversation that is longer than the model accepts. NotTooLong
// mention tokens, lengths or prompts, but have another cause.
var TooLong, NotTooLong = answers(contextLength)

func answers(text string) (tooLong, not []ErrorAnswer) {
	list := &tooLong
	for block := range strings.SplitSeq(text, "\n\n") {
		block = strings.TrimSpace(block)
		head, body, _ := strings.Cut(block, "\n")
		status, rest, found := strings.Cut(head, "\t")
		if !found {
			if head == "not too long" {
				list = &not
			}
			continue
		}
		n, err := strconv.Atoi(status)
		if err != nil {
			panic(err)
		}
		provider, source, _ := strings.Cut(rest, "\t")
		*list = append(*list, ErrorAnswer{provider, source, n, body})
	}
	return tooLong, not
}

// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// requestEncoder writes the contents of requests in one of the protocols.
type requestEncoder interface {
	// answer writes the result of a call.
	answer(p *model.Part)
	system(text string)
	// user writes user content as one message. hasMedia reports whether there are parts other than text.
	user(parts []model.Part, hasMedia bool) error
}

// eachOfRequests writes adjacent requests: first the results of calls, then system prompts and runs of user content, in
// order.
func eachOfRequests(messages []*model.Message, e requestEncoder) error {
	for _, msg := range messages {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; adapter.AnswersCall(p) {
				e.answer(p)
			}
		}
	}
	for _, msg := range messages {
		for i := 0; i < len(msg.Parts); {
			p := &msg.Parts[i]
			switch {
			case adapter.AnswersCall(p):
				i++
			case p.Kind == model.PartSystem:
				e.system(p.Text)
				i++
			case adapter.IsUserContent(p):
				n, hasMedia := i, false
				for ; n < len(msg.Parts) && (adapter.IsUserContent(&msg.Parts[n]) || adapter.AnswersCall(&msg.Parts[n])); n++ {
					hasMedia = hasMedia || msg.Parts[n].Kind == model.PartMedia
				}
				if err := e.user(msg.Parts[i:n], hasMedia); err != nil {
					return err
				}
				i = n
			default:
				return fmt.Errorf("openaimodel: a request cannot hold a part of kind %q", p.Kind)
			}
		}
	}
	return nil
}

// appendText appends the text of a part inside a JSON string.
func appendText(dst []byte, p *model.Part) []byte {
	dst = adapter.AppendJSONChars(dst, p.Text)
	if p.Kind == model.PartRetry {
		dst = adapter.AppendJSONChars(dst, adapter.TryAgain)
	}
	return dst
}

// mediaEncoder writes media in one of the protocols.
type mediaEncoder interface {
	// appendMedia appends a media part as an element of a user message's content, or returns an error if it cannot be
	// sent.
	appendMedia(dst []byte, p *model.Part) ([]byte, error)
}

// appendContent appends user content. Text alone is one string, which every server accepts. With media it is a list, in
// which texts have type textType.
func appendContent(dst []byte, parts []model.Part, hasMedia bool, textType string, m mediaEncoder) ([]byte, error) {
	if !hasMedia {
		return appendTexts(dst, parts), nil
	}
	sep := byte('[')
	for i := range parts {
		p := &parts[i]
		if !adapter.IsUserContent(p) {
			continue
		}
		dst = append(dst, sep)
		sep = ','
		if p.Kind == model.PartMedia {
			var err error
			if dst, err = m.appendMedia(dst, p); err != nil {
				return nil, err
			}
			continue
		}
		dst = append(dst, `{"type":"`...)
		dst = append(dst, textType...)
		dst = append(dst, `","text":"`...)
		dst = appendText(dst, p)
		dst = append(dst, `"}`...)
	}
	return append(dst, ']'), nil
}

// appendTexts appends user content as one JSON string.
func appendTexts(dst []byte, parts []model.Part) []byte {
	dst = append(dst, '"')
	sep := ""
	for i := range parts {
		if adapter.IsUserContent(&parts[i]) {
			dst = append(dst, sep...)
			dst = appendText(dst, &parts[i])
			sep = `\n\n`
		}
	}
	return append(dst, '"')
}

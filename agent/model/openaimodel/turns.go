// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// requestEncoder writes the contents of requests in one of the protocols.
type requestEncoder interface {
	// answer writes the result of a call.
	answer(p *model.Part)
	system(text string)
	// user writes user content as one message. hasMedia reports whether there are parts other than
	// text.
	user(parts []*model.Part, hasMedia bool) error
}

// eachOfRequests writes adjacent requests: first the results of calls, then system prompts and runs
// of user content, in order. run is reused memory.
func eachOfRequests(messages []*model.Message, run *[]*model.Part, e requestEncoder) error {
	for _, msg := range messages {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; adapter.AnswersCall(p) {
				e.answer(p)
			}
		}
	}
	said, hasMedia := (*run)[:0], false
	for _, msg := range messages {
		for i := range msg.Parts {
			switch p := &msg.Parts[i]; {
			case adapter.AnswersCall(p):
			case adapter.IsUserContent(p):
				said, hasMedia = append(said, p), hasMedia || p.Kind == model.PartMedia
			case p.Kind == model.PartSystem:
				if err := userSaid(said, hasMedia, e); err != nil {
					return err
				}
				said, hasMedia = said[:0], false
				e.system(p.Text)
			default:
				return errs.Errorf("openaimodel: a request cannot hold a part of kind %q", p.Kind)
			}
		}
	}
	*run = said
	return userSaid(said, hasMedia, e)
}

func userSaid(parts []*model.Part, hasMedia bool, e requestEncoder) error {
	if len(parts) == 0 {
		return nil
	}
	return e.user(parts, hasMedia)
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
	// appendMedia appends a media part as an element of a user message's content, or returns an
	// error if it cannot be sent.
	appendMedia(dst []byte, p *model.Part) ([]byte, error)
}

// appendContent appends user content. Text alone is one string, which every server accepts. With
// media it is a list, in which texts have type textType.
func appendContent(dst []byte, parts []*model.Part, hasMedia bool, textType string, m mediaEncoder) ([]byte, error) {
	if !hasMedia {
		return appendTexts(dst, parts), nil
	}
	sep := byte('[')
	for _, p := range parts {
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
func appendTexts(dst []byte, parts []*model.Part) []byte {
	dst = append(dst, '"')
	sep := ""
	for _, p := range parts {
		dst = append(dst, sep...)
		dst = appendText(dst, p)
		sep = `\n\n`
	}
	return append(dst, '"')
}

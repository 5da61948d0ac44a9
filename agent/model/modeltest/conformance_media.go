// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Samples of media. Their lengths are multiples of three, so base64 needs no padding, and their
// base64 contains no characters in which alphabets differ.
const (
	pngData = "\x89PNG\r\n\x1a\n drawing of rain"
	wavData = "RIFF-of-a-length-WAVEfmt rains"
	pdfData = "%PDF-1.7 rain in Bergen, page 10 "
	mp4Data = "\x00\x00\x00\x18ftypmp42-a-film-of-rain"
	txtData = "Bergen: rain, as always."
)

// medium is a kind of media with a sample.
type medium struct{ mediaType, data, url string }

var media = []named[medium]{
	{"image", medium{"image/png", pngData, "https://media.example/rain.png"}},
	{"audio", medium{"audio/wav", wavData, "https://media.example/rain.wav"}},
	{"PDF", medium{"application/pdf", pdfData, "https://media.example/rain.pdf"}},
	{"video", medium{"video/mp4", mp4Data, "https://media.example/rain.mp4"}},
	{"text file", medium{"text/plain", txtData, "https://media.example/rain.txt"}},
}

var mediaKinds = casesOf(media)

// in reports whether kinds, in the form of [model.Info], include the medium.
func (m medium) in(kinds []string) bool {
	kind, _, _ := strings.Cut(m.mediaType, "/")
	return slices.Contains(kinds, kind) || slices.Contains(kinds, m.mediaType)
}

// withMedia returns a request with a part between two texts.
func withMedia(p model.Part) *model.Request {
	req := question("")
	req.Messages = []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{
		model.User("words in front of it"), p, model.User("words behind it"),
	}}}
	return req
}

func testMedia(s *subject) {
	m := find(s, media)
	s.media(m.in(s.model().Info().Media), model.Media(m.mediaType, []byte(m.data)), []byte(m.data))
}

func testMediaURL(s *subject) {
	m := find(s, media)
	p := model.Part{Kind: model.PartMedia, MediaType: m.mediaType, URL: m.url}
	info := s.model().Info()
	s.media(m.in(info.Media) && m.in(info.MediaURLs), p, []byte(m.url))
}

// media tests a part that must be sent or be an error. Sign is what identifies it on the wire.
func (s *subject) media(taken bool, p model.Part, sign []byte) {
	s.t.Helper()
	if !taken {
		s.refuse("media that Info does not list", withMedia(p))
		return
	}
	sent := s.mustSend(withMedia(p))
	front, at, behind := strings.Index(sent, "words in front of it"), position(sent, sign), strings.Index(sent, "words behind it")
	if front < 0 || at < front || behind < at {
		s.t.Errorf("text, media and text are at %d, %d and %d of the request: %.2000s", front, at, behind, sent)
	}
}

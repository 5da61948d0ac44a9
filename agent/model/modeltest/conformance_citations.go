// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
)

// citedText has characters of one to four bytes before the passages, because providers count
// differently.
const (
	citedText = "Größe 🌧: tea is green.\nIt grows in Assam, too."
	firstCite = "tea is green."
	lastCite  = "It grows in Assam, too."
)

var cited = []Scenario{
	{Case: "one passage", Answer: saying(model.FinishStop, model.Text(citedText),
		source("https://tea.test/?a=1&b=2", "On <tea>", firstCite))},
	{Case: "several passages and sources", Answer: saying(model.FinishStop, model.Text(citedText),
		source("https://tea.test/", "On tea", firstCite), source("https://leaf.test/", "", firstCite), source("https://tea.test/", "On tea", lastCite))},
	{Case: "the whole text", Answer: saying(model.FinishStop, model.Text(citedText),
		source("https://tea.test/", "On tea", citedText))},
}

// source returns a citation of a passage of citedText.
func source(url, title, passage string) model.Part {
	before, _, ok := strings.Cut(citedText, passage)
	if !ok {
		panic("modeltest: no such passage: " + passage)
	}
	start := utf8.RuneCountInString(before)
	return model.Part{Kind: model.PartCitation, URL: url, Name: title, Data: fmt.Appendf(nil, `{"type":"url_citation","start_index":%d,"end_index":%d,"url":%s,"title":%s}`,
		start, start+utf8.RuneCountInString(passage), asJSON(url), asJSON(title))}
}

// testCitations checks that a response keeps its sources and the passages that each is for,
// complete and streamed, that a stored history keeps them, and that the conversation goes on.
func testCitations(s *subject) {
	if !s.h.Citations {
		s.t.Skip("the model does not name sources")
	}
	req := question("What is tea?")
	j := s.joined()
	whole, streamed := s.answer(req, nil), s.answer(req, j.sink)
	s.sameContent("streamed response differs from the unstreamed one", whole, streamed)
	j.agree(streamed)
	for what, msg := range map[string]*model.Message{"a response": whole, "a streamed response": streamed} {
		s.saidWhatTheProviderDid(msg)
		s.sameSources(what, msg)
		text, err := json.Marshal(msg)
		if err != nil {
			s.t.Fatalf("message cannot be encoded as JSON: %v", err)
		}
		stored := &model.Message{}
		if err := json.Unmarshal(text, stored); err != nil || !reflect.DeepEqual(stored.Parts, msg.Parts) {
			s.t.Errorf("message does not survive JSON (%v)\n got %+v\nwant %+v", err, stored.Parts, msg.Parts)
		}
		s.sameSources(what+" that was stored", stored)
		s.goesOn(req, stored)
	}
}

// sameSources fails the test unless a message has the sources that the provider sent.
func (s *subject) sameSources(what string, msg *model.Message) {
	s.t.Helper()
	for i, p := range msg.Parts {
		if p.Kind == model.PartCitation && p.Provider != s.m.Info().Provider {
			s.t.Errorf("%s: part %d has provider %q, the model's is %q", what, i, p.Provider, s.m.Info().Provider)
		}
	}
	if got, want := sourcesOf(msg), sourcesOf(s.scenario.Answer); !reflect.DeepEqual(got, want) {
		s.t.Errorf("%s has the sources\n%s\nprovider sent\n%s", what, asJSON(got), asJSON(want))
	}
}

// sourcesOf returns the sources of a message with what the suite compares. Not every provider
// quotes its sources.
func sourcesOf(msg *model.Message) []model.NativeSource {
	sources := model.NativeSources(msg)
	for i := range sources {
		sources[i].Quote = ""
	}
	return sources
}

// goesOn continues a conversation after a response with sources: with its own provider, which may
// want its citations back, and with every part attributed to another provider, whose citations are
// not sent.
func (s *subject) goesOn(req *model.Request, msg *model.Message) {
	s.t.Helper()
	next := *req
	next.Messages = []*model.Message{req.Messages[0], msg, model.UserText("Thank you.")}
	sent := func() string {
		s.t.Helper()
		if s.h.Sent == nil {
			s.answer(&next, nil)
			return firstCite + lastCite
		}
		return s.mustSend(&next)
	}
	said := func(sent string) {
		s.t.Helper()
		for _, passage := range []string{firstCite, lastCite} {
			if !strings.Contains(sent, passage) {
				s.t.Errorf("%q, which has sources, was not sent: %.2000s", passage, sent)
			}
		}
	}
	said(sent())
	foreign := msg.Clone()
	foreign.Provider = "elsewhere"
	for i := range foreign.Parts {
		if foreign.Parts[i].Provider != "" {
			foreign.Parts[i].Provider = "elsewhere"
		}
	}
	next.Messages = slices.Clone(next.Messages)
	next.Messages[1] = foreign
	other := sent()
	said(other)
	if strings.Contains(other, "tea.test") {
		s.t.Errorf("a source of another provider was sent: %.2000s", other)
	}
}

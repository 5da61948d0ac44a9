// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/hide"
)

// Source describes the test that [Recording.WriteTest] writes. Each field has a default.
type Source struct {
	// Package is the name of the test's package; "main_test" by default.
	Package string
	// Name is the name of the test function. By default it is made of the session's title.
	Name string
	// File is the recording, relative to the test's directory; by default, a name made of the title
	// in testdata.
	File string
	// Setup is an expression for the function that returns the agent: see package replaytest. It
	// is "setup" by default, which has to be written once for each package.
	Setup string
}

// withDefaults fills in and checks the fields.
func (s Source) withDefaults(r *Recording) (Source, error) {
	words := wordsOf(r.Title)
	if len(words) == 0 {
		words = wordsOf("session " + r.Session)
	}
	if s.Package == "" {
		s.Package = "main_test"
	}
	if s.Name == "" {
		s.Name = "Test"
		for _, w := range words {
			s.Name += string(unicode.ToUpper(rune(w[0]))) + w[1:]
		}
	}
	if s.File == "" {
		s.File = "testdata/" + strings.Join(words, "-") + ".json"
	}
	if s.Setup == "" {
		s.Setup = "setup"
	}
	if !token.IsIdentifier(s.Package) || !token.IsIdentifier(s.Name) ||
		!strings.HasPrefix(s.Name, "Test") {
		return s, fmt.Errorf("replay: package %q and test %q must be identifiers, "+
			"and the test must begin with Test", s.Package, s.Name)
	}
	return s, nil
}

// wordsOf returns the first words of a title, in lower case, of letters and digits of ASCII.
func wordsOf(title string) []string {
	const most = 6
	title = marks.ReplaceAllString(title, "")
	words := strings.FieldsFunc(strings.ToLower(title), func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	return words[:min(len(words), most)]
}

// WriteTest writes a Go test that plays the recording, which must be saved as Source.File. Its
// comment describes the recording and the session.
func (r *Recording) WriteTest(w io.Writer, s Source) error {
	s, err := s.withDefaults(r)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n\"testing\"\n\n", s.Package)
	fmt.Fprintf(&b, "%q\n%q\n)\n\n", "github.com/ponte-go/ponte/agent/session/replay",
		"github.com/ponte-go/ponte/agent/session/replay/replaytest")
	fmt.Fprintf(&b, "// %s plays the session %q.\n//\n", s.Name, r.Session)
	for _, note := range r.Notes {
		comment(&b, note)
	}
	for i := range r.Turns {
		b.WriteString("//\n")
		comment(&b, fmt.Sprintf("Turn %d: %s", i+1, r.told(&r.Turns[i])))
	}
	fmt.Fprintf(&b, "func %s(t *testing.T) {\n", s.Name)
	fmt.Fprintf(&b, "replaytest.Test(t, %q, %s, replay.PlayOptions{})\n}\n", s.File, s.Setup)
	source, err := format.Source(b.Bytes())
	if err != nil {
		return errors.Join(fmt.Errorf("replay: Setup %q is not an expression", s.Setup), err)
	}
	_, err = w.Write(source)
	return err
}

// told describes the events of a turn.
func (r *Recording) told(t *Turn) string {
	all := []string{}
	for i := range t.Prompt {
		if text := t.Prompt[i].Text; text != "" {
			all = append(all, quoted(text))
		}
	}
	if len(t.Prompt) == 0 {
		all = append(all, "answers to pending calls")
	}
	for _, m := range r.messages(t.Messages) {
		if m.Kind != model.KindResponse {
			continue
		}
		for i := range m.Parts {
			switch part := &m.Parts[i]; part.Kind {
			case model.PartToolCall:
				all = append(all, "call "+part.Tool+" "+quoted(string(part.Args)))
			case model.PartText:
				all = append(all, quoted(part.Text))
			}
		}
	}
	return strings.Join(append(all, t.Reason+"."), "; ")
}

func quoted(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return `"` + text + `"`
}

// comment writes a text as a comment with lines of at most 100 columns, where that is possible.
func comment(b *bytes.Buffer, text string) {
	const most = 96
	n := 0
	for _, word := range strings.Fields(hide.Controls(text)) {
		length := len([]rune(word)) + 1
		switch {
		case n == 0:
			b.WriteString("//")
		case n+length > most:
			b.WriteString("\n//")
			n = 0
		}
		b.WriteString(" " + word)
		n += length
	}
	b.WriteByte('\n')
}

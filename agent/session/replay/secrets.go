// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/secretscan"
)

// marks are the texts that replace something else in a recording.
var marks = regexp.MustCompile(`‹(?:any|secret (\d+): [a-z0-9-]+)›`)

func secretMark(n int, kind string) string { return fmt.Sprintf("‹secret %d: %s›", n, kind) }

// leastKnown is how long a known secret is at least. Shorter ones are in many words.
const leastKnown = 6

// Clean replaces secrets in all texts of the recording by marks such as "‹secret 1: password›",
// which match any text when it is played. It finds them by the rules of gitleaks and by some for
// passwords, and takes known ones besides, of at least 6 bytes. A secret that is found anywhere is
// replaced in all texts, also where JSON escapes it. [Make] calls Clean. Call it again for what
// [Fill] has added.
func (r *Recording) Clean(known ...string) error {
	c := cleaner{kinds: map[string]string{}}
	var sought [][]string
	for _, secret := range known {
		if len(secret) >= leastKnown {
			sought = append(sought, formsOf(secret))
		}
	}
	look := &walker{document: c.scanDocument, text: func(text string) string {
		for _, forms := range sought {
			for _, form := range forms {
				if strings.Contains(text, form) {
					c.find(forms[0], "known")
				}
			}
		}
		return c.scan(text)
	}}
	look.recording(r)
	if look.err != nil {
		return look.err
	}
	last := 0
	marked := &walker{text: func(text string) string {
		for _, m := range marks.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			last = max(last, n)
		}
		return text
	}}
	marked.recording(r)
	if len(c.found) == 0 {
		return nil
	}
	replaced := c.replacer(last)
	change := &walker{text: replaced.Replace}
	change.recording(r)
	if note := c.note(); !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
	return change.err
}

func (m *maker) clean(known []string) error {
	before := len(m.Notes)
	err := m.Clean(known...)
	m.notes = append(m.notes, m.Notes[before:]...)
	m.Notes = m.Notes[:before]
	return err
}

// cleaner collects secrets.
type cleaner struct {
	found []string
	kinds map[string]string
}

func (c *cleaner) find(secret, kind string) {
	if c.kinds[secret] != "" {
		return
	}
	c.kinds[secret], c.found = kind, append(c.found, secret)
	if !strings.Contains(secret, "\n") {
		return
	}
	for line := range strings.Lines(secret) { // of a key, which may stand elsewhere in pieces
		line = strings.TrimSpace(line)
		if len(line) >= leastLine && !strings.Contains(line, "-----") {
			c.find(line, kind)
		}
	}
}

// leastLine is how long a line of a key is at least that is a secret itself.
const leastLine = 20

func (c *cleaner) scan(text string) string {
	for _, f := range secretscan.Scan(marks.ReplaceAllString(text, "")) {
		c.find(f.Secret, f.Rule)
	}
	return text
}

// scanDocument looks at JSON with the names of members, which tell what a value means.
func (c *cleaner) scanDocument(data []byte) {
	c.scan(string(data))
	var v any
	if json.Unmarshal(data, &v) == nil {
		c.scanMembers(v)
	}
}

// passwords are names of members that have one.
var passwords = regexp.MustCompile(`(?i)(passw(or)?d|passphrase|pwd)$`)

func (c *cleaner) scanMembers(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			c.scanMembers(item)
		}
	case map[string]any:
		for name, value := range v {
			if text, ok := value.(string); ok {
				c.scan(name + ": " + strconv.Quote(text))
				if passwords.MatchString(name) && len(text) >= leastKnown {
					c.find(text, "password") // with its blanks and quotes
				}
			}
			c.scanMembers(value)
		}
	}
}

// formsOf returns a secret as texts have it: as it is, in JSON, and in JSON that is a string of
// JSON. Encoders differ in whether they escape what HTML reads.
func formsOf(secret string) []string {
	forms := []string{secret}
	for range 2 {
		for _, text := range forms {
			html, _ := json.Marshal(text)
			for _, quoted := range []string{quotedJSON(text), string(html)} {
				if form := quoted[1 : len(quoted)-1]; !slices.Contains(forms, form) {
					forms = append(forms, form)
				}
			}
		}
	}
	return forms
}

// replacer replaces each secret by its mark, the longest form first where one is in another.
func (c *cleaner) replacer(last int) *strings.Replacer {
	slices.SortStableFunc(c.found, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs [][]string // forms and marks
	for i, secret := range c.found {
		for _, form := range formsOf(secret) {
			pairs = append(pairs, []string{form, secretMark(last+i+1, c.kinds[secret])})
		}
	}
	slices.SortStableFunc(pairs, func(a, b []string) int { return len(b[0]) - len(a[0]) })
	return strings.NewReplacer(slices.Concat(pairs...)...)
}

// note lists the kinds of secrets that were replaced.
func (c *cleaner) note() string {
	counts := map[string]int{}
	for _, kind := range c.kinds {
		counts[kind]++
	}
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s: %d", kind, counts[kind]))
	}
	return fmt.Sprintf("Left out: what looks like secrets (%s). Marks stand in their place, and "+
		"match any text.", strings.Join(all, ", "))
}

// walker visits all texts that users, models and tools have written. What only programs read, such
// as kinds and ids, stays.
type walker struct {
	text     func(string) string
	document func([]byte) // sees JSON before its strings are visited; may be nil
	err      error
}

func (w *walker) string(s *string) {
	if *s != "" {
		*s = w.text(*s)
	}
}

// json visits the strings of a document. Other data is a text.
func (w *walker) json(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	if !json.Valid(data) {
		return []byte(w.text(string(data)))
	}
	if w.document != nil {
		w.document(data)
	}
	e := session.Entry{Data: bytes.Clone(data)}
	if err := session.Strings(w.text)(context.Background(), &e); err != nil && w.err == nil {
		w.err = err
	}
	return e.Data
}

// bytes visits data if it is text.
func (w *walker) bytes(data []byte) []byte {
	if len(data) == 0 || !utf8.Valid(data) {
		return data
	}
	return w.json(data)
}

func (w *walker) recording(r *Recording) {
	w.string(&r.Title)
	for _, m := range r.Messages {
		w.message(m)
	}
	for i := range r.Files {
		f := &r.Files[i]
		w.string(&f.Text)
		f.Data = w.bytes(f.Data)
	}
	for i := range r.Frames {
		f := &r.Frames[i]
		w.string(&f.Instructions)
		for j := range f.Tools {
			w.string(&f.Tools[j].Description)
			f.Tools[j].Schema = w.json(f.Tools[j].Schema)
		}
		if f.Output != nil {
			w.string(&f.Output.Description)
			f.Output.Schema = w.json(f.Output.Schema)
		}
		f.Settings = w.json(f.Settings)
	}
	for i := range r.Turns {
		w.turn(&r.Turns[i])
	}
}

func (w *walker) turn(t *Turn) {
	w.parts(t.Prompt)
	for i := range t.Summaries {
		w.string(&t.Summaries[i])
	}
	for i := range t.Decisions {
		w.decision(&t.Decisions[i].Decision)
	}
	for key, d := range t.Answers.Decisions {
		w.decision(&d)
		t.Answers.Decisions[key] = d
	}
	for key, res := range t.Answers.Results {
		w.string(&res.Text)
		w.parts(res.Content)
		res.Meta = w.json(res.Meta)
		t.Answers.Results[key] = res
	}
	if c := t.Checked; c != nil {
		c.Output = w.json(c.Output)
		w.string(&c.End)
	}
}

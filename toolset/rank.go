// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Parameters of the ranking function, BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009), with
// the customary k1 and b. A word in a tool's name counts as much as nameWeight words in its description.
const (
	rankK1     = 1.2
	rankB      = 0.75
	nameWeight = 3
	// partWeight is the weight of a partial match, where one word is a prefix of the other. The shorter one must have at
	// least partLength letters.
	partWeight = 0.4
	partLength = 4
	// maxTerms limits the number of distinct words of a query that are used.
	maxTerms = 64
)

// rankByWords selects the tools whose names and descriptions share words with the query, best first.
func rankByWords[D any](_ context.Context, query string, tools []*Tool[D]) ([]*Tool[D], error) {
	terms := distinct(words(query), maxTerms)
	docs := make([]document, len(tools))
	length := 0.0
	for i, t := range tools {
		docs[i] = newDocument(t.Def.Name, t.Def.Description, terms)
		length += docs[i].length
	}
	scores := score(docs, terms, length/float64(len(docs)))
	order := make([]int, 0, len(tools))
	for i, s := range scores {
		if s > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	ranked := make([]*Tool[D], len(order))
	for i, at := range order {
		ranked[i] = tools[at]
	}
	return ranked, nil
}

// document holds what the ranking needs to know of a tool: how often each term of the query occurs in it, and its length.
type document struct {
	frequency []float64
	length    float64
}

func newDocument(name, description string, terms []string) document {
	d := document{frequency: make([]float64, len(terms))}
	add := func(text string, weight float64) {
		for _, w := range words(text) {
			d.length += weight
			for i, term := range terms {
				d.frequency[i] += weight * likeness(w, term)
			}
		}
	}
	add(name, nameWeight)
	add(description, 1)
	return d
}

// likeness is 1 for equal words, 0 for different words, and in between if one word is a prefix of the other.
func likeness(a, b string) float64 {
	switch {
	case a == b:
		return 1
	case min(len(a), len(b)) >= partLength && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)):
		return partWeight
	}
	return 0
}

func score(docs []document, terms []string, average float64) []float64 {
	scores := make([]float64, len(docs))
	for term := range terms {
		having := 0.0
		for i := range docs {
			if docs[i].frequency[term] > 0 {
				having++
			}
		}
		rarity := math.Log(1 + (float64(len(docs))-having+0.5)/(having+0.5))
		for i := range docs {
			if f := docs[i].frequency[term]; f > 0 {
				scores[i] += rarity * f * (rankK1 + 1) / (f + rankK1*(1-rankB+rankB*docs[i].length/average))
			}
		}
	}
	return scores
}

func distinct(words []string, most int) []string {
	var d []string
	for _, w := range words {
		if len(d) < most && !slices.Contains(d, w) {
			d = append(d, w)
		}
	}
	return d
}

// words splits a text into lower-case stems. It splits at everything that is not a letter or digit, and within camelCase
// and HTTPServer. Scripts without spaces between words are split into characters. Stop words are left out.
func words(text string) []string {
	var all []string
	var word []rune
	flush := func() {
		if w := string(word); w != "" && !stopWords[w] {
			all = append(all, stem(w))
		}
		word = word[:0]
	}
	var before rune
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			flush()
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			flush()
			word = append(word, r)
			flush()
		default:
			nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsUpper(before) && nextLower) {
				flush()
			}
			word = append(word, unicode.ToLower(r))
		}
		before = r
	}
	flush()
	return all
}

var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a an and are as at be by can do for from how i in is it me my of on or that the this to tool tools what which with you your") {
		m[w] = true
	}
	return m
}()

// stem removes the common endings of English verbs and plurals: "deleted files" finds
// "delete_file". The stem need not be a word, only the same for related words.
func stem(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		w = w[:len(w)-3] + "y"
	case len(w) > 5 && strings.HasSuffix(w, "ing"):
		w = w[:len(w)-3]
	case len(w) > 4 && (strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "es")):
		w = w[:len(w)-2]
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		w = w[:len(w)-1]
	case len(w) > 3 && strings.HasSuffix(w, "e"):
		w = w[:len(w)-1]
	}
	if n := len(w); n > 2 && w[n-1] == w[n-2] && strings.IndexByte("bdgmnprt", w[n-1]) >= 0 {
		w = w[:n-1] // as in "running"
	}
	return w
}

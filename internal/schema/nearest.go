package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// unknownField says that n has no field of that name, and which it has.
func unknownField(n *node, name string) string {
	if len(n.fields) == 0 {
		return "the field is unknown: there are no fields here"
	}
	const most = 20
	var known []string
	for i, f := range n.fields {
		if i == most {
			known = append(known, fmt.Sprintf("and %d others", len(n.fields)-most))
			break
		}
		known = append(known, f.name)
	}
	message := "the field is unknown"
	if best := nearest(n, name); best != "" {
		message += fmt.Sprintf(" (did you mean %s?)", best)
	}
	return message + ": the fields are " + strings.Join(known, ", ")
}

// nearest returns the field whose name is so close that it was probably meant, or nothing.
func nearest(n *node, name string) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", 1+utf8.RuneCountInString(plain(name))/3
	for _, f := range n.fields {
		if d := distance(plain(name), plain(f.name)); d < least || d == least && best == "" {
			best, least = f.name, d
		}
	}
	return best
}

// plain makes names alike that differ in style only: userName, user_name, User-Name.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// distance is the number of characters to insert, remove or replace to turn a into b.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			cost := diagonal
			if r != s {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(to)]
}

// SPDX-License-Identifier: Apache-2.0

// Package frontmatter reads Markdown files that begin with YAML between two lines "---".
package frontmatter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Max bounds the front matter, in bytes.
const Max = 16 << 10

// FieldError says that fields do not have what they should. The others have been decoded.
type FieldError struct {
	// Quotes means that nothing is missing but quotes around text with a colon.
	Quotes bool
	text   string
}

// Error implements error.
func (e *FieldError) Error() string { return "the front matter is not valid: " + e.text }

// Parse decodes the front matter of a file into a pointer to a struct with yaml tags, and returns
// what follows it, also with a [*FieldError]. Line endings become "\n". It never panics.
func Parse(text string, into any) (body string, err error) {
	front, body, err := split(text)
	if err != nil {
		return "", err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the front matter is not valid: %v", p)
		}
	}()
	err = yaml.Unmarshal([]byte(front), into)
	var wrong *yaml.TypeError
	if quoted := quote(front); err != nil && !errors.As(err, &wrong) && quoted != front {
		unread := err
		if err = yaml.Unmarshal([]byte(quoted), into); err == nil {
			err = &FieldError{true, unread.Error() + " (text with a colon needs quotes)"}
		}
	}
	switch {
	case errors.As(err, &wrong):
		return body, &FieldError{text: strings.Join(wrong.Errors, "; ")}
	case err != nil && !errors.As(err, new(*FieldError)):
		return "", fmt.Errorf("the front matter is not valid: %w", err)
	}
	return body, err
}

// quote puts text with a colon into quotes, where the line of a field has none.
func quote(front string) string {
	lines := strings.Split(front, "\n")
	for i, line := range lines {
		name, text, _ := strings.Cut(line, ": ")
		text = strings.TrimSpace(text)
		if strings.Contains(text, ":") && !strings.ContainsAny(name, " \t#-\"'") && !strings.ContainsAny(text[:1], "\"'|>[{&*!%@`") {
			lines[i] = name + ": " + strconv.Quote(text)
		}
	}
	return strings.Join(lines, "\n")
}

// split returns the front matter of a file and what follows it.
func split(text string) (front, body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", errors.New(`it does not begin with front matter: the first line must be "---"`)
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			if at > Max {
				return "", "", fmt.Errorf("the front matter is longer than %d bytes", Max)
			}
			end := at + len(line)
			if more {
				end++
			}
			return rest[:at], strings.TrimLeft(rest[end:], "\n"), nil
		}
		at += len(line) + 1
	}
	return "", "", errors.New(`the front matter does not end: there is no second line "---"`)
}

// SPDX-License-Identifier: Apache-2.0

// Package frontmatter reads Markdown files that begin with YAML between two lines "---".
package frontmatter

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Max bounds the front matter, in bytes.
const Max = 16 << 10

// Parse decodes the front matter of a file into a pointer to a struct with yaml tags, and returns what follows it. Line endings become "\n". If
// a field has another type than it should, the others are decoded. It never panics.
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
	if err := yaml.Unmarshal([]byte(front), into); err != nil {
		return body, fmt.Errorf("the front matter is not valid: %w", err)
	}
	return body, nil
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

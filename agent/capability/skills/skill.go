// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/frontmatter"
)

// Limits of the Agent Skills specification, in characters.
const (
	MaxName          = 64
	MaxDescription   = 1024
	MaxCompatibility = 500
)

const (
	// maxFile bounds a SKILL.md, in bytes.
	maxFile = 512 << 10
)

// Skill is a skill.
type Skill struct {
	// Name identifies the skill: 1 to 64 lower-case letters, digits and single hyphens, with no
	// hyphen at either end.
	Name string
	// Description describes the skill and when to use it, in 1 to 1,024 characters.
	Description string
	// License and Compatibility are for people. Compatibility lists the requirements of the skill,
	// in up to 500 characters.
	License, Compatibility string
	// Metadata is for the application's use.
	Metadata map[string]string
	// Body is the text that the model receives when it loads the skill, as Markdown.
	Body string
	// Files are the other files of a skill made in code, by their path: relative, with slashes.
	// Skills from elsewhere leave it nil.
	Files map[string]string
}

// Parse reads the text of a SKILL.md. The error says everything that is wrong with it. If the front
// matter can be read, the skill has what it says, valid or not.
func Parse(text string) (Skill, error) {
	var fields struct {
		Name          string            `yaml:"name"`
		Description   string            `yaml:"description"`
		License       string            `yaml:"license"`
		Compatibility string            `yaml:"compatibility"`
		Metadata      map[string]string `yaml:"metadata"`
	}
	body, err := frontmatter.Parse(text, &fields)
	s := Skill{
		Name: fields.Name, Description: strings.TrimSpace(fields.Description), License: fields.License,
		Compatibility: fields.Compatibility, Metadata: fields.Metadata, Body: body,
	}
	if err != nil && s.Description == "" {
		return Skill{}, err
	}
	return s, s.check(err)
}

// check returns what is wrong with a skill, and with the text that it comes from.
func (s *Skill) check(read error) error {
	errs := []error{read, checkName(s.Name)}
	switch n := utf8.RuneCountInString(s.Description); {
	case strings.TrimSpace(s.Description) == "":
		errs = append(errs, errors.New("the description is missing"))
	case n > MaxDescription:
		errs = append(errs, fmt.Errorf("the description has %d characters, at most %d are allowed", n, MaxDescription))
	}
	if n := utf8.RuneCountInString(s.Compatibility); n > MaxCompatibility {
		errs = append(errs, fmt.Errorf("compatibility has %d characters, at most %d are allowed", n, MaxCompatibility))
	}
	if !utf8.ValidString(s.Body) {
		errs = append(errs, errors.New("it is not UTF-8 text"))
	}
	var all problems
	for _, err := range errs {
		if err != nil {
			all = append(all, err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// problems joins errors in one line.
type problems []error

func (p problems) Error() string {
	texts := make([]string, len(p))
	for i, err := range p {
		texts[i] = strings.ReplaceAll(err.Error(), "\n ", "")
	}
	return strings.Join(texts, "; ")
}

// checkName returns what is wrong with the name of a skill.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is missing")
	case utf8.RuneCountInString(name) > MaxName:
		return fmt.Errorf("the name has %d characters, at most %d are allowed", utf8.RuneCountInString(name), MaxName)
	case name[0] == '-' || name[len(name)-1] == '-' || strings.Contains(name, "--") || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}):
		return fmt.Errorf("the name %q may have lower-case letters, digits and single hyphens only, and no hyphen at either end", name)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package skills_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/skills"
)

func TestParse(t *testing.T) {
	s, err := skills.Parse("\ufeff---\r\nname: pdf-forms\r\ndescription: >\r\n  Fill in forms.\r\n  Use for PDF.\r\nlicense: MIT\r\ncompatibility: needs qpdf\r\n" +
		"metadata:\r\n  author: ada\r\n  version: 1.0\r\nallowed-tools: Bash(rm:*)\r\nmore: [1, 2]\r\n---\r\n\r\n# Forms\r\n---\r\nrule\r\n")
	require.NoError(t, err)
	require.Equal(t, skills.Skill{
		Name: "pdf-forms", Description: "Fill in forms. Use for PDF.", License: "MIT", Compatibility: "needs qpdf",
		Metadata: map[string]string{"author": "ada", "version": "1.0"}, Body: "# Forms\n---\nrule\n",
	}, s)

	s, err = skills.Parse("---\nname: a\ndescription: b\n---")
	require.NoError(t, err)
	require.Equal(t, skills.Skill{Name: "a", Description: "b"}, s)
	_, err = skills.Parse("---\nname: a\ndescription: " + strings.Repeat("ü", 1024) + "\n---\n")
	require.NoError(t, err, "characters, not bytes")
}

func TestInvalidSkillsAreRefused(t *testing.T) {
	valid := "description: b\n---\n"
	for text, want := range map[string]string{
		"":                                      `the first line must be "---"`,
		"# Skill":                               `the first line must be "---"`,
		"\n---\nname: a\n" + valid:              `the first line must be "---"`,
		"---\nname: a":                          `there is no second line "---"`,
		"---\nname: [\n---\n":                   "the front matter is not valid: yaml",
		"---\nname: a\nname: b\n" + valid:       "already defined",
		"---\n- a\n---\n":                       "the front matter is not valid",
		"---\n---\n":                            "the name is missing; the description is missing",
		"---\nname: a\ndescription: ' '\n---\n": "the description is missing",
		"---\nname: Upper\n" + valid:            `the name "Upper" may have`,
		"---\nname: ../x\n" + valid:             `the name "../x" may have`,
		"---\nname: -a\n" + valid:               "no hyphen at either end",
		"---\nname: a-\n" + valid:               "no hyphen at either end",
		"---\nname: a--b\n" + valid:             "single hyphens only",
		"---\nname: \"a\\u202Eb\"\n" + valid:    `"a\u202eb"`,
		"---\nname: " + strings.Repeat("a", 65) + "\n" + valid:                    "the name has 65 characters, at most 64",
		"---\nname: a\ndescription: " + strings.Repeat("x", 1025) + "\n---\n":     "the description has 1025 characters, at most 1024",
		"---\nname: a\ncompatibility: " + strings.Repeat("x", 501) + "\n" + valid: "compatibility has 501 characters, at most 500",
		"---\nname: a\nx: " + strings.Repeat("x", 20<<10) + "\n" + valid:          "the front matter is longer than 16384 bytes",
		"---\nname: a\nmetadata: {x: {y: z}}\n" + valid:                           "the front matter is not valid",
		"---\nname: a\n" + valid + "\xff":                                         "not UTF-8",
		"---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nname: *e\n" + valid: "the front matter is not valid",
	} {
		_, err := skills.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ndescription: b\nmetadata: {a: b}\n---\nbody")
	f.Add("---\na: &a [*a]\n? x\n: !!binary y\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := skills.Parse(text)
		if err == nil {
			require.NotEmpty(t, s.Name)
			require.LessOrEqual(t, len([]rune(s.Description)), skills.MaxDescription)
		}
	})
}

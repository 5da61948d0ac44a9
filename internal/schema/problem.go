// SPDX-License-Identifier: Apache-2.0

package schema

import "strings"

// Error reports why a JSON text does not match its type. It contains only problems that the author
// of the text can fix. A mistake in the Go program, such as a wrong destination or a panic in a
// validation function, is a different error.
type Error struct {
	// Problems is never empty. Violations of the schema come first, in document order, then
	// violations of the Go type and its validate tags. No two concern the same value for the same
	// reason. The number of problems is limited.
	Problems []Problem
	// More reports that further problems were left out.
	More bool
}

// Problem is one rule that a JSON text breaks.
type Problem struct {
	// Path is the path to the value, in JSON names: "items[2].city". It is empty for the root.
	Path string
	// Rule names the broken rule: a JSON schema keyword ("required", "type", "maximum"), a validate
	// tag ("email", "gtfield=start"), or one of the Rule constants.
	Rule string
	// Value is the JSON text of the value, shortened. It is empty if there is none, as for a
	// missing field.
	Value string
	// Message describes what the rule requires.
	Message string
}

// Rules other than JSON schema keywords and validate tags.
const (
	RuleSyntax     = "syntax"     // the text is not JSON
	RuleIncomplete = "incomplete" // the text is JSON that ends too early
	RuleUnknown    = "unknown"    // an object has an unknown field
	RuleDuplicate  = "duplicate"  // an object has a field twice
	RuleDepth      = "depth"      // the text is nested too deeply
	RuleDecode     = "decode"     // the Go type does not accept the value (overflow, its own UnmarshalJSON)
)

// Error returns a single line for people. It has no prefix, because the caller knows what was
// decoded.
func (e *Error) Error() string {
	var b strings.Builder
	e.join(&b, "; ")
	return b.String()
}

// Prompt returns the text for the model: one problem per line, each with its path, its rule in
// words and the value found.
func (e *Error) Prompt() string {
	var b strings.Builder
	e.join(&b, "\n")
	return b.String()
}

// Incomplete reports whether the text is well formed but ends too early, as it does when a model
// reaches its token limit.
func (e *Error) Incomplete() bool {
	return len(e.Problems) > 0 && e.Problems[0].Rule == RuleIncomplete
}

func (e *Error) join(b *strings.Builder, sep string) {
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(p.String())
	}
	if e.More {
		b.WriteString(sep)
		b.WriteString("and more problems")
	}
}

// String returns the problem on one line: path, message and value.
func (p Problem) String() string {
	var b strings.Builder
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Value != "" {
		b.WriteString(", got ")
		b.WriteString(p.Value)
	}
	return b.String()
}

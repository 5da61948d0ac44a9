// SPDX-License-Identifier: Apache-2.0

package schema

import "strings"

// Error reports why a JSON text does not fit its type. It holds only problems that the author of the
// text can mend; a mistake in the Go program (a wrong destination, a panic in a validation function)
// is a different error.
type Error struct {
	// Problems is never empty. What the schema refuses comes first, in document order, then what
	// the Go type and its validate tags refuse. No two are about the same value for the same
	// reason. The list is capped: a text that is wrong everywhere needs no complete one.
	Problems []Problem
	// More says that problems beyond the cap were left out.
	More bool
}

// Problem is one rule that a JSON text breaks.
type Problem struct {
	// Path leads to the offending value, in JSON names: "items[2].city". It is empty for the root.
	Path string
	// Rule names the broken rule: a JSON schema keyword ("required", "type", "maximum"), a validate
	// tag ("email", "gtfield=start"), or one of the Rule constants.
	Rule string
	// Value is the offending JSON text, shortened. It is empty where there is none, as for a missing field.
	Value string
	// Message says in words what the rule asks for.
	Message string
}

// Rules of their own, beside the JSON schema keywords and the validate tags.
const (
	RuleSyntax     = "syntax"     // the text is not JSON
	RuleIncomplete = "incomplete" // the text is JSON that ends too early
	RuleUnknown    = "unknown"    // an object has a field that the type does not know
	RuleDuplicate  = "duplicate"  // an object has a field twice
	RuleDepth      = "depth"      // the text is nested too deeply
	RuleDecode     = "decode"     // the Go type refuses the value (overflow, its own UnmarshalJSON)
)

// Error is one line for people. It has no prefix: who wraps it knows what it was that did not fit.
func (e *Error) Error() string {
	var b strings.Builder
	e.join(&b, "; ")
	return b.String()
}

// Prompt is what the model is shown: one problem a line, each with its path, its rule in words and
// the value found.
func (e *Error) Prompt() string {
	var b strings.Builder
	e.join(&b, "\n")
	return b.String()
}

// Incomplete reports whether the text is well formed as far as it goes but ends too early, as it
// does when a model runs into its token limit.
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
		b.WriteString("more problems follow")
	}
}

// String is the problem on one line: path, message and value.
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

// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import "cmp"

// Limits bounds what is taken from a server. A zero field has the default.
type Limits struct {
	// Message is the largest message in bytes, 16 MiB by default. A server that sends a larger one
	// loses its connection.
	Message int
	// Tools is the number of tools that are looked at, 2,000 by default. If there are more, that is
	// a problem ([Server.Problems]).
	Tools int
	// Description is the length of a tool's description in bytes, 8 KiB by default. The rest is
	// left out.
	Description int
	// Schema is the size of a tool's schema in bytes, 64 KiB by default, and SchemaDepth the
	// nesting of its objects and arrays, 64 by default. A tool with a larger schema is a problem.
	Schema, SchemaDepth int
	// Result is the length of the text of a result in bytes, 100,000 by default. The model is told
	// what is left out.
	Result int
	// Media is the size of all images, audio and files of a result in bytes, 8 MiB by default.
	// Larger ones are left out, and the model is told.
	Media int
	// Questions is the number of questions and of requests to the model that a server may make
	// during one call, 20 by default.
	Questions int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message: positive(l.Message, 16<<20), Tools: positive(l.Tools, 2000), Description: positive(l.Description, 8<<10),
		Schema: positive(l.Schema, 64<<10), SchemaDepth: positive(l.SchemaDepth, 64), Result: positive(l.Result, 100_000),
		Media: positive(l.Media, 8<<20), Questions: positive(l.Questions, 20),
	}
}

func positive(n, or int) int { return cmp.Or(max(n, 0), or) }

// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"cmp"
	"reflect"
)

// Limits bounds what is taken from a server. A zero field has the default; none may be negative.
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
		Message: cmp.Or(l.Message, 16<<20), Tools: cmp.Or(l.Tools, 2000), Description: cmp.Or(l.Description, 8<<10),
		Schema: cmp.Or(l.Schema, 64<<10), SchemaDepth: cmp.Or(l.SchemaDepth, 64), Result: cmp.Or(l.Result, 100_000),
		Media: cmp.Or(l.Media, 8<<20), Questions: cmp.Or(l.Questions, 20),
	}
}

// negative returns the name of the first field that is negative, or "".
func (l Limits) negative() string {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if v.Field(i).Int() < 0 {
			return v.Type().Field(i).Name
		}
	}
	return ""
}

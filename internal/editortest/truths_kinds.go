// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"io/fs"
	"strings"
)

// kind is a kind of file.
type kind struct {
	name string
	data string
	// mode and dir are the permissions of the file and of its directory, where [workspacetest.Env.Deny] is set.
	mode, dir fs.FileMode
	// denied kinds are about permissions alone.
	denied bool
	// missing files do not exist before.
	missing bool
	// created files are made by the agent.
	created bool
	// typed is unsaved text of the user.
	typed string
	// link makes the file a link to another one.
	link bool
	// during happens while the question is open.
	during func(c *cell)
}

const (
	// needle is the text that edits replace, on the second line of every text.
	needle    = "needle"
	plainText = "one\ntwo needle\nthree\n"
	latin1    = "caf\xe9 au lait\ntwo needle\nd\xe9j\xe0 vu\n"
)

func kinds() []kind {
	body := plainText
	utf16 := "\xff\xfe"
	for _, b := range []byte(body) {
		utf16 += string(b) + "\x00"
	}
	return []kind{
		{name: "plain", data: body},
		{name: "CRLF", data: strings.ReplaceAll(body, "\n", "\r\n")},
		{name: "mixed line endings", data: "one\r\ntwo needle\nthree\rfour\r\n"},
		{name: "byte order mark", data: "\ufeff" + body},
		{name: "Latin-1", data: latin1},
		{name: "UTF-16", data: utf16},
		{name: "Shift_JIS", data: shiftJIS + "two needle\n"},
		{name: "no final newline", data: "one\ntwo needle\nthree"},
		{name: "binary", data: "GIF89a\x01\x00\x02needle\n\xff\xfe\x80\x00\xf0"},
		{name: "encoded in two ways", data: "h\xc3\xa9\nneedle\nw\xe9\n"},
		{name: "empty", data: ""},
		{name: "missing", missing: true},
		{name: "created by the agent", data: body, missing: true, created: true},
		{name: "large", data: strings.Repeat(strings.Repeat("x", 107)+"\n", 2000) + body},
		{name: "long lines", data: strings.Repeat("x", 20_000) + "\ntwo needle\n"},
		{name: "blanks and tabs", data: "\tone  \n\ttwo needle\t\n  three \n"},
		{name: "emoji", data: "👩‍👩‍👧 e\u0301\ntwo needle\n"},
		{name: "read-only", data: body, mode: 0o444},
		{name: "not readable", data: body, mode: 0o200, denied: true},
		{name: "in a read-only directory", data: body, dir: 0o555, denied: true},
		{name: "missing in a read-only directory", missing: true, dir: 0o555, denied: true},
		{name: "in a directory without access", data: body, dir: 0o200, denied: true},
		{name: "Latin-1, read-only", data: latin1, mode: 0o444, denied: true},
		{name: "Latin-1 in a read-only directory", data: latin1, dir: 0o555, denied: true},
		{name: "link", data: body, link: true},
		{name: "changed on disk", data: body, during: func(c *cell) { c.disk([]byte("zero\n" + body)) }},
		{name: "unsaved in the editor", data: body, typed: "typed\n" + body},
		{name: "typed while the question is open", data: body, during: func(c *cell) { c.typed("typed\n" + body) }},
		{name: "deleted while the question is open", data: body, during: func(c *cell) { _ = c.env.Disk.Remove(c.path) }},
	}
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// known adds the effects of a command that the allow-list has.
func (r *effectReader) known(rule *Rule, words []string) {
	kind := model.EffectRead
	switch rule.class {
	case runs:
		r.add(model.Effect{Kind: model.EffectUnknown})
	case changes:
		r.add(model.Effect{Kind: model.EffectUnknown})
		kind = model.EffectWrite
	}
	onFiles := rule.Operands == "path" || rule.Operands == "sed" ||
		rule.Operands == "package" && rule.class == changes
	if !onFiles || slices.Contains(namesOnly, words[0]) {
		return
	}
	below := searchesBelow(words)
	operands := 0
	for _, w := range words[len(rule.Words):] {
		if name, value, ok := strings.Cut(w, "="); ok && strings.HasPrefix(name, "-") {
			w = value
		}
		if w == "" || strings.HasPrefix(w, "-") {
			continue
		}
		if i := strings.LastIndexByte(w, ':'); i >= 0 && words[0] == "git" { // a file of a commit
			r.file(kind, w[i+1:])
		}
		r.file(kind, strings.TrimSuffix(w, "...")+below)
		operands++
	}
	around := words[0] == "rg" || words[0] == "git" && looksAround(words[0], words[1:])
	if below != "" && operands < 2 || around { // the first one is a pattern
		r.file(model.EffectRead, "./")
	}
}

// namesOnly are programs of the allow-list that do not look into files.
var namesOnly = strings.Fields("ls tree find du df stat realpath readlink basename dirname " +
	"echo printf")

// searchesBelow returns a slash if a command looks into all files below its operands.
func searchesBelow(words []string) string {
	switch words[0] {
	case "rg":
		return "/"
	case "git":
		if len(words) > 1 && words[1] == "grep" {
			return "/"
		}
	case "grep", "egrep", "fgrep":
		if slices.ContainsFunc(words[1:], isRecursive) {
			return "/"
		}
	}
	return ""
}

// changers are programs that change the files that they are given, and do nothing else, with these
// options.
var changers = map[string]string{
	"rm": "rfRvdi", "rmdir": "pv", "unlink": "", "touch": "acm", "mkdir": "pv", "mv": "fnvui",
	"cp": "rRafnpvui", "ln": "sfnv", "tee": "a", "chmod": "Rvc", "truncate": "",
}

// changed returns the files that a command is given, if it is known to change them and to do
// nothing else.
func changed(words []string) (files []string, ok bool) {
	options, ok := changers[words[0]]
	if !ok {
		return nil, false
	}
	rest, below := words[1:], ""
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
		if rest[0] == "--" {
			rest = rest[1:]
			break
		}
		if strings.Trim(rest[0][1:], options) != "" {
			return nil, false
		}
		archives := words[0] == "cp" && strings.Contains(rest[0], "a")
		if archives || strings.ContainsAny(rest[0], "rR") {
			below = "/"
		}
		rest = rest[1:]
	}
	for _, f := range rest {
		if strings.HasPrefix(f, "-") { // an option or a file, depending on the program
			return nil, false
		}
		files = append(files, strings.TrimSuffix(f, "/")+below)
	}
	return files, true
}

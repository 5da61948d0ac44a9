// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/lazy"
)

// Effects returns the effects of a command that its line shows. It never fails, and always returns
// at least one effect.
//
//   - A program that certainly has these arguments, if it runs, is an effect of the kind run.
//   - The files that programs of [Table] look at are read, and those that redirections and
//     well-known programs change are written. A path has one effect for each directory that it may
//     be relative to.
//   - All other effects of a program are unknown. Arguments that only a shell can work out are
//     unknown too: the words of the effect are then what they seem to be, which may be several
//     words for one. Variables that the line sets have their values. For other text that is part of
//     a word, [Computed] stands.
//   - A line that is too long to be read, or that has no meaning to a shell, may write every file.
//
// The files that a command reads or writes without naming them are never known.
func Effects(c Command, p Place) []model.Effect {
	anywhere := func(string) bool { return true }
	r := effectReader{env: c.Env}
	r.place = &Place{Windows: p.Windows, Roots: []string{"/"}, Inside: anywhere}
	if c.Dir != "" {
		r.dirs = []string{c.Dir}
	}
	r.vars.environment(c.Env)
	switch {
	case p.Windows && c.Line != "":
		r.unknown(strings.Fields(c.Line))
	case c.Line != "":
		r.beyond = !r.line(c.Line, 0) || r.beyond
	case len(c.Args) > 0:
		r.program(c.Args, 0)
	default:
		r.unknown(nil)
	}
	if r.beyond && (c.Line != "" || !p.Windows) {
		r.anything()
	}
	return r.effects
}

// effectReader collects the effects of a command.
type effectReader struct {
	place   *Place
	effects []model.Effect
	dirs    []string // that the command may be in
	lost    bool     // the command may be in others
	env     []string
	vars    variables
	adrift  bool // a directory that the command may be in is only known when it runs
	beyond  bool // there is more than the bounds let it find
	certain bool // the words that the line at hand has are those that programs get
}

// Bounds that keep a line from having many effects: beyond them it has an unknown one.
const (
	maxLine     = 64 << 10 // bytes of a line that is read
	maxEffects  = 500
	maxDirs     = 4
	maxNested   = 3 // lines in lines, as in sh -c
	maxSeemings = 32
)

// add adds an effect, unless there are too many.
func (r *effectReader) add(e model.Effect) {
	if len(r.effects) < maxEffects {
		r.effects = append(r.effects, e)
	} else {
		r.beyond = true
	}
}

// anything adds the effects of a command of which nothing is known.
func (r *effectReader) anything() {
	r.effects = append(r.effects[:min(len(r.effects), maxEffects-3)],
		model.Effect{Kind: model.EffectRead, Path: "/"},
		model.Effect{Kind: model.EffectWrite, Path: "/"},
		model.Effect{Kind: model.EffectUnknown})
}

func (r *effectReader) unknown(words []string) {
	if slices.Contains(words, tooMany) {
		r.beyond = true
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == tooMany })
	}
	for _, dir := range r.dirs {
		r.add(model.Effect{Kind: model.EffectUnknown, Argv: words, Dir: dir})
	}
	if r.lost || len(r.dirs) == 0 {
		r.add(model.Effect{Kind: model.EffectUnknown, Argv: words})
	}
	r.hosts(words)
}

// dir returns the directory, if there is only one.
func (r *effectReader) dir() string {
	if len(r.dirs) == 1 && !r.lost {
		return r.dirs[0]
	}
	return ""
}

// file adds an effect on a file, whichever directory it is relative to.
func (r *effectReader) file(kind model.EffectKind, name string) {
	r.through(kind, name)
	switch {
	case name == "" || name == "-" || name == "/dev/null":
	case name == tooMany:
		r.beyond = true
	case path.IsAbs(name) || filepath.IsAbs(name):
		clean := filepath.Clean(name)
		r.add(model.Effect{Kind: kind, Path: cleaned(clean, name)})
		for _, dir := range r.dirs {
			if behind := behindKernel(clean, dir); behind != "" {
				r.add(model.Effect{Kind: kind, Path: cleaned(filepath.Clean(behind), name)})
			}
		}
	default:
		for _, dir := range r.dirs {
			r.add(model.Effect{Kind: kind, Path: cleaned(filepath.Join(dir, name), name)})
		}
		if r.lost || len(r.dirs) == 0 {
			r.add(model.Effect{Kind: kind, Path: cleaned(filepath.Clean(name), name)})
		}
		if r.adrift {
			below := Computed + "/" + cleaned(filepath.Clean(name), name)
			r.add(model.Effect{Kind: kind, Path: below})
		}
	}
}

// through adds an effect on a file whose name has "..", as it is: it may lead through a link.
func (r *effectReader) through(kind model.EffectKind, name string) {
	if !hasParent(name) {
		return
	}
	for _, dir := range r.dirs {
		path := uncleaned(dir, name)
		r.add(model.Effect{Kind: kind, Path: path})
		if behind := behindKernel(path, dir); behind != "" {
			r.add(model.Effect{Kind: kind, Path: behind})
		}
	}
}

// hasParent reports whether a path has an element "..".
func hasParent(name string) bool {
	return strings.Contains(name, "..") && slices.Contains(strings.Split(name, "/"), "..")
}

// uncleaned joins a path with a directory, and leaves its elements as they are.
func uncleaned(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return dir + "/" + name
}

// cleaned keeps the slash that name ends with.
func cleaned(clean, name string) string {
	if strings.HasSuffix(name, "/") && !strings.HasSuffix(clean, "/") {
		return clean + "/"
	}
	return clean
}

// hosts adds the hosts that words name, as a part of addresses, or as in ssh and git.
func (r *effectReader) hosts(words []string) {
	for _, w := range words {
		for _, found := range address().FindAllStringSubmatch(w, -1) {
			host := found[1]
			host = host[strings.LastIndexByte(host, '@')+1:]
			if bracket := strings.IndexByte(host, ']'); bracket > 0 {
				host = host[:bracket]
			} else {
				host, _, _ = strings.Cut(host, ":")
			}
			if host = strings.ToLower(strings.TrimPrefix(host, "[")); host != "" {
				r.add(model.Effect{Kind: model.EffectHost, Host: host})
			}
		}
		user, host, ok := strings.Cut(w, "@")
		if !ok || user == "" || strings.HasPrefix(user, "-") || strings.ContainsAny(user, "/:=") {
			continue
		}
		host, _, _ = strings.Cut(host, ":")
		if strings.Contains(host, ".") && !strings.Contains(host, "/") {
			r.add(model.Effect{Kind: model.EffectHost, Host: strings.ToLower(host)})
		}
	}
}

// address finds what is between the scheme of an address and its path.
var address = lazy.Regexp(`[A-Za-z][A-Za-z0-9+.-]*://([^/\s"'<>()|;,?#\\]+)`)

// line adds the effects of a line for a shell. It returns false for what is no line.
func (r *effectReader) line(line string, depth int) bool {
	var file *syntax.File
	var posix bool
	if len(line) <= maxLine {
		file, posix = parseLine(line)
	}
	if file == nil {
		r.unknown(strings.Fields(line))
		return false
	}
	r.vars.collect(file)
	before := r.certain
	r.certain = posix && !strings.ContainsFunc(line, isControl)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl, *syntax.DeclClause, *syntax.LetClause, *syntax.TestClause,
			*syntax.ArithmCmd, *syntax.CoprocClause, *syntax.TimeClause:
			r.unknown(nil) // a function may have the name of a program; shells differ in the others
			r.certain = false
			if d, ok := n.(*syntax.DeclClause); ok {
				r.unknown(r.set(d.Args))
			}
		case *syntax.WordIter:
			r.listed(n.Items)
		case *syntax.Redirect:
			r.redirect(n)
		case *syntax.Stmt:
			r.fed(n, depth)
		case *syntax.CallExpr:
			r.call(n, depth)
		}
		return true
	})
	if r.certain = before; len(r.effects) == 0 {
		r.unknown(nil)
	}
	return true
}

func isControl(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

// parseLine parses a line as POSIX shells read it, or else as bash does. It returns nil if neither
// can.
func parseLine(line string) (file *syntax.File, posix bool) {
	for _, variant := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(line), "")
		if err == nil {
			return file, variant == syntax.LangPOSIX
		}
	}
	return nil, false
}

// reserved are words that some shells do not run as programs. The words in rebinding may give the
// names of programs another meaning.
var (
	reserved = append(strings.Fields("time select function coproc repeat noglob nocorrect "+
		"foreach end let [[ - builtin command"), rebinding...)
	rebinding = strings.Fields("eval . source alias trap enable hash autoload zmodload " +
		"exec set setopt")
)

// call adds the effects of one simple command.
func (r *effectReader) call(c *syntax.CallExpr, depth int) {
	before := r.env
	certain := r.assign(c.Assigns)
	if len(c.Args) == 0 { // what is assigned holds for what follows
		return
	}
	defer func() { r.env = before }()
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		text, ok := literal(w)
		if !ok {
			r.guessed(c.Args, depth)
			return
		}
		words[i] = text
	}
	if certain && r.certain && !slices.Contains(reserved, words[0]) && words[0] != "" {
		r.program(words, depth)
		return
	}
	r.certain = r.certain && !slices.Contains(rebinding, words[0])
	r.opaque(words, depth)
	r.moved(words)
}

// program adds the effects of a program with its arguments.
func (r *effectReader) program(words []string, depth int) {
	r.add(model.Effect{Kind: model.EffectRun, Argv: words, Dir: r.dir(), Env: r.env})
	switch words[0] {
	case "cd", "pushd", "popd":
		r.moved(words)
		return
	case "true", "false", ":", "exit", "return", "break", "continue", "shift":
		return
	}
	if len(r.env) == 0 && !r.place.Windows {
		m := matcher{place: r.place, dir: "/"}
		if _, rule := m.match(words); rule != nil {
			r.known(rule, words)
			return
		}
	}
	if files, ok := changed(words); ok && len(r.env) == 0 {
		for i, f := range files {
			from := i < len(files)-1 // which can be read under the new name
			if from && slices.Contains([]string{"cp", "mv", "ln"}, words[0]) {
				r.file(model.EffectRead, f)
			}
			if !from || words[0] != "cp" {
				r.file(model.EffectWrite, f)
			}
		}
		return
	}
	r.opaque(words, depth)
}

// redirect adds the file that a redirection opens.
func (r *effectReader) redirect(n *syntax.Redirect) {
	if n.Word == nil || n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc || n.Op == syntax.WordHdoc {
		return
	}
	name, ok := literal(n.Word)
	names := []string{name}
	if !ok {
		r.unknown(nil)
		names = r.vars.seemings(n.Word)
	}
	if n.Op == syntax.DplOut || n.Op == syntax.DplIn {
		if strings.Trim(name, "0123456789-") == "" && ok {
			return
		}
	}
	for _, name := range names {
		if n.Op == syntax.RdrIn || n.Op == syntax.RdrInOut {
			r.file(model.EffectRead, name)
		}
		if n.Op != syntax.RdrIn {
			r.file(model.EffectWrite, name)
		}
		for _, device := range []string{"/dev/tcp/", "/dev/udp/"} { // which bash connects to
			if rest, ok := strings.CutPrefix(name, device); ok {
				host, _, _ := strings.Cut(rest, "/")
				r.add(model.Effect{Kind: model.EffectHost, Host: strings.ToLower(host)})
			}
		}
	}
}

// moved notes that the working directory may be another one from now on.
func (r *effectReader) moved(words []string) {
	i := slices.IndexFunc(words, func(w string) bool {
		return w == "cd" || w == "pushd" || w == "popd"
	})
	if i < 0 {
		return
	}
	plain := words[0] == "cd" && len(words) == 2 && safePath(words[1])
	if !plain || len(r.dirs) == 0 {
		r.lost = true
	}
	for _, to := range words[i+1:] {
		if strings.HasPrefix(to, "-") {
			continue
		}
		for _, dir := range slices.Clone(r.dirs) {
			switch dir = absolute(dir, to); {
			case slices.Contains(r.dirs, dir):
			case len(r.dirs) < maxDirs:
				r.dirs = append(r.dirs, dir)
			default:
				r.lost, r.adrift = true, true
				r.add(model.Effect{Kind: model.EffectUnknown, Argv: []string{dir}})
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// isTests reports whether the tokens say "the tests" and nothing else but courtesies.
func isTests(rest []token) bool {
	k := &cursor{clause: clause{tokens: rest}.trimCourtesy()}
	readTests(k)
	return k.done()
}

// readTests reads "the tests", "test suite" and the like.
func readTests(k *cursor) {
	k.skip("the", "all", "my", "our", "your", "unit", "whole", "project's", "full")
	if !k.accept("tests", "test") {
		k.skip("it", "project", "everything")
		return
	}
	k.skip("suite", "suites")
	_ = k.phrase("of the project") || k.phrase("of this project") || k.phrase("in this project")
}

// runTests understands "the tests". "run" alone and "run it" do not get here.
func (p *parser) runTests(k *cursor) ([]step, string) {
	verb := k.tokens[k.at-1]
	if !verb.is("test") && k.index(0, "test", "tests") < 0 {
		return nil, "which command should I run? Say it in full, for example `run go test ./...`"
	}
	readTests(k)
	return []step{{act: actTests}}, ""
}

// run understands a command line, quoted as a whole or not. One that reads like a sentence is
// refused.
func (p *parser) run(k *cursor) ([]step, string) {
	k.skipMost("the", "command", "following", ":")
	from := k.at
	if k.peek(0).kind == quoted {
		k.at++
		if k.finish(); k.done() {
			return command(k.tokens[from].text)
		}
		k.at = from
	}
	tokens := k.tokens[from:]
	if tokens[0].is(determiners...) || tokens[0].is("it", "them", "everything", "linter", "server", "app") ||
		slices.ContainsFunc(tokens[1:], func(t token) bool { return t.kind == word && t.is(prose...) && !strings.HasPrefix(t.text, "-") }) {
		return nil, "which command should I run? Put the whole of it in backquotes: " + "run `go test ./...`"
	}
	return p.runLine(k)
}

// runLine understands the rest of the clause as a command line.
func (p *parser) runLine(k *cursor) ([]step, string) {
	from, n := k.at, len(k.tokens)
	line := k.text(from, n)
	if source := k.src[k.tokens[from].start:k.tokens[n-1].end]; strings.TrimRight(source, "?!") == line && strings.ContainsAny(k.tokens[n-1].text, "*[") {
		line = source // the question mark is part of a pattern
	}
	k.at = n
	return command(line)
}

func command(line string) ([]step, string) {
	if line = strings.TrimSpace(line); line == "" {
		return nil, "which command should I run?"
	}
	return []step{{act: actRun, command: line}}, ""
}

const longestWait = time.Hour

// pause understands "N seconds", "N ms" and "N minutes"; without a number it is one second.
func (p *parser) pause(k *cursor) ([]step, string) {
	t, ok := k.take()
	if !ok {
		return []step{{act: actWait, wait: time.Second}}, ""
	}
	s := strings.ToLower(t.text)
	if d, err := time.ParseDuration(strings.TrimRight(s, ".!")); err == nil && s != "0" && d >= 0 && d <= longestWait {
		return []step{{act: actWait, wait: d}}, ""
	}
	n := 1.0
	if !t.is("a", "one") {
		var err error
		if n, err = strconv.ParseFloat(strings.TrimRight(s, "."), 64); err != nil || math.IsNaN(n) || n < 0 {
			return nil, ""
		}
	}
	unit := time.Second
	switch {
	case k.accept("ms", "millisecond", "milliseconds"):
		unit = time.Millisecond
	case k.accept("minute", "minutes", "min"):
		unit = time.Minute
	default:
		k.accept("s", "second", "seconds", "sec")
	}
	wait := n * float64(unit)
	if wait > float64(longestWait) {
		return nil, "I wait for an hour at most"
	}
	return []step{{act: actWait, wait: time.Duration(wait)}}, ""
}

func (p *parser) think(k *cursor) ([]step, string) {
	text := k.text(k.at, len(k.tokens))
	k.at = len(k.tokens)
	return []step{{act: actThink, text: text}}, ""
}

func (p *parser) help(*cursor) ([]step, string) { return []step{{act: actHelp}}, "" }

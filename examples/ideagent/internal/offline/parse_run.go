// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strconv"
	"strings"
	"time"
)

// run understands a command line, quoted as a whole or not.
func (p *parser) run(c clause) []step {
	n := len(c.tokens)
	from := skip(c.tokens, 0, "the", "command", "following", ":")
	line := c.text(from, n)
	if source := c.src[c.tokens[from].start:c.tokens[n-1].end]; strings.TrimRight(source, "?!") == line {
		line = source // where a question mark may be a pattern
	}
	if from == n-1 && c.tokens[from].is("tests", "test", "it", "that") || strings.EqualFold(line, "the tests") {
		return unclear("which command should I run? Say it in full, for example `run go test ./...`")
	}
	if line = strings.TrimSpace(line); line == "" {
		return unclear("which command should I run?")
	}
	return []step{{act: actRun, command: line}}
}

const longestWait = time.Hour

// pause understands "N seconds", "N ms" and "N minutes"; without a number it is one second.
func (p *parser) pause(c clause) []step {
	wait, unit := time.Second, time.Second
	for _, t := range c.tokens {
		if t.kind > quoted {
			continue
		}
		s := strings.ToLower(t.text)
		if d, err := time.ParseDuration(strings.TrimRight(s, ".!")); err == nil {
			return []step{{act: actWait, wait: min(max(d, 0), longestWait)}}
		}
		if n, err := strconv.ParseFloat(strings.TrimRight(s, "."), 64); err == nil && n >= 0 && n <= longestWait.Seconds() {
			wait = time.Duration(n * float64(time.Second))
		}
		switch {
		case t.is("ms", "millisecond", "milliseconds"):
			unit = time.Millisecond
		case t.is("minute", "minutes", "min"):
			unit = time.Minute
		}
	}
	wait = time.Duration(wait.Seconds() * float64(unit))
	return []step{{act: actWait, wait: min(wait, longestWait)}}
}

func (p *parser) think(c clause) []step {
	return []step{{act: actThink, text: c.text(0, len(c.tokens))}}
}

func (p *parser) help(clause) []step { return []step{{act: actHelp}} }

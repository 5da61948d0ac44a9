// SPDX-License-Identifier: Apache-2.0

package command

import (
	"regexp"
	"strconv"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// maxCut is how long a value may be that is cut, in bytes: the work is in the square of that.
// Beyond it a value may become any word.
const maxCut = 1024

// cut returns what an expansion such as ${x#of} leaves of values.
func cut(op syntax.ParExpOperator, of string, values []string) (left []string) {
	if op < syntax.RemSmallSuffix || op > syntax.RemLargePrefix || len(values) == 0 {
		return nil
	}
	expr, err := pattern.Regexp(of, pattern.EntireString)
	if err != nil {
		return nil
	}
	whole, err := regexp.Compile(expr)
	if err != nil {
		return nil
	}
	for _, value := range values {
		if len(value) > maxCut {
			left = append(left, tooMany)
			continue
		}
		for n := range len(value) + 1 {
			from, to := n, len(value) // what is left of it
			switch op {
			case syntax.RemSmallSuffix:
				from, to = 0, len(value)-n
			case syntax.RemLargePrefix:
				from = len(value) - n
			case syntax.RemLargeSuffix:
				from, to = 0, n
			}
			if whole.MatchString(value[:from] + value[to:]) {
				left = append(left, value[from:to])
				break
			}
		}
	}
	return left
}

// sliced returns what ${x:offset:length} stands for, if the numbers are written out.
func sliced(s *syntax.Slice, value string) (part string, ok bool) {
	runes := []rune(value)
	from, ok := position(s.Offset, 0, len(runes))
	if !ok {
		return "", false
	}
	to := len(runes)
	if s.Length != nil {
		if to, ok = position(s.Length, from, to); !ok {
			return "", false
		}
	}
	return string(runes[from:to]), true
}

// position returns the place that is so far behind another one, or before the end.
func position(e syntax.ArithmExpr, from, end int) (at int, ok bool) {
	if minus, is := e.(*syntax.UnaryArithm); is && minus.Op == syntax.Minus {
		e, from, end = minus.X, -end, -from
	}
	w, is := e.(*syntax.Word)
	if !is {
		return at, false
	}
	n, err := strconv.Atoi(w.Lit())
	at = from + min(max(n, 0), end-from)
	return max(at, -at), err == nil
}

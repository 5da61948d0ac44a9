// SPDX-License-Identifier: Apache-2.0

package command

import (
	"regexp"
	"strconv"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

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
	number := func(e syntax.ArithmExpr) (int, bool) {
		w, ok := e.(*syntax.Word)
		if !ok {
			return 0, false
		}
		n, err := strconv.Atoi(w.Lit())
		return n, err == nil && n >= 0
	}
	runes := []rune(value)
	offset, ok := number(s.Offset)
	if !ok || offset > len(runes) {
		return "", false
	}
	runes = runes[offset:]
	if s.Length != nil {
		length, ok := number(s.Length)
		if !ok {
			return "", false
		}
		runes = runes[:min(length, len(runes))]
	}
	return string(runes), true
}

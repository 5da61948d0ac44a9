// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"
)

type runArgs struct {
	// Command is a whole line: the tool knows whether it needs a shell, and which one there is.
	Command string `json:"command"`
}

func (s *script) run(st step) bool {
	result, ok := s.call(toolRun, "run "+code(st.command), runArgs{st.command})
	if !ok {
		return false
	}
	output, how := ending(result)
	s.say("I ran %s%s", code(st.command), how)
	if output == "" {
		s.say(".\n\n")
		return true
	}
	shown, left := tail(output, 20)
	if left > 0 {
		s.say(". The last 20 of %s", count(left+20, "line"))
	}
	s.say(":\n\n%s", block("", shown))
	return true
}

// ending takes the last line, which says in brackets how a command has ended, off its output.
func ending(result string) (output, how string) {
	result = strings.TrimRight(result, "\n")
	i := strings.LastIndexByte(result, '\n')
	last := result[i+1:]
	if !strings.HasPrefix(last, "[") || !strings.HasSuffix(last, "]") {
		return result, ""
	}
	output = strings.Trim(result[:max(i, 0)], "\n")
	if output == "[no output]" {
		output = ""
	}
	return output, ": " + last[1:len(last)-1]
}

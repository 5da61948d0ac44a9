package offline

type runArgs struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
}

func (s *script) run(st step) bool {
	line := code(commandLine(st.command, st.args))
	result, ok := s.call(toolRun, "run "+line, runArgs{st.command, st.args})
	if !ok {
		return false
	}
	output, left := tail(result, 20)
	s.say("I ran %s:\n\n", line)
	if left > 0 {
		s.say("(the last 20 of %s)\n", count(left+20, "line"))
	}
	s.say("%s", block("", output))
	return true
}
